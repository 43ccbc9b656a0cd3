// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// Groups knows ClusterGroups, which have no Namespace here, and Groups; networkpolicy.Store implements it.
type Groups interface {
	// GroupMembers returns the members of a group, in no particular order and a slice of the caller's own, and its CIDRs. An error says why they are not
	// known; found is false without such a group.
	GroupMembers(group types.NamespacedName) (members []controlplane.GroupMember, blocks []controlplane.IPBlock, found bool, err error)
	// GroupsOfPod returns the groups with a Pod, and their parents.
	GroupsOfPod(pod types.NamespacedName) []controlplane.GroupReference
	// GroupsOfIP returns the groups with the Pod or Node that has the address, the groups with the address in their CIDRs,
	// and the parents of both.
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
	members, blocks, found, err := q.groups.GroupMembers(key)
	switch {
	case !found:
		return nil, apierrors.NewInternalError(fmt.Errorf("no internal Group with name %s is found", groupText(key)))
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("group %s: %v", groupText(key), err))
	}
	slices.SortFunc(members, compareMembers)
	page, pages, current := pageOf(members, paging.Page, paging.Limit)
	meta, total := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, int64(len(members))
	if q.namespaced {
		return &controlplane.GroupMembers{
			ObjectMeta: meta, EffectiveMembers: page, EffectiveIPBlocks: cidrs(blocks), TotalMembers: total, TotalPages: pages, CurrentPage: current,
		}, nil
	}
	return &controlplane.ClusterGroupMembers{
		ObjectMeta: meta, EffectiveMembers: page, EffectiveIPBlocks: cidrs(blocks), TotalMembers: total, TotalPages: pages, CurrentPage: current,
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

// compareMembers orders by the names of Pods, as Antrea does, and then by what makes the order the same each time.
func compareMembers(a, b controlplane.GroupMember) int {
	nameA, restA := memberText(&a)
	nameB, restB := memberText(&b)
	return cmp.Or(cmp.Compare(nameA, nameB), cmp.Compare(restA, restB))
}

func memberText(m *controlplane.GroupMember) (name, rest string) {
	switch {
	case m.Pod != nil:
		return m.Pod.Name, m.Pod.Namespace
	case m.Node != nil:
		return "", m.Node.Name
	case m.Service != nil:
		return "", m.Service.Namespace + "/" + m.Service.Name
	case m.ExternalEntity != nil:
		return "", m.ExternalEntity.Namespace + "/" + m.ExternalEntity.Name
	default:
		return "", ""
	}
}

func cidrs(blocks []controlplane.IPBlock) []controlplane.IPNet {
	nets := make([]controlplane.IPNet, 0, len(blocks))
	for _, block := range blocks {
		nets = append(nets, block.CIDR)
	}
	return nets
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
		return &controlplane.GroupAssociation{ObjectMeta: meta, AssociatedGroups: sorted(groups)}, nil
	}
	return &controlplane.IPGroupAssociation{ObjectMeta: meta, AssociatedGroups: sorted(q.groups.GroupsOfIP(ip.Unmap()))}, nil
}

// sorted returns the groups by Namespace and name, each once; an empty list if there are none.
func sorted(groups []controlplane.GroupReference) []controlplane.GroupReference {
	slices.SortFunc(groups, func(a, b controlplane.GroupReference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return append([]controlplane.GroupReference{}, slices.Compact(groups)...)
}
