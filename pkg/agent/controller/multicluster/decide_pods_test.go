// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// withPods is an import of a cluster with Pod networks.
func withPods(i *v1alpha1.ClusterInfoImport, networks ...string) *v1alpha1.ClusterInfoImport {
	i.Spec.PodCIDRs = networks
	return i
}

// podWorld is world with the switch on.
func podWorld(node string, imports ...*v1alpha1.ClusterInfoImport) input {
	in := world(node, imports...)
	in.podToPod = true
	return in
}

// networksOf are the networks of the clusters by their name.
func networksOf(d *decision) map[string][]string {
	found := map[string][]string{}
	for _, c := range d.clusters {
		for _, n := range c.Networks {
			found[c.Name] = append(found[c.Name], n.String())
		}
	}
	return found
}

func importOfWest(networks ...string) *v1alpha1.ClusterInfoImport {
	return withPods(importOf("west", "10.112.0.0/12", "172.19.0.2", 5), networks...)
}

func TestDecidePods(t *testing.T) {
	west := importOfWest("10.40.0.0/16", "", "10.41.0.0/24")
	both := map[string][]string{"west": {"10.112.0.0/12", "10.40.0.0/16", "10.41.0.0/24"}}
	for node, peer := range map[string]string{"n1": "172.19.0.2", "n2": "172.18.0.2"} {
		d := decide(podWorld(node, west))
		require.Empty(t, d.refused)
		require.Equal(t, both, networksOf(d))
		require.Equal(t, addr(peer), d.clusters[0].Peer)
	}
	t.Run("without the switch", func(t *testing.T) {
		bad := importOf("bad", "10.160.0.0/16", "172.21.0.2", 1)
		d := decide(world("n1", west, withPods(bad, "nonsense")))
		require.Empty(t, d.refused)
		require.Equal(t, map[string][]string{"west": {"10.112.0.0/12"}, "bad": {"10.160.0.0/16"}}, networksOf(d))
	})
	t.Run("no gateway: the ways are closed", func(t *testing.T) {
		in := podWorld("n1", west)
		in.gateways = nil
		d := decide(in)
		require.Equal(t, both, networksOf(d))
		require.False(t, d.clusters[0].Peer.IsValid())
	})
	t.Run("a change is one of ways", func(t *testing.T) {
		former := decide(podWorld("n1", west))
		require.True(t, former.sameWays(decide(podWorld("n1", importOfWest("10.40.0.0/16", "10.41.0.0/24")))))
		require.False(t, former.sameWays(decide(podWorld("n1", importOfWest("10.40.0.0/16", "10.42.0.0/24")))))
		require.False(t, former.sameWays(decide(world("n1", west))))
	})
	t.Run("connections to Pods are led", func(t *testing.T) {
		require.True(t, decide(podWorld("n1", west)).leads(connectionOf("10.244.1.5", "10.41.0.9", "192.0.2.1", 0)))
		require.False(t, decide(podWorld("n1", west)).leads(connectionOf("10.244.1.5", "10.41.1.9", "192.0.2.1", 0)))
	})
	t.Run("the object of a refused cluster does not count", func(t *testing.T) {
		again := withPods(importOf("west", "10.160.0.0/16", "172.21.0.2", 1), "10.43.0.0/16")
		again.ObjectMeta = meta("x", 1)
		d := decide(podWorld("n1", west, again))
		require.Equal(t, both, networksOf(d))
		require.ErrorContains(t, d.refused[object{"ClusterInfoImport", "x"}], "it has no effect: another ClusterInfoImport is about cluster west")
	})
}

