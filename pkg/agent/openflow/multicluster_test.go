// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// behindGateway is oftest.OtherCluster for a Node whose gateway Node is the remote one.
func behindGateway() openflow.Cluster {
	c := oftest.OtherCluster
	c.Peer = oftest.RemotePeer
	return c
}

// withPods is a cluster whose Pods are connected as well.
func withPods(c openflow.Cluster) openflow.Cluster {
	c.Networks = append(slices.Clone(c.Networks), netip.MustParsePrefix("10.20.0.0/16"))
	return c
}

// ownBase is the address of this cluster's gateway Node in the device that encrypts.
var ownBase = netip.MustParseAddr("10.96.0.0")

// encrypted is oftest.OtherCluster with encryption, for the gateway Node.
func encrypted() openflow.Cluster {
	c := oftest.OtherCluster
	c.Gateway = c.Networks[0].Addr()
	c.Peer = c.Gateway
	return c
}

func TestClusterFlowsGolden(t *testing.T) {
	for file, set := range map[string]func(openflow.Client) error{
		"clusters_encrypted.txt": func(c openflow.Client) error {
			closed := openflow.Cluster{Name: "south", Networks: oftest.Prefixes("10.128.0.0/16"), Gateway: netip.MustParseAddr("10.128.0.0")}
			return c.SetClusters(ownBase, []openflow.Cluster{withPods(encrypted()), closed})
		},
		"clusters.txt":         func(c openflow.Client) error { return c.SetClusters(netip.Addr{}, []openflow.Cluster{behindGateway()}) },
		"clusters_gateway.txt": setClusters(oftest.NodeIP),
		"clusters_closed.txt": func(c openflow.Client) error {
			closed := oftest.OtherCluster
			closed.Peer = netip.Addr{}
			return c.SetClusters(netip.Addr{}, []openflow.Cluster{closed})
		},
	} {
		t.Run(file, func(t *testing.T) {
			features := oftest.MulticlusterFeatures
			features.MulticlusterWireGuard = file == "clusters_encrypted.txt"
			c, fake := oftest.NewTestClientOf(t, features, oftest.DualStackNode)
			base := fake.Flows()
			require.NoError(t, set(c))
			want := fake.Flows()
			oftest.RequireGolden(t, file, oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, want)))
			require.NoError(t, oftest.Replay(c))
			require.Equal(t, want, fake.Flows())
			require.NoError(t, c.SetClusters(netip.Addr{}, nil))
			require.Equal(t, base, fake.Flows(), "nothing is left behind")
		})
	}
}

// The base flows of every Node replace the flow with which an agent without encryption, as gateway Node, has admitted packets in clear.
func TestFormerEntryIsReplaced(t *testing.T) {
	former, before := oftest.NewTestClient(t, oftest.MulticlusterFeatures)
	base := before.Flows()
	require.NoError(t, setClusters(oftest.NodeIP)(former))
	_, now := oftest.NewTestClient(t, oftest.EncryptedFeatures)
	admits := 0
	for _, admit := range oftest.NewFlows(base, before.Flows()) {
		if oftest.TableNames(former)[admit.Table] != "Classifier" {
			continue
		}
		admits++
		require.True(t, slices.ContainsFunc(now.Flows(), func(f of.Flow) bool {
			return f.Table == admit.Table && f.Priority == admit.Priority && reflect.DeepEqual(f.Match, admit.Match) && len(f.Actions) == 0
		}), "no base flow drops what %v admits", admit)
	}
	require.Positive(t, admits)
}

// A change is one bundle, and the same state again is none.
func TestSetClustersSendsDifferences(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.MulticlusterFeatures)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	r.Changes = nil
	require.NoError(t, setClusters(oftest.NodeIP)(c))
	require.NoError(t, setClusters(oftest.NodeIP)(c))
	require.Equal(t, []coherency.Change{{All: true}}, r.Changes)
	before := fake.Flows()
	fake.FailNext(oftest.ErrRefused)
	require.ErrorIs(t, c.SetClusters(netip.Addr{}, nil), oftest.ErrRefused)
	require.Equal(t, before, fake.Flows())
	require.NoError(t, c.SetClusters(netip.Addr{}, nil))
	require.NotEqual(t, before, fake.Flows())
}

