// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// TestPretendedReach: a kind of Reach is chosen in one place, and what does not implement it refuses it. The Node has neither flows nor
// routes then, not even former ones through the tunnel; other Nodes are connected.
func TestPretendedReach(t *testing.T) {
	const pretended = reach.Kind(77)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		nodes := client.CoreV1().Nodes()
		var objects []*corev1.Node
		for i := range 3 {
			cidr, address := honest(i)
			objects = append(objects, node(nodeName(i), address.String(), cidr.String()))
			require.NoError(t, client.Tracker().Add(objects[i]))
		}
		a := startAgent(t, client, 0)
		defer a.stop()
		quiet()
		cidr1, ip1 := honest(1)
		cidr2, ip2 := honest(2)
		throughTunnel := func(name string, cidr netip.Prefix, ip netip.Addr) Peer {
			return Peer{Name: name, Networks: []Network{{cidr, reach.ThroughTunnel(ip)}}}
		}
		require.Equal(t, []Peer{throughTunnel("node-1", cidr1, ip1), throughTunnel("node-2", cidr2, ip2)}, a.Peers())
		both := a.host.sw.Flows()

		kinds := map[netip.Addr]reach.Kind{ip1: pretended}
		touch := func(value string) {
			objects[1].Labels = map[string]string{"touched": value}
			_, err := nodes.Update(t.Context(), objects[1], metav1.UpdateOptions{})
			require.NoError(t, err)
			quiet()
		}
		a.local.reach = func(address netip.Addr) reach.Reach {
			if kind, found := kinds[address]; found {
				return reach.Reach{Kind: kind, Address: address}
			}
			return reach.ThroughTunnel(address)
		}
		touch("pretended")
		require.Equal(t, []Peer{throughTunnel("node-2", cidr2, ip2)}, a.Peers())
		require.Equal(t, map[netip.Prefix]string{cidr2: "node-2"}, a.host.routes)
		require.Less(t, len(a.host.sw.Flows()), len(both))
		list, _ := a.problems.List()
		require.Len(t, list, 1)
		require.Equal(t, ReasonNodeNotConnected, list[0].Reason)
		require.Contains(t, list[0].Message, `the Pod network 10.10.1.0/24: flows cannot lead to a peer by "kind 77" (kind 77 to 192.168.0.11): this version only implements "tunnel"`)

		delete(kinds, ip1)
		touch("tunnel")
		require.Equal(t, both, a.host.sw.Flows())
		require.Empty(t, a.problemList())
	})
}
