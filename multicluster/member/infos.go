// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
)

var errNetworkUnknown = errors.New("the Service network of this cluster is not known yet")

// place is a network and whose it is.
type place struct {
	network netip.Prefix
	owner   string
}

// territory contains networks and addresses that a cluster may not claim.
type territory struct {
	networks []place
	gateways map[netip.Addr]string
}

// own returns the networks and addresses of this cluster.
func (s *snapshot) own() *territory {
	t := &territory{[]place{{s.serviceCIDR, "the Service network of this cluster"}}, map[netip.Addr]string{}}
	texts := slices.Clone(s.settings.PodCIDRs)
	for _, node := range s.nodes {
		texts = append(texts, append(slices.Clone(node.Spec.PodCIDRs), node.Spec.PodCIDR)...)
		for _, a := range node.Status.Addresses {
			if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type != corev1.NodeHostName {
				t.gateways[addr] = "Node " + node.Name
				t.networks = append(t.networks, place{netip.PrefixFrom(addr, addr.BitLen()), "an address of Node " + node.Name})
			}
		}
	}
	for _, text := range texts {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			t.networks = append(t.networks, place{prefix, "a Pod network of this cluster"})
		}
	}
	return t
}

// claim is the network and the address that a cluster calls its own.
type claim struct {
	service netip.Prefix
	gateway netip.Addr
}

func readClaim(info *v1alpha1.ClusterInfo) (c claim, err error) {
	if c.service, err = network(info.ServiceCIDR); err != nil {
		return c, fmt.Errorf("serviceCIDR: %w", err)
	}
	if len(info.GatewayInfos) != 1 {
		return c, fmt.Errorf("it has %d gatewayInfos, allowed: 1", len(info.GatewayInfos))
	}
	if c.gateway, err = endpoints.Unicast("gatewayIP", info.GatewayInfos[0].GatewayIP); err != nil {
		return c, err
	}
	if c.service.Contains(c.gateway) {
		return c, fmt.Errorf("gatewayIP %s belongs to its own Service network", c.gateway)
	}
	return c, nil
}

// refuses returns why a claim would draw traffic that is not its cluster's.
func (t *territory) refuses(c claim) error {
	for _, p := range t.networks {
		if p.network.Overlaps(c.service) {
			return fmt.Errorf("serviceCIDR %s overlaps with %s, %s", c.service, p.network, p.owner)
		}
		if p.network.Contains(c.gateway) && !p.network.IsSingleIP() {
			return fmt.Errorf("gatewayIP %s is in %s, %s", c.gateway, p.network, p.owner)
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(t.gateways), netip.Addr.Compare) {
		if addr == c.gateway {
			return fmt.Errorf("gatewayIP %s belongs to %s", addr, t.gateways[addr])
		}
		if c.service.Contains(addr) {
			return fmt.Errorf("serviceCIDR %s contains %s, which belongs to %s", c.service, addr, t.gateways[addr])
		}
	}
	return nil
}

func (t *territory) add(clusterID string, c claim) {
	t.networks = append(t.networks, place{c.service, "the Service network of cluster " + clusterID})
	t.gateways[c.gateway] = "cluster " + clusterID
}

// acceptInfos accepts the ClusterInfos of other clusters. A cluster whose Service network is imported keeps it. Otherwise of two that claim the same
// the one that the leader has had for longer gets it, whatever their names, so that all members decide alike.
func (s *snapshot) acceptInfos(a *accepted, imports []*v1alpha1.ResourceImport) {
	existing := map[string]*v1alpha1.ClusterInfoImport{}
	for _, i := range s.imported.infos {
		existing[i.Name] = i
	}
	rank := func(r *v1alpha1.ResourceImport) int {
		i, info := existing[r.Name], r.Spec.ClusterInfo
		switch {
		case i == nil:
			return 2
		case info == nil || info.ServiceCIDR == i.Spec.ServiceCIDR:
			return 0
		}
		if _, err := readClaim(info); err != nil {
			return 0 // It keeps what it has.
		}
		return 1
	}
	slices.SortStableFunc(imports, func(x, y *v1alpha1.ResourceImport) int {
		return cmp.Or(rank(x)-rank(y), byAge(x, y))
	})
	own, others := s.own(), &territory{gateways: map[netip.Addr]string{}}
	for _, name := range s.leader.unreadable {
		s.keep(a, others, existing[name])
	}
	for _, r := range imports {
		info := r.Spec.ClusterInfo
		if info != nil && info.ClusterID == clusterID(s) {
			continue
		}
		c, err := s.judgeInfo(r, own, others)
		if a.refuse(r.Name, err) {
			a.infos[r.Name] = info
			others.add(info.ClusterID, c)
		} else {
			s.keep(a, others, existing[r.Name])
		}
	}
	s.acceptPods(a, imports, own, others)
}

// byAge compares the times for which the leader has had two imports.
func byAge(x, y *v1alpha1.ResourceImport) int {
	return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
}

func (s *snapshot) judgeInfo(r *v1alpha1.ResourceImport, own, others *territory) (c claim, err error) {
	info := r.Spec.ClusterInfo
	switch {
	case info == nil:
		return c, errNoPayload
	case r.Name != v1alpha1.ClusterInfoName(info.ClusterID):
		return c, fmt.Errorf("metadata.name must be %.100s", v1alpha1.ClusterInfoName(info.ClusterID))
	case !s.serviceCIDR.IsValid():
		return c, errNetworkUnknown
	}
	if c, err = readClaim(info); err != nil {
		return c, err
	}
	return c, cmp.Or(own.refuses(c), others.refuses(c))
}

// keep accepts what a cluster has whose new ClusterInfo is refused. If another one has got it, the ClusterInfoImport goes: agents would use one of both.
func (s *snapshot) keep(a *accepted, others *territory, former *v1alpha1.ClusterInfoImport) {
	if former == nil || !s.serviceCIDR.IsValid() {
		return
	}
	c, err := readClaim(&former.Spec)
	if err != nil {
		return // No agent uses it.
	}
	delete(a.kept, former.Name)
	if others.refuses(c) == nil {
		a.infos[former.Name] = &former.Spec
		others.add(former.Spec.ClusterID, c)
	}
}

// infoChanges writes ClusterInfoImports.
func (s *snapshot) infoChanges(a *accepted) (changes []change.Change) {
	wanted := map[string]bool{}
	for _, i := range s.imported.infos {
		info := a.infos[i.Name]
		wanted[i.Name] = true
		switch {
		case i.DeletionTimestamp != nil || a.kept[i.Name]:
		case info == nil:
			changes = append(changes, change.ToDelete(infoImports, i))
		case !equality.Semantic.DeepEqual(i.Spec, *info):
			changed := *i
			changed.Spec = *info
			changes = append(changes, change.ToUpdate(infoImports, i, &changed)...)
		}
	}
	for _, name := range sortedKeys(a.infos) {
		if !wanted[name] {
			changes = append(changes, change.ToCreate(infoImports, &v1alpha1.ClusterInfoImport{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: *a.infos[name],
			}))
		}
	}
	return changes
}