func TestSetClustersRefuses(t *testing.T) {
	addr, networks := netip.MustParseAddr, func(texts ...string) (list []netip.Prefix) { return oftest.Prefixes(texts...) }
	edit := func(change func(*openflow.Cluster)) []openflow.Cluster {
		c := oftest.OtherCluster
		c.Networks = slices.Clone(c.Networks)
		change(&c)
		return []openflow.Cluster{c}
	}
	for _, test := range []struct {
		name     string
		gateway  netip.Addr
		clusters []openflow.Cluster
		want     string
	}{
		{"no name", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Name = "" }), "must have a name"},
		{"no network", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Networks = nil }), "and a network"},
		{"gateway of IPv6", oftest.RemoteGW6, nil, "must be an IPv4 address"},
		{"other gateway of IPv6", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Gateway = oftest.RemoteGW6 }), "must be IPv4 addresses"},
		{"network of IPv6", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Networks = networks("fd00::/64") }), "must be an IPv4 network"},
		{"host bits", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Networks = networks("10.100.0.1/16") }), "without host bits"},
		{"gateway in the network", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Gateway = addr("10.100.0.9") }), "the gateway 10.100.0.9 is in the cluster's networks [10.100.0.0/16]: true, want false"},
		{"local Pods", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Networks = networks("10.0.0.0/8") }), "overlaps the local Pod network"},
		{"gateway is a local Pod", netip.Addr{}, edit(func(c *openflow.Cluster) { c.Gateway = oftest.PodBIP }), "overlaps the local Pod network"},
		{"two with one gateway", netip.Addr{}, append(edit(func(c *openflow.Cluster) { c.Name = "east"; c.Networks = networks("10.101.0.0/16") }), oftest.OtherCluster), "192.168.88.2/32 of cluster east"},
		{"two with one network", netip.Addr{}, append(edit(func(c *openflow.Cluster) { c.Name = "east"; c.Gateway = addr("192.168.89.2") }), oftest.OtherCluster), "10.100.0.0/16 of cluster east"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.MulticlusterFeatures)
			base := fake.Flows()
			require.ErrorContains(t, c.SetClusters(test.gateway, test.clusters), test.want)
			require.Equal(t, base, fake.Flows())
		})
	}
	t.Run("gate off", func(t *testing.T) {
		c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
		require.ErrorContains(t, setClusters(oftest.NodeIP)(c), "feature gates Multicluster")
		nested := oftest.ClusterPort(oftest.LocalEndpoint)
		nested.Nested = true
		require.ErrorContains(t, c.InstallService(nested), "feature gate Multicluster")
	})
	t.Run("encrypted, with the address of the gateway Node", func(t *testing.T) {
		c, _ := oftest.NewTestClient(t, oftest.EncryptedFeatures)
		require.ErrorContains(t, setClusters(oftest.NodeIP)(c), "the gateway 192.168.88.2 is in the cluster's networks [10.100.0.0/16]: false, want true")
	})
	t.Run("IPv6 only", func(t *testing.T) {
		c, _ := oftest.NewTestClientOf(t, oftest.MulticlusterFeatures, oftest.Ipv6Node)
		require.ErrorContains(t, setClusters(oftest.NodeIP)(c), "IPv4 addresses")
	})
}

