// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// overlap refuses a ClusterInfo that takes a Service network, a Gateway's address or a Pod network of another member: the flows of the other clusters
// would lead to one of both.
func (c Config) overlap(r review[v1alpha1.ResourceExport]) (string, error) {
	exports, err := c.Objects.ClusterInfos()
	if err != nil {
		return "", fmt.Errorf("reading the ResourceExports of kind ClusterInfo in Namespace %s: %w", c.Namespace, err)
	}
	own, former := r.wanted.Spec.ClusterInfo, &v1alpha1.ClusterInfo{}
	if r.former != nil && r.former.Spec.ClusterInfo != nil {
		former = r.former.Spec.ClusterInfo
	}
	for _, other := range exports {
		theirs := other.Spec.ClusterInfo
		if theirs == nil || other.Spec.ClusterID == r.wanted.Spec.ClusterID || other.DeletionTimestamp != nil {
			continue
		}
		refusal, older := sharedNetwork(own, theirs), isOlder(r.former, other)
		if !older || own.ServiceCIDR != former.ServiceCIDR {
			refusal = cmp.Or(refusal, aroundGateway(own, theirs))
		}
		if !older { // The younger one has taken it, before this member's Gateway or Pods got it.
			refusal = cmp.Or(refusal, takenGateway(own, theirs), takenPods(own, former, theirs))
		}
		if refusal != "" {
			return fmt.Sprintf("%s of member %q", refusal, other.Spec.ClusterID), nil
		}
	}
	return "", nil
}

// isOlder reports whether an export, nil if it is made now, is older than another one.
func isOlder(e, other *v1alpha1.ResourceExport) bool {
	return e != nil && cmp.Or(e.CreationTimestamp.Compare(other.CreationTimestamp.Time), cmp.Compare(e.Name, other.Name)) < 0
}

func sharedNetwork(own, other *v1alpha1.ClusterInfo) string {
	mine, err := netip.ParsePrefix(own.ServiceCIDR)
	if err != nil {
		return "" // There is none.
	}
	if theirs, err := netip.ParsePrefix(other.ServiceCIDR); err == nil && theirs.Overlaps(mine) {
		return fmt.Sprintf("spec.clusterInfo.serviceCIDR %s overlaps %s", mine, theirs)
	}
	return ""
}

// aroundGateway compares the Service network with Gateways.
func aroundGateway(own, other *v1alpha1.ClusterInfo) string {
	mine, _ := netip.ParsePrefix(own.ServiceCIDR) // The zero value contains nothing.
	for _, g := range other.GatewayInfos {
		if addr, err := netip.ParseAddr(g.GatewayIP); err == nil && mine.Contains(addr) {
			return fmt.Sprintf("spec.clusterInfo.serviceCIDR %s contains %s, a Gateway's address", mine, addr)
		}
	}
	return ""
}

// takenGateway compares Gateways with one another, and with the Service network.
func takenGateway(own, other *v1alpha1.ClusterInfo) string {
	theirs, _ := netip.ParsePrefix(other.ServiceCIDR) // The zero value contains nothing.
	taken := map[netip.Addr]bool{}
	for _, g := range other.GatewayInfos {
		addr, err := netip.ParseAddr(g.GatewayIP)
		taken[addr] = err == nil
	}
	for i, g := range own.GatewayInfos {
		addr, err := netip.ParseAddr(g.GatewayIP)
		switch {
		case err != nil:
		case taken[addr]:
			return fmt.Sprintf("spec.clusterInfo.gatewayInfos[%d].gatewayIP %s is the address of a Gateway", i, addr)
		case theirs.Contains(addr):
			return fmt.Sprintf("spec.clusterInfo.gatewayInfos[%d].gatewayIP %s is in %s, the Service network", i, addr, theirs)
		}
	}
	return ""
}
