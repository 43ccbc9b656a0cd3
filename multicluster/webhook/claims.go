// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// claim is a network or an address of a ClusterInfo.
type claim struct {
	field, text, what string
	network           netip.Prefix
}

// takenPods compares Pod networks with Service networks and Gateways, which agents prefer to Pod networks. Pod networks of two members may overlap: most
// clusters do not connect their Pods. Former claims are not judged again, so that an older member that tells Pod networks later does not keep this one from
// changing its Gateway.
func takenPods(own, former, other *v1alpha1.ClusterInfo) string {
	return cmp.Or(
		overlapping(added(waysOf(own), waysOf(former)), podsOf(other)),
		overlapping(added(podsOf(own), podsOf(former)), waysOf(other)),
	)
}

func overlapping(mine, theirs []claim) string {
	for _, m := range mine {
		for _, t := range theirs {
			if m.network.Overlaps(t.network) {
				return fmt.Sprintf("spec.clusterInfo.%s %s overlaps %s, %s", m.field, m.text, t.text, t.what)
			}
		}
	}
	return ""
}

func added(claims, former []claim) []claim {
	return slices.DeleteFunc(claims, func(c claim) bool {
		return slices.ContainsFunc(former, func(f claim) bool { return f.what == c.what && f.network == c.network })
	})
}

func servicesOf(info *v1alpha1.ClusterInfo) []claim {
	return claimOf("serviceCIDR", info.ServiceCIDR, "the Service network")
}

func gatewaysOf(info *v1alpha1.ClusterInfo) (claims []claim) {
	for i, g := range info.GatewayInfos {
		claims = append(claims, claimOf(fmt.Sprintf("gatewayInfos[%d].gatewayIP", i), g.GatewayIP, "a Gateway's address")...)
	}
	return claims
}

func waysOf(info *v1alpha1.ClusterInfo) []claim { return append(servicesOf(info), gatewaysOf(info)...) }

func podsOf(info *v1alpha1.ClusterInfo) (claims []claim) {
	for i, text := range info.PodCIDRs {
		claims = append(claims, claimOf(fmt.Sprintf("podCIDRs[%d]", i), text, "a Pod network")...)
	}
	return claims
}

// claimOf returns nothing if the text is neither a network nor an address.
func claimOf(field, text, what string) []claim {
	network, err := netip.ParsePrefix(text)
	if addr, notAddr := netip.ParseAddr(text); notAddr == nil {
		network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return nil
	}
	return []claim{{field, text, what, network}}
}