// The ways of single packets, on a switch that decides as the agent's does. TestWireClusters also translates.
func TestClusterWalks(t *testing.T) {
	// back is the way back through the port by which the packet has come. Traces name it in words.
	back := []int{-1}
	const virtual = "dl_dst=aa:bb:cc:dd:ee:f0"
	fromTunnel := func(src, dst string) string {
		return strings.NewReplacer(oftest.RemotePodIP.String(), src, oftest.PodAIP.String(), dst, "dl_dst=aa:bb:cc:dd:ee:ff", virtual).Replace(oftest.RemoteToPodA)
	}
	fromPod := func(dst string) string {
		return strings.Replace(oftest.PodAToRemote, oftest.RemotePodIP.String(), dst, 1)
	}
	for _, test := range []struct {
		name    string
		gateway bool
		packet  string
		ct      []string
		outputs []int
		final   []string
		epoch   uint32
	}{
		{"Pod to another cluster", false, fromPod("10.100.7.9"), []string{oftest.CTNew}, []int{oftest.TunnelPort}, []string{virtual, "tun_dst=192.168.77.102", "nw_ttl=63"}, 0},
		{"Pod to another cluster, on the gateway Node", true, fromPod("10.100.7.9"), []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, []int{oftest.TunnelPort}, []string{virtual, "tun_dst=192.168.88.2"}, 0},
		{"Pod to another cluster, established, on the gateway Node", true, fromPod("10.100.7.9") + ",ct_mark=0x33", []string{oftest.CTEstablished, oftest.CTEstablished}, []int{oftest.TunnelPort}, []string{virtual}, 0},
		{"another Node's Pod to another cluster", true, fromTunnel("10.10.1.20", "10.100.7.9"), []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, back, []string{virtual, "tun_dst=192.168.88.2", "nw_src=192.168.77.101"}, 0},
		{"the same on a Node that is no gateway Node", false, fromTunnel("10.10.1.20", "10.100.7.9"), []string{oftest.CTNew}, nil, nil, 0},
		{"Pod to another cluster, established", false, fromPod("10.100.7.9") + ",ct_mark=0x13", []string{oftest.CTEstablished}, []int{oftest.TunnelPort}, []string{virtual}, 0},
		{"Pod to a Pod of this cluster, established", false, oftest.PodAToRemote + ",ct_mark=3", []string{oftest.CTEstablished}, []int{oftest.TunnelPort}, nil, 7},
		{"Pod to another cluster, connection older than the role, on the gateway Node", true, fromPod("10.100.7.9") + ",ct_mark=0x13", []string{oftest.CTEstablished}, nil, nil, 0},
		{"another Node's packet for a Pod elsewhere, on the gateway Node", true, strings.Replace(fromTunnel("10.10.1.20", "10.10.1.21"), virtual, "dl_dst=aa:bb:cc:dd:ee:ff", 1), []string{oftest.CTNew}, nil, nil, 0},
		{"answer to another cluster", false, fromPod("192.168.88.2") + ",ct_mark=1", []string{oftest.CTReply}, []int{oftest.TunnelPort}, []string{virtual, "tun_dst=192.168.77.102"}, 0},
		{"answer of another Node's Pod to another cluster", true, fromTunnel("10.10.1.20", "192.168.88.2") + ",ct_mark=0x11", []string{oftest.CTReply}, back, []string{virtual, "tun_dst=192.168.88.2"}, 0},
		{"connection to the gateway of another cluster", false, fromPod("192.168.88.2"), []string{oftest.CTNew}, []int{oftest.GWPort}, []string{"dl_dst=0a:00:00:00:00:01"}, 0},
		{"Pod to a Pod of another cluster", false, fromPod("10.20.7.9"), []string{oftest.CTNew}, []int{oftest.TunnelPort}, []string{virtual, "tun_dst=192.168.77.102", "nw_ttl=63"}, 0},
		{"Pod to a Pod of another cluster, on the gateway Node", true, fromPod("10.20.7.9"), []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, []int{oftest.TunnelPort}, []string{virtual, "tun_dst=192.168.88.2"}, 0},
		{"Pod to a Pod of another cluster, established", false, fromPod("10.20.7.9") + ",ct_mark=0x3", []string{oftest.CTEstablished}, []int{oftest.TunnelPort}, []string{virtual}, 0},
		{"Pod to a Pod of another cluster, established, on the gateway Node", true, fromPod("10.20.7.9") + ",ct_mark=0x23", []string{oftest.CTEstablished, oftest.CTEstablished}, []int{oftest.TunnelPort}, []string{virtual}, 0},
		{"Pod to a Pod of another cluster, connection older than the role, on the gateway Node", true, fromPod("10.20.7.9") + ",ct_mark=0x3", []string{oftest.CTEstablished}, nil, nil, 0},
		{"another Node's Pod to a Pod of another cluster", true, fromTunnel("10.10.1.20", "10.20.7.9"), []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, back, []string{virtual, "tun_dst=192.168.88.2", "nw_src=192.168.77.101"}, 0},
		{"Pod to no Pod of another cluster", false, fromPod("10.21.7.9"), []string{oftest.CTNew}, []int{oftest.GWPort}, []string{"dl_dst=0a:00:00:00:00:01"}, 0},
		{"request from another cluster", true, fromTunnel("192.168.88.2", "10.10.0.11"), []string{oftest.CTNew}, []int{oftest.PodAPort}, []string{"dl_dst=0a:00:00:00:00:11"}, 0},
		{"request from another cluster to another Node's Pod", true, fromTunnel("192.168.88.2", "10.10.1.20"), []string{oftest.CTNew}, back, []string{"dl_dst=aa:bb:cc:dd:ee:ff", "tun_dst=192.168.77.102"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := oftest.NewBridge(t, oftest.MulticlusterFeatures)
			b.InstallAll()
			gateway, to := netip.Addr{}, withPods(behindGateway())
			if test.gateway {
				gateway, to = oftest.NodeIP, withPods(oftest.OtherCluster)
			}
			require.NoError(t, b.C.SetClusters(gateway, []openflow.Cluster{to}))
			w := b.Trace(test.packet, test.ct...)
			if strings.Contains(w.Text, "    IN_PORT\n") {
				w.Outputs = append(w.Outputs, back...)
			}
			require.Equal(t, test.outputs, w.Outputs, w.Text)
			for _, part := range test.final {
				require.Contains(t, w.FinalFlow(), part, w.Text)
			}
			if test.outputs != nil {
				require.Equal(t, test.epoch, w.Epoch(), w.Text)
			}
		})
	}
}

