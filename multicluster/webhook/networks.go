// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// outside refuses networks and Endpoints outside the networks that are allowed to the member, as NetworksAnnotation has them; "" allows all.
func outside(spec *v1alpha1.ResourceExportSpec, allowed string) string {
	if allowed == "" {
		return ""
	}
	var networks []netip.Prefix
	for text := range strings.SplitSeq(allowed, ",") {
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return fmt.Sprintf("annotation %s of the member's ServiceAccount has %q; want networks such as 10.96.0.0/12, separated by commas", v1alpha1.NetworksAnnotation, text)
		}
		networks = append(networks, network)
	}
	for _, text := range claimed(spec) {
		claim, err := netip.ParsePrefix(text)
		if err != nil || !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Bits() <= claim.Bits() && n.Contains(claim.Addr()) }) {
			return fmt.Sprintf("%s is outside the networks of this member, %s (annotation %s of its ServiceAccount in the leader)", text, allowed, v1alpha1.NetworksAnnotation)
		}
	}
	return ""
}

// claimed are the networks to which an export would lead others' packets.
func claimed(spec *v1alpha1.ResourceExportSpec) (networks []string) {
	if spec.Endpoints != nil {
		for _, subset := range spec.Endpoints.Subsets {
			for _, a := range subset.Addresses {
				networks = append(networks, a.IP+"/32")
			}
		}
	}
	if info := spec.ClusterInfo; info != nil {
		networks = append(append(networks, info.ServiceCIDR), info.PodCIDRs...)
		for _, g := range info.GatewayInfos {
			networks = append(networks, g.GatewayIP+"/32")
		}
	}
	return slices.DeleteFunc(networks, func(n string) bool { return n == "" })
}
