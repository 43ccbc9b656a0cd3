// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestPeerOf(t *testing.T) {
	v4, v6, dual := families{ipv4: true}, families{ipv6: true}, families{ipv4: true, ipv6: true}
	internal := func(ip string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip}
	}
	external := func(ip string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: ip}
	}
	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: "192.168.0.9"}
	for name, tc := range map[string]struct {
		annotation string
		addresses  []corev1.NodeAddress
		podCIDR    string
		podCIDRs   []string
		// pods and uplink; uplink equals pods unless it is set.
		families, uplink families
		wantIP           string
		// wantIP6 is for IPv6 CIDRs; it equals wantIP unless it is set.
		wantIP6   string
		wantCIDRs []netip.Prefix
		wantNone  bool
		wantErr   string
	}{
		"internal address":                {addresses: []corev1.NodeAddress{hostname, external("198.51.100.2"), internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"only external address":           {addresses: []corev1.NodeAddress{external("198.51.100.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantIP: "198.51.100.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"annotation goes first":           {annotation: " 172.16.0.2 ,fd00::2", addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantIP: "172.16.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"annotation of another family":    {annotation: "fd00::2", addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"empty annotation":                {annotation: " ", addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"bad annotation":                  {annotation: "172.16.0.2;172.16.0.3", addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantErr: "172.16.0.2;172.16.0.3"},
		"singular podCIDR field":          {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDR: "10.10.1.0/24", families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"other family's CIDR left out":    {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24", "fd00:10::/64"}, families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"each family by its own":          {addresses: []corev1.NodeAddress{internal("fd00::2"), internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24", "fd00:10::/64"}, families: dual, wantIP: "192.168.0.2", wantIP6: "fd00::2", wantCIDRs: prefixes("10.10.1.0/24", "fd00:10::/64")},
		"both families, Node has IPv4":    {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24", "fd00:10::/64"}, families: dual, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24", "fd00:10::/64")},
		"both families, only IPv6 there":  {addresses: []corev1.NodeAddress{internal("fd00::2")}, podCIDRs: []string{"10.10.1.0/24"}, families: dual, wantIP: "fd00::2", wantCIDRs: prefixes("10.10.1.0/24")},
		"IPv4 Pods over IPv6":             {addresses: []corev1.NodeAddress{internal("192.168.0.2"), internal("fd00::2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, uplink: v6, wantIP: "fd00::2", wantCIDRs: prefixes("10.10.1.0/24")},
		"IPv6 Pods over IPv4":             {addresses: []corev1.NodeAddress{internal("192.168.0.2"), internal("fd00::2")}, podCIDRs: []string{"fd00:10::/64"}, families: v6, uplink: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("fd00:10::/64")},
		"IPv6 only":                       {addresses: []corev1.NodeAddress{internal("fd00::2")}, podCIDRs: []string{"fd00:10::/64"}, families: v6, wantIP: "fd00::2", wantCIDRs: prefixes("fd00:10::/64")},
		"no address of our families":      {addresses: []corev1.NodeAddress{internal("fd00::2")}, podCIDRs: []string{"fd00:10::/64"}, families: v6, uplink: v4, wantErr: "IPv4: true, IPv6: false"},
		"host bits in CIDR":               {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.7/24"}, families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
		"no CIDR yet":                     {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, families: v4, wantNone: true},
		"no address":                      {addresses: []corev1.NodeAddress{hostname}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantErr: TransportAddressesAnnotation},
		"no address, no CIDR":             {families: v4, wantNone: true},
		"CIDR without prefix":             {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0"}, families: v4, wantErr: `"10.10.1.0"`},
		"CIDR without room for a gateway": {addresses: []corev1.NodeAddress{internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/32"}, families: v4, wantErr: "10.10.1.0/32"},
		"address that is a name":          {addresses: []corev1.NodeAddress{internal("node2.local"), internal("192.168.0.2")}, podCIDRs: []string{"10.10.1.0/24"}, families: v4, wantIP: "192.168.0.2", wantCIDRs: prefixes("10.10.1.0/24")},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node2", Annotations: map[string]string{TransportAddressesAnnotation: tc.annotation}},
				Spec:       corev1.NodeSpec{PodCIDR: tc.podCIDR, PodCIDRs: tc.podCIDRs},
				Status:     corev1.NodeStatus{Addresses: tc.addresses},
			}
			if tc.uplink == (families{}) {
				tc.uplink = tc.families
			}
			o, all := readNode(node), newClaims()
			all.set("node2", o)
			l := local{name: "node1", pods: tc.families, uplink: tc.uplink, reach: reachIn(&config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap}, newSubnets())}
			got, findings := l.peer(o, all, nil)
			switch {
			case tc.wantErr != "":
				require.Contains(t, fmt.Sprint(findings), tc.wantErr)
				require.Nil(t, got)
			case tc.wantNone:
				require.Empty(t, findings)
				require.Nil(t, got)
			default:
				require.Empty(t, findings)
				want := peer("node2", tc.wantIP)
				for _, cidr := range tc.wantCIDRs {
					ip := tc.wantIP
					if cidr.Addr().Is6() && tc.wantIP6 != "" {
						ip = tc.wantIP6
					}
					want.Networks = append(want.Networks, Network{cidr, reach.ThroughTunnel(netip.MustParseAddr(ip))})
				}
				require.Equal(t, want, got)
			}
		})
	}
}