// TestEncryptedClusterWalks: on the gateway Node, packets of other clusters are accepted only with the addresses that the other cluster's key has, and packets of
// this cluster's Nodes only for other clusters.
func TestEncryptedClusterWalks(t *testing.T) {
	closed := openflow.Cluster{Name: "south", Networks: oftest.Prefixes("10.128.0.0/16"), Gateway: netip.MustParseAddr("10.128.0.0")}
	b := oftest.NewBridge(t, oftest.EncryptedFeatures)
	b.InstallAll()
	require.NoError(t, b.C.SetClusters(ownBase, []openflow.Cluster{withPods(encrypted()), closed}))
	const virtual, plain = "aa:bb:cc:dd:ee:f0", "aa:bb:cc:dd:ee:ff"
	const secret, clear = "tun_src=10.100.0.0,tun_dst=10.96.0.0", "tun_src=192.168.77.102,tun_dst=192.168.77.101"
	out := []string{"tun_dst=10.100.0.0", "nw_src=10.96.0.0", "dl_dst=" + virtual}
	back := []int{-1}
	for _, test := range []struct {
		name, outer, mac, src, dst string
		ct                         []string
		outputs                    []int
		final                      []string
	}{
		{"another Node's Pod to another cluster", clear, virtual, "10.10.1.20", "10.100.7.9", []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, back, out},
		{"another Node's Pod to a Pod of another cluster", clear, virtual, "10.10.1.20", "10.20.7.9", []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, back, out},
		{"another Node's Pod to a cluster without a key", clear, virtual, "10.10.1.20", "10.128.7.9", []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, nil, nil},
		{"request from another cluster", secret, virtual, "10.100.0.0", "10.10.0.11", []string{oftest.CTNew}, []int{oftest.PodAPort}, nil},
		{"request from another cluster to another Node", secret, virtual, "10.100.0.0", "10.10.1.20", []string{oftest.CTNew}, back, []string{"dl_dst=" + plain}},
		{"packet from another cluster's Pod", secret, virtual, "10.20.7.9", "10.10.0.11", []string{oftest.CTNew}, []int{oftest.PodAPort}, nil},
		{"request in clear", clear, virtual, "10.100.0.0", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"request in clear from the address of the gateway Node", "tun_src=192.168.88.2,tun_dst=192.168.77.101", virtual, "192.168.88.2", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"request in clear as between Nodes", clear, plain, "10.100.0.0", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"another cluster's Pod in clear as between Nodes", clear, plain, "10.20.7.9", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"another cluster's request to a third one, in clear", clear, virtual, "10.128.0.0", "10.100.7.9", []string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, nil, nil},
		{"another cluster takes a Pod's address", secret, virtual, "10.10.1.20", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"another cluster as a Node of this one", secret, plain, "10.10.1.20", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"another cluster takes a third one's address", secret, virtual, "10.128.0.0", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"a cluster without a key", "tun_src=10.128.0.0,tun_dst=10.96.0.0", virtual, "10.128.0.0", "10.10.0.11", []string{oftest.CTNew}, nil, nil},
		{"another Node's Pod", clear, plain, "10.10.1.20", "10.10.0.11", []string{oftest.CTNew}, []int{oftest.PodAPort}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			packet := strings.NewReplacer(oftest.RemotePodIP.String(), test.src, oftest.PodAIP.String(), test.dst, plain, test.mac).Replace(oftest.RemoteToPodA) + "," + test.outer
			w := b.Trace(packet, test.ct...)
			if strings.Contains(w.Text, "    IN_PORT\n") {
				w.Outputs = append(w.Outputs, back...)
			}
			require.Equal(t, test.outputs, w.Outputs, w.Text)
			for _, part := range test.final {
				require.Contains(t, w.FinalFlow(), part, w.Text)
			}
		})
	}
}

// Without a gateway Node, nothing for another cluster leaves by another way.
func TestClosedClusterWalks(t *testing.T) {
	b := oftest.NewBridge(t, oftest.MulticlusterFeatures)
	b.InstallAll()
	closed := withPods(oftest.OtherCluster)
	closed.Peer = netip.Addr{}
	require.NoError(t, b.C.SetClusters(netip.Addr{}, []openflow.Cluster{closed}))
	for _, to := range []string{"10.100.7.9", "10.20.7.9"} {
		packet := strings.Replace(oftest.PodAToRemote, oftest.RemotePodIP.String(), to, 1)
		for _, ct := range []string{oftest.CTNew, oftest.CTEstablished} {
			w := b.Trace(packet, ct)
			require.Empty(t, w.Outputs, w.Text)
		}
	}
}

// The agent's answer to a rejected packet from another cluster belongs to no connection.
func TestClusterRejection(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.MulticlusterFeatures)
	require.NoError(t, c.SetClusters(netip.Addr{}, []openflow.Cluster{behindGateway()}))
	var found []of.Flow
	for _, f := range fake.Flows() {
		if strings.Contains(f.Key(), "reg0=0x2000/0x2000,nw_dst=192.168.88.2") {
			found = append(found, f)
		}
	}
	require.Len(t, found, 1)
}
