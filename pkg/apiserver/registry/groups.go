// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
)

// Groups knows ClusterGroups, which have no Namespace here, and Groups; networkpolicy.Store implements it.
type Groups interface {
	// GroupMembers returns the members of a group, sorted by the names of Pods, and its CIDRs without their exceptions. The error is
	// networkpolicy.ErrNoGroup, or says why the members are not known.
	GroupMembers(namespace, name string) ([]controlplane.GroupMember, []controlplane.IPNet, error)
	// GroupsOfPod returns the groups with a Pod, and their parents, sorted.
	GroupsOfPod(pod types.NamespacedName) []controlplane.GroupReference
	// GroupsOfIP returns the groups with the Pod or Node that has the address, the groups with the address in their CIDRs,
	// and the parents of both, sorted.
	GroupsOfIP(ip netip.Addr) []controlplane.GroupReference
}

// GroupQueries returns the storage of questions about groups, by name.
func GroupQueries(groups Groups, readiness Readiness) map[string]rest.Storage {
	query := func(name string, namespaced bool, object runtime.Object) groupQuery {
		return groupQuery{
			TableConvertor: rest.NewDefaultTableConvertor(controlplane.Resource(name)), Readiness: readiness,
			groups: groups, name: name, namespaced: namespaced, object: object,
		}
	}
	return map[string]rest.Storage{
		"clustergroupmembers": &memberQuery{query("clustergroupmembers", false, &controlplane.ClusterGroupMembers{})},
		"groupmembers":        &memberQuery{query("groupmembers", true, &controlplane.GroupMembers{})},
		"groupassociations":   &associationQuery{query("groupassociations", true, &controlplane.GroupAssociation{})},
		"ipgroupassociations": &associationQuery{query("ipgroupassociations", false, &controlplane.IPGroupAssociation{})},
	}
}

// groupQuery is the common part of questions about groups.
type groupQuery struct {
	rest.TableConvertor
	Readiness
	groups     Groups
	name       string
	namespaced bool
	object     runtime.Object
}

func (q *groupQuery) New() runtime.Object   { return q.object.DeepCopyObject() }
func (q *groupQuery) Destroy()              {}
func (q *groupQuery) NamespaceScoped() bool { return q.namespaced }

// GetSingularName implements rest.SingularNameProvider. The singular is the same word.
func (q *groupQuery) GetSingularName() string { return q.name }

// memberQuery answers which members a group has.
type memberQuery struct{ groupQuery }

// associationQuery answers which groups have a Pod or an address.
type associationQuery struct{ groupQuery }

var (
	_ rest.GetterWithOptions = (*memberQuery)(nil)
	_ rest.Getter            = (*associationQuery)(nil)
)

// NewGetOptions implements rest.GetterWithOptions.
func (q *memberQuery) NewGetOptions() (runtime.Object, bool, string) {
	return &controlplane.PaginationGetOptions{}, false, ""
}

// Get returns a page of members. As in Antrea, an unknown group is an internal error.
func (q *memberQuery) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	paging, ok := options.(*controlplane.PaginationGetOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("%T is not PaginationGetOptions", options))
	}
	if paging.Limit < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("received invalid page limit %d; allowed: 0 or more", paging.Limit))
	}
	if paging.Page < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("received invalid page number %d; allowed: 0 or more", paging.Page))
	}
	if err := q.wait(ctx); err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}
	members, blocks, err := q.groups.GroupMembers(key.Namespace, key.Name)
	switch {
	case errors.Is(err, networkpolicy.ErrNoGroup):
		return nil, apierrors.NewInternalError(fmt.Errorf("no internal Group with name %s is found", groupText(key)))
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	}
	page, pages, current := pageOf(members, paging.Page, paging.Limit)
	meta, total := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, int64(len(members))
	if q.namespaced {
		return &controlplane.GroupMembers{
			ObjectMeta: meta, EffectiveMembers: page, EffectiveIPBlocks: blocks, TotalMembers: total, TotalPages: pages, CurrentPage: current,
		}, nil
	}
	return &controlplane.ClusterGroupMembers{
		ObjectMeta: meta, EffectiveMembers: page, EffectiveIPBlocks: blocks, TotalMembers: total, TotalPages: pages, CurrentPage: current,
	}, nil
}

func groupText(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}

// pageOf returns a page of members, the number of pages, and the number of the page: 1 is the first. With the number 0 or the
// limit 0 a page has all members; after the last page there are none.
func pageOf(members []controlplane.GroupMember, page, limit int64) (found []controlplane.GroupMember, pages, current int64) {
	if limit == 0 {
		return members, 1, 1
	}
	total := int64(len(members))
	// Without a sum that could wrap around.
	if pages = total / limit; total%limit > 0 {
		pages++
	}
	switch {
	case page == 0:
		return members, pages, 0
	case page > pages:
		return []controlplane.GroupMember{}, pages, page
	}
	begin := (page - 1) * limit
	return members[begin : min(total-begin, limit)+begin], pages, page
}

// Get returns the groups. A Pod or an address that does not exist is in no group.
func (q *associationQuery) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	var ip netip.Addr
	if !q.namespaced {
		var err error
		if ip, err = netip.ParseAddr(name); err != nil || ip.Zone() != "" {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%q is not an IP address", name))
		}
	}
	if err := q.wait(ctx); err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{Namespace: request.NamespaceValue(ctx), Name: name}
	if q.namespaced {
		groups := q.groups.GroupsOfPod(types.NamespacedName{Namespace: meta.Namespace, Name: name})
		return &controlplane.GroupAssociation{ObjectMeta: meta, AssociatedGroups: append([]controlplane.GroupReference{}, groups...)}, nil
	}
	return &controlplane.IPGroupAssociation{ObjectMeta: meta, AssociatedGroups: append([]controlplane.GroupReference{}, q.groups.GroupsOfIP(ip)...)}, nil
}
