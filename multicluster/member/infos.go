// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
)

const maxPodCIDRs = 100

var errNetworkUnknown = errors.New("the Service network of this cluster is not known yet")

// place is a network and whose it is.
type place struct {
	network netip.Prefix
	owner   string
}

// territory contains all that another cluster may not have.
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

// claim refuses a ClusterInfo that would draw traffic which is not its cluster's, and otherwise adds it.
func (t *territory) claim(clusterID string, info *v1alpha1.ClusterInfo) error {
	service, err := network(info.ServiceCIDR)
	if err != nil {
		return fmt.Errorf("serviceCIDR: %w", err)
	}
	if len(info.GatewayInfos) != 1 {
		return fmt.Errorf("it has %d gatewayInfos, allowed: 1", len(info.GatewayInfos))
	}
	gateway, err := endpoints.Unicast("gatewayIP", info.GatewayInfos[0].GatewayIP)
	if err != nil {
		return err
	}
	if len(info.PodCIDRs) > maxPodCIDRs {
		return fmt.Errorf("it has %d podCIDRs, allowed: %d", len(info.PodCIDRs), maxPodCIDRs)
	}
	for _, text := range info.PodCIDRs {
		if _, err := network(text); err != nil {
			return fmt.Errorf("podCIDRs: %w", err)
		}
	}
	for _, p := range t.networks {
		if p.network.Overlaps(service) {
			return fmt.Errorf("serviceCIDR %s overlaps with %s, %s", service, p.network, p.owner)
		}
		if p.network.Contains(gateway) && !p.network.IsSingleIP() {
			return fmt.Errorf("gatewayIP %s is in %s, %s", gateway, p.network, p.owner)
		}
	}
	if owner := t.gateways[gateway]; owner != "" || service.Contains(gateway) {
		return fmt.Errorf("gatewayIP %s belongs to %s", gateway, cmp.Or(owner, "its own Service network"))
	}
	t.networks = append(t.networks, place{service, "the Service network of cluster " + clusterID})
	t.gateways[gateway] = "cluster " + clusterID
	return nil
}

// acceptInfos accepts the ClusterInfos of other clusters. Which cluster already has its network keeps it.
func (s *snapshot) acceptInfos(a *accepted, imports []*v1alpha1.ResourceImport) {
	existing := map[string]*v1alpha1.ClusterInfoImport{}
	for _, i := range s.imported.infos {
		existing[i.Name] = i
	}
	taken := s.own()
	newcomer := func(r *v1alpha1.ResourceImport) int {
		if i := existing[r.Name]; i != nil && r.Spec.ClusterInfo != nil && i.Spec.ServiceCIDR == r.Spec.ClusterInfo.ServiceCIDR {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(imports, func(x, y *v1alpha1.ResourceImport) int { return newcomer(x) - newcomer(y) })
	for _, r := range imports {
		info := r.Spec.ClusterInfo
		var err error
		switch {
		case info == nil:
			err = errNoPayload
		case info.ClusterID == clusterID(s):
			continue
		case r.Name != v1alpha1.ClusterInfoName(info.ClusterID):
			err = fmt.Errorf("metadata.name must be %.100s", v1alpha1.ClusterInfoName(info.ClusterID))
		case !s.serviceCIDR.IsValid():
			err = errNetworkUnknown
		default:
			err = taken.claim(info.ClusterID, info)
		}
		if a.refuse(r.Name, err) {
			a.infos[r.Name] = info
		}
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