// A cluster whose Pod networks cannot be used keeps its Services, loses all of its Pod networks, and harms no other cluster.
func TestDecideRefusesPods(t *testing.T) {
	const good = "10.50.0.0/16"
	many := make([]string, v1alpha1.MaxPodCIDRs+1)
	for i := range many {
		many[i] = fmt.Sprintf("10.51.%d.0/24", i)
	}
	for _, test := range []struct {
		name, network, want string
	}{
		{"nonsense", "x", `spec.podCIDRs[1] is "x", want an IPv4 network`},
		{"IPv6", "fd00::/64", "want an IPv4 network"},
		{"IPv4 as IPv6", "::ffff:10.60.0.0/112", "want an IPv4 network"},
		{"host bits", "10.60.0.1/16", "without host bits"},
		{"too large", "12.0.0.0/7", "prefix of 7 bits"},
		{"one address", "10.60.0.1/32", "prefix of 32 bits"},
		{"no hosts", "224.0.0.0/8", "multicast"},
		{"twice", good, "10.50.0.0/16 overlaps 10.50.0.0/16, another one of them"},
		{"in another one of its own", "10.50.9.0/24", "another one of them"},
		{"own Services", "10.100.0.0/16", "10.100.0.0/16 overlaps 10.96.0.0/12, the Service network of this cluster"},
		{"own Pods", "10.244.0.0/16", "a Pod network of this cluster"},
		{"a part of own Pods", "10.244.2.128/25", "10.244.2.128/25 overlaps 10.244.2.0/24, a Pod network of this cluster"},
		{"own Nodes", "172.18.0.8/29", "172.18.0.8/29 overlaps 172.18.0.9, an address of a Node of this cluster"},
		{"own gateway elsewhere", "192.0.2.0/24", "192.0.2.1, the gateway of this cluster"},
		{"the router", "172.18.0.0/31", "172.18.0.1, a next hop of the Node of this cluster"},
		{"its own Services", "10.160.5.0/24", "10.160.0.0/16, the Service network of cluster bad"},
		{"its own gateway", "172.21.0.0/16", "172.21.0.2, the gateway of cluster bad"},
		{"another cluster's Services", "10.112.5.0/24", "10.112.0.0/12, the Service network of cluster west"},
		{"another cluster's gateway", "172.19.0.0/16", "172.19.0.2, the gateway of cluster west"},
		{"another cluster's Pods", "10.40.8.0/24", "10.40.0.0/16, a Pod network of cluster west"},
		{"more than another cluster's Pods", "10.40.0.0/15", "10.40.0.0/16, a Pod network of cluster west"},
		{"a younger cluster's Services", "10.192.0.0/12", "10.192.0.0/16, the Service network of cluster young"},
		{"a younger cluster's gateway", "172.22.0.0/16", "172.22.0.2, the gateway of cluster young"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := withPods(importOf("bad", "10.160.0.0/16", "172.21.0.2", 3), good, test.network)
			young := withPods(importOf("young", "10.192.0.0/16", "172.22.0.2", 1), "10.70.0.0/16")
			d := decide(podWorld("n1", bad, young, importOfWest("10.40.0.0/16")))
			require.Len(t, d.refused, 1)
			require.ErrorContains(t, d.refused[object{"ClusterInfoImport", bad.Name}], "its Pod networks have no effect: ")
			require.ErrorContains(t, d.refused[object{"ClusterInfoImport", bad.Name}], test.want)
			require.Equal(t, map[string][]string{
				"west": {"10.112.0.0/12", "10.40.0.0/16"}, "bad": {"10.160.0.0/16"}, "young": {"10.192.0.0/16", "10.70.0.0/16"},
			}, networksOf(d))
		})
	}
	t.Run("too many", func(t *testing.T) {
		d := decide(podWorld("n1", importOfWest(many...)))
		require.ErrorContains(t, d.refused[object{"ClusterInfoImport", "west-clusterinfo"}], "spec.podCIDRs has 65 items, allowed: 64")
		require.Empty(t, decide(podWorld("n1", importOfWest(many[1:]...))).refused)
	})
	t.Run("long values are cut in messages", func(t *testing.T) {
		d := decide(podWorld("n1", importOfWest(string(make([]byte, 1000)))))
		require.Less(t, len(d.refused[object{"ClusterInfoImport", "west-clusterinfo"}].Error()), 500)
	})
}

// The older of two clusters has the Pod network, on every Node and in any order of the objects; a Service network goes before Pod networks of
// any age.
func TestDecidePodsByAge(t *testing.T) {
	const shared = "10.40.0.0/16"
	south := withPods(importOf("south", "10.128.0.0/12", "172.20.0.2", 6), shared)
	late := importOf("late", "10.41.0.0/16", "172.21.0.2", 1)
	imports := []*v1alpha1.ClusterInfoImport{importOfWest(shared, "10.42.0.0/16"), south, late, withPods(importOf("old", "10.160.0.0/16", "172.23.0.2", 9), "10.41.7.0/24")}
	for _, node := range []string{"n0", "n1", "n2"} {
		for range imports {
			imports = append(imports[1:], imports[0])
			d := decide(podWorld(node, imports...))
			require.Equal(t, map[string][]string{
				"west": {"10.112.0.0/12"}, "south": {"10.128.0.0/12", shared}, "late": {"10.41.0.0/16"}, "old": {"10.160.0.0/16"},
			}, networksOf(d))
			require.ErrorContains(t, d.refused[object{"ClusterInfoImport", "west-clusterinfo"}], "10.40.0.0/16, a Pod network of cluster south")
			require.ErrorContains(t, d.refused[object{"ClusterInfoImport", "old-clusterinfo"}], "10.41.0.0/16, the Service network of cluster late")
		}
	}
}

// A Node that gets a part of another cluster's Pod network takes it back.
func TestDecidePodsOfNewNode(t *testing.T) {
	in := podWorld("n1", importOfWest("10.40.0.0/16"))
	require.Len(t, decide(in).clusters[0].Networks, 2)
	in.nodes["n3"] = noderoute.Accepted{Networks: []netip.Prefix{netip.MustParsePrefix("10.40.3.0/24")}}
	d := decide(in)
	require.Equal(t, []openflow.Cluster{clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2")}, d.clusters)
	require.ErrorContains(t, d.refused[object{"ClusterInfoImport", "west-clusterinfo"}], "10.40.3.0/24, a Pod network of this cluster")
	require.True(t, slices.Equal(d.addresses, decide(podWorld("n1", importOfWest())).addresses))
}
