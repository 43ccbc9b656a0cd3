// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func meta(name string, age int64) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "kube-system", Name: name, CreationTimestamp: metav1.Unix(10000-age, 0)}
}

func gatewayOf(node, external, internal string) *v1alpha1.Gateway {
	return &v1alpha1.Gateway{ObjectMeta: meta(node, 0), GatewayIP: external, InternalIP: internal, ServiceCIDR: "10.96.0.0/12"}
}

func importOf(cluster, services, gateway string, age int64) *v1alpha1.ClusterInfoImport {
	return &v1alpha1.ClusterInfoImport{ObjectMeta: meta(v1alpha1.ClusterInfoName(cluster), age), Spec: v1alpha1.ClusterInfo{
		ClusterID: cluster, ServiceCIDR: services, GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: gateway}},
	}}
}

// world is a cluster with the gateway Node n1 beside n2, and other clusters.
func world(node string, imports ...*v1alpha1.ClusterInfoImport) input {
	return input{
		node: node, gateways: []*v1alpha1.Gateway{gatewayOf("n1", "192.0.2.1", "172.18.0.2")}, imports: imports,
		nodes: map[string]noderoute.Accepted{
			"n0": {Addresses: []netip.Addr{addr("172.18.0.9")}},
			"n1": {Networks: []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")}, Addresses: []netip.Addr{addr("172.18.0.2")}},
			"n2": {Networks: []netip.Prefix{netip.MustParsePrefix("10.244.2.0/24"), netip.MustParsePrefix("fd00:2::/64")}, Addresses: []netip.Addr{addr("172.18.0.3"), addr("fd00::3")}},
		},
		needed: []dependency.Address{{Addr: addr("172.18.0.1"), Kind: dependency.Host, What: "a next hop of the Node"}},
	}
}

func clusterTo(name, services, gateway, peer string) openflow.Cluster {
	return openflow.Cluster{Name: name, Networks: []netip.Prefix{netip.MustParsePrefix(services)}, Gateway: addr(gateway), Peer: addr(peer)}
}

func TestDecide(t *testing.T) {
	west, south := importOf("west", "10.112.0.0/12", "172.19.0.2", 5), importOf("south", "10.128.0.5/12", "172.20.0.2", 6)
	t.Run("on the gateway Node", func(t *testing.T) {
		d := decide(world("n1", west, south))
		require.Empty(t, d.refused)
		require.Equal(t, addr("192.0.2.1"), d.source)
		require.Equal(t, []openflow.Cluster{
			clusterTo("south", "10.128.0.0/12", "172.20.0.2", "172.20.0.2"), clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2"),
		}, d.clusters)
		require.Equal(t, []netip.Addr{addr("172.18.0.2"), addr("172.19.0.2"), addr("172.20.0.2"), addr("192.0.2.1")}, d.addresses)
	})
	t.Run("on another Node", func(t *testing.T) {
		d := decide(world("n2", west))
		require.False(t, d.source.IsValid())
		require.Equal(t, []openflow.Cluster{clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.18.0.2")}, d.clusters)
	})
	t.Run("no gateway", func(t *testing.T) {
		in := world("n1", west)
		in.gateways = nil
		closed := clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2")
		closed.Peer = netip.Addr{}
		require.Equal(t, &decision{clusters: []openflow.Cluster{closed}, refused: map[object]error{}}, decide(in))
	})
	t.Run("the oldest gateway that can be used", func(t *testing.T) {
		in := world("n2", west)
		wrong, other := gatewayOf("n0", "192.0.2.9", "nonsense"), gatewayOf("n2", "192.0.2.2", "172.18.0.3")
		wrong.ObjectMeta, other.ObjectMeta = meta("n0", 9), meta("n2", 3)
		in.gateways = append(in.gateways, other, wrong)
		d := decide(in)
		require.Equal(t, "n2", d.gateway)
		require.ErrorContains(t, d.refused[object{"Gateway", "n0"}], `internalIP is "nonsense", want an IPv4 address`)
		require.ErrorContains(t, d.refused[object{"Gateway", "n1"}], "n2 is the gateway Node")
	})
	t.Run("gateways with addresses that are not theirs", func(t *testing.T) {
		for want, g := range map[string]*v1alpha1.Gateway{
			"internalIP 172.18.0.3 is not an address of Node n1":               gatewayOf("n1", "192.0.2.1", "172.18.0.3"),
			"internalIP 172.18.0.2 is not an address of Node n9, which has []": gatewayOf("n9", "192.0.2.1", "172.18.0.2"),
			"gatewayIP 172.18.0.3 is an address of another Node":               gatewayOf("n1", "172.18.0.3", "172.18.0.2"),
			"gatewayIP 10.244.2.9 is in a Pod network":                         gatewayOf("n1", "10.244.2.9", "172.18.0.2"),
			"gatewayIP 10.96.0.1 is in the Service network":                    gatewayOf("n1", "10.96.0.1", "172.18.0.2"),
			"gatewayIP 172.18.0.1 is a next hop of the Node":                   gatewayOf("n1", "172.18.0.1", "172.18.0.2"),
		} {
			in := world("n2", west)
			in.gateways = []*v1alpha1.Gateway{g}
			d := decide(in)
			require.Empty(t, d.gateway)
			require.ErrorContains(t, d.refused[object{"Gateway", g.Name}], want)
		}
	})
	t.Run("ways are the same", func(t *testing.T) {
		a, b := decide(world("n1", west, south)), decide(world("n1", south, west))
		require.True(t, a.sameWays(b))
		require.False(t, a.sameWays(decide(world("n2", west, south))))
		require.False(t, a.sameWays(decide(world("n1", west))))
	})
}

// A cluster that must not be connected harms no other cluster.
func TestDecideRefuses(t *testing.T) {
	west := importOf("west", "10.112.0.0/12", "172.19.0.2", 5)
	for _, test := range []struct {
		name string
		bad  *v1alpha1.ClusterInfoImport
		want string
	}{
		{"no ID", importOf("", "10.160.0.0/16", "172.21.0.2", 1), "clusterID is empty"},
		{"no Service network", importOf("bad", "", "172.21.0.2", 1), `spec.serviceCIDR is "", want an IPv4 network`},
		{"network of IPv6", importOf("bad", "fd00::/108", "172.21.0.2", 1), "want an IPv4 network"},
		{"too much", importOf("bad", "11.0.0.0/11", "172.21.0.2", 1), "want a prefix of at least 12 bits"},
		{"everything", importOf("bad", "0.0.0.0/0", "172.21.0.2", 1), "prefix of 0 bits"},
		{"gateway of IPv6", importOf("bad", "10.160.0.0/16", "fd00::2", 1), "want an IPv4 address"},
		{"gateway that is no host", importOf("bad", "10.160.0.0/16", "127.0.0.1", 1), "a loopback address"},
		{"own Services", importOf("bad", "10.100.0.0/16", "172.21.0.2", 1), "overlaps 10.96.0.0/12, the Service network of this cluster"},
		{"own Pods", importOf("bad", "10.244.0.0/16", "172.21.0.2", 1), "a Pod network of this cluster"},
		{"own Nodes", importOf("bad", "172.18.0.0/16", "172.21.0.2", 1), "its Service network 172.18.0.0/16 contains"},
		{"gateway is an own Node", importOf("bad", "10.160.0.0/16", "172.18.0.3", 1), "its gateway address 172.18.0.3 is an address of a Node of this cluster"},
		{"gateway is the own one", importOf("bad", "10.160.0.0/16", "192.0.2.1", 1), "is the gateway of this cluster"},
		{"gateway is an own Pod", importOf("bad", "10.160.0.0/16", "10.244.2.9", 1), "is in 10.244.2.0/24, a Pod network"},
		{"gateway is an own Service", importOf("bad", "10.160.0.0/16", "10.96.0.1", 1), "the Service network of this cluster"},
		{"gateway is the router", importOf("bad", "10.160.0.0/16", "172.18.0.1", 1), "is a next hop of the Node of this cluster"},
		{"gateway in its network", importOf("bad", "10.160.0.0/16", "10.160.0.1", 1), "is in its Service network"},
		{"another cluster's Services", importOf("bad", "10.112.5.0/24", "172.21.0.2", 1), "the Service network of cluster west"},
		{"another cluster's gateway", importOf("bad", "10.160.0.0/16", "172.19.0.2", 1), "172.19.0.2, the gateway of cluster west"},
		{"another cluster's gateway among the Services", importOf("bad", "172.19.0.0/16", "172.21.0.2", 1), "172.19.0.2, the gateway of cluster west"},
		{"gateway is another cluster's Service", importOf("bad", "10.160.0.0/16", "10.112.0.1", 1), "the Service network of cluster west"},
		{"a second import of a cluster", &v1alpha1.ClusterInfoImport{ObjectMeta: meta("x", 1), Spec: importOf("west", "10.160.0.0/16", "172.21.0.2", 1).Spec}, "another ClusterInfoImport is about cluster west"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := decide(world("n1", test.bad, west))
			require.ErrorContains(t, d.refused[object{"ClusterInfoImport", test.bad.Name}], test.want)
			require.Equal(t, []openflow.Cluster{clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2")}, d.clusters)
		})
	}
	t.Run("several gateways", func(t *testing.T) {
		bad := importOf("bad", "10.160.0.0/16", "172.21.0.2", 1)
		bad.Spec.GatewayInfos = append(bad.Spec.GatewayInfos, bad.Spec.GatewayInfos[0])
		require.ErrorContains(t, decide(world("n1", bad)).refused[object{"ClusterInfoImport", bad.Name}], "2 items, want 1")
	})
	t.Run("long values are cut in messages", func(t *testing.T) {
		bad := importOf("bad", "10.160.0.0/16", string(make([]byte, 1000)), 1)
		require.Less(t, len(decide(world("n1", bad)).refused[object{"ClusterInfoImport", bad.Name}].Error()), 500)
	})
}
