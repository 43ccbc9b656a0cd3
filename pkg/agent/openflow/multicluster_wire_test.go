// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// cluster is one of two clusters on wires: a gateway Node and another one. Each Node has the Pod oftest.PodAPort, whose address is the 11th of
// the Node's network.
type cluster struct {
	gatewayIP netip.Addr
	services  netip.Prefix
	// pods is the second byte of the Pod networks.
	pods         byte
	gateway, rim *wire
}

// ownPods is the second byte of Pod networks, the same in both clusters, unless Pods of other clusters are connected.
const ownPods = 10

// The Nodes of a cluster, by the third byte of their Pod network.
const gatewayNode, rimNode = 0, 1

func (c *cluster) podNetwork(node byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, c.pods, node, 0}), 24)
}

func (c *cluster) podOf(node byte) netip.Addr { return netip.AddrFrom4([4]byte{10, c.pods, node, 11}) }

func podOf(node byte) netip.Addr { return (&cluster{pods: ownPods}).podOf(node) }

// newClusters connects the clusters 1 and 2, whose Service networks are 10.101.0.0/16 and 10.102.0.0/16, without their Pods.
func newClusters(t *testing.T) [2]*cluster {
	t.Helper()
	return newClustersOf(t, [2]byte{ownPods, ownPods})
}

// newClustersOf connects Pods as well if their networks differ.
func newClustersOf(t *testing.T, pods [2]byte) (clusters [2]*cluster) {
	t.Helper()
	for i := range clusters {
		number := byte(i + 1)
		clusters[i] = &cluster{
			gatewayIP: netip.AddrFrom4([4]byte{192, 168, 100 + number, 1}), services: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 100 + number, 0, 0}), 16), pods: pods[i],
		}
	}
	for i, c := range clusters {
		other := clusters[1-i]
		way := openflow.Cluster{Name: "other", Networks: []netip.Prefix{other.services}, Gateway: other.gatewayIP, Peer: other.gatewayIP}
		if other.pods != c.pods {
			way.Networks = append(way.Networks, netip.PrefixFrom(other.podNetwork(0).Addr(), 16))
		}
		c.gateway, c.rim = c.newNode(t, gatewayNode), c.newNode(t, rimNode)
		require.NoError(t, c.gateway.C.SetClusters(c.gatewayIP, []openflow.Cluster{way}))
		way.Peer = c.gatewayIP
		require.NoError(t, c.rim.C.SetClusters(netip.Addr{}, []openflow.Cluster{way}))
	}
	return clusters
}

func (c *cluster) newNode(t *testing.T, number byte) *wire {
	t.Helper()
	node := *oftest.TestNode
	node.PodIPv4CIDR, node.Gateway.IPv4 = c.podNetwork(number), c.podNetwork(number).Addr().Next()
	w := newUnconnected(t, false, false, oftest.MulticlusterFeatures, &node)
	require.NoError(t, w.C.InstallPodFlows(t.Context(), "pod-a", []netip.Addr{c.podOf(number)}, oftest.PodAMAC, oftest.PodAPort))
	peer := c.podNetwork(1 - number)
	require.NoError(t, w.C.InstallNodeFlows("peer", map[netip.Prefix]openflow.Peer{peer: oftest.PeerAt(peer.Addr().Next(), oftest.RemotePeer)}))
	return w
}

func (c *cluster) node(number byte) *wire {
	if number == gatewayNode {
		return c.gateway
	}
	return c.rim
}

// install makes a port of a Service on both Nodes. Pods that are Endpoints are in the Pod network.
func (c *cluster) install(name, frontend string, nested bool, endpoints ...string) {
	for number, w := range map[byte]*wire{gatewayNode: c.gateway, rimNode: c.rim} {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			port := openflow.ServicePort{
				Name: fmt.Sprint(name, protocol), Protocol: protocol, Nested: nested, Frontends: []openflow.Frontend{{Address: netip.MustParseAddrPort(frontend)}},
			}
			for _, text := range endpoints {
				address := netip.MustParseAddrPort(text)
				port.Cluster = append(port.Cluster, openflow.Endpoint{Address: address, OnThisNode: c.podNetwork(number).Contains(address.Addr()),
					PodNetwork: netip.MustParsePrefix("10.10.0.0/16").Contains(address.Addr())})
			}
			w.install(port)
		}
	}
}

// hop is a Node that a packet passes, from port to port. within says that it comes from a Node of its cluster, for a Pod.
type hop struct {
	at       *wire
	from, to uint32
	within   bool
}

// travel sends the segment of a Pod along the hops, from tunnel to tunnel, and returns it as it arrives.
func travel(t *testing.T, s segment, hops []hop) segment {
	t.Helper()
	hops[0].at.send(hops[0].from, s)
	return onward(t, hops)
}

// onward carries a packet that has entered the first hop to the end, and requires that its MAC address in the tunnel says whether it goes to a
// gateway Node.
func onward(t *testing.T, hops []hop) segment {
	t.Helper()
	for i, h := range hops {
		frame := h.at.links[h.to].next()
		packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
		if i == len(hops)-1 {
			return segmentOf(t, packet)
		}
		next := hops[i+1]
		mac := config.MulticlusterMAC
		if next.within {
			mac = config.GlobalVirtualMAC
		}
		require.Equal(t, mac.String(), packet.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC.String(), "hop %d", i)
		next.at.links[next.from].inject(frame)
	}
	return segment{}
}

// route returns the hops from a Pod of one cluster to one of another.
func route(from *cluster, client byte, to *cluster, server byte) []hop {
	var path []*wire
	if client == rimNode {
		path = append(path, from.rim)
	}
	path = append(path, from.gateway, to.gateway)
	if server == rimNode {
		path = append(path, to.rim)
	}
	hops := make([]hop, len(path))
	for i, w := range path {
		hops[i] = hop{w, oftest.TunnelPort, oftest.TunnelPort, i == 3 || i == 2 && client == gatewayNode}
	}
	hops[0].from, hops[len(path)-1].to = oftest.PodAPort, oftest.PodAPort
	return hops
}

// TestWireClusters: a Pod reaches a Service of another cluster, whose Pods see the address of the client's gateway Node, wherever client and
// server are. All eight ways between Nodes are taken, in both directions, with TCP and UDP.
func TestWireClusters(t *testing.T) {
	clusters := newClusters(t)
	here, there := clusters[0], clusters[1]
	const imported, original = "10.101.0.9:80", "10.102.0.9:80"
	here.install("imported", imported, true, original)
	for _, client := range []byte{gatewayNode, rimNode} {
		for _, server := range []byte{gatewayNode, rimNode} {
			t.Run(fmt.Sprintf("from Node %d to Node %d", client, server), func(t *testing.T) {
				endpoint := withPort(podOf(server), 8080)
				there.install("web", original, false, endpoint)
				source := withPort(podOf(client), 4000+int(10*client+server))
				out, back := route(here, client, there, server), route(there, server, here, client)
				for _, flags := range [][]string{{"S", "SA", "A"}, {"", "", ""}} {
					arrived := travel(t, segment{source, imported, flags[0]}, out)
					require.Equal(t, endpoint, arrived.dst)
					require.Equal(t, here.gatewayIP, netip.MustParseAddrPort(arrived.src).Addr())
					answer := segment{endpoint, arrived.src, flags[1]}
					require.Equal(t, segment{imported, source, flags[1]}, travel(t, answer, back))
					require.Equal(t, segment{arrived.src, endpoint, flags[2]}, travel(t, segment{source, imported, flags[2]}, out))
				}
			})
		}
	}
}

// TestWirePods: a Pod reaches a Pod of another cluster, which sees the address of the client's gateway Node, wherever both are, with TCP and UDP.
func TestWirePods(t *testing.T) {
	clusters := newClustersOf(t, [2]byte{10, 20})
	for i, here := range clusters {
		there := clusters[1-i]
		for _, client := range []byte{gatewayNode, rimNode} {
			for _, server := range []byte{gatewayNode, rimNode} {
				t.Run(fmt.Sprintf("from Node %d of cluster %d to Node %d", client, i, server), func(t *testing.T) {
					endpoint := withPort(there.podOf(server), 8080)
					source := withPort(here.podOf(client), 4000+int(10*client+server))
					out, back := route(here, client, there, server), route(there, server, here, client)
					for _, flags := range [][]string{{"S", "SA", "A"}, {"", "", ""}} {
						arrived := travel(t, segment{source, endpoint, flags[0]}, out)
						require.Equal(t, endpoint, arrived.dst)
						require.Equal(t, here.gatewayIP, netip.MustParseAddrPort(arrived.src).Addr())
						require.Equal(t, segment{endpoint, source, flags[1]}, travel(t, segment{endpoint, arrived.src, flags[1]}, back))
						require.Equal(t, segment{arrived.src, endpoint, flags[2]}, travel(t, segment{source, endpoint, flags[2]}, out))
					}
				})
			}
		}
	}
}

// TestWireClusterRejections: the answer to a packet from another cluster that a policy rejects reaches the client.
func TestWireClusterRejections(t *testing.T) {
	clusters := newClusters(t)
	here, there := clusters[0], clusters[1]
	const imported, original = "10.101.0.9:80", "10.102.0.9:80"
	here.install("imported", imported, true, original)
	for _, server := range []byte{gatewayNode, rimNode} {
		t.Run(fmt.Sprintf("at Node %d", server), func(t *testing.T) {
			endpoint := withPort(podOf(server), 8080)
			there.install("web", original, false, endpoint)
			source := withPort(podOf(rimNode), 4100+int(server))
			arrived := travel(t, segment{source, imported, "S"}, route(here, rimNode, there, server))
			path := openflow.RejectPath{Entry: openflow.RejectFromRouting, InPort: oftest.PodAPort}
			mac := oftest.PodAMAC
			if server == gatewayNode { // It has translated the packet.
				path.Entry = openflow.RejectFromStart
			}
			network, transport := segment{endpoint, arrived.src, "RA"}.headers(t)
			frame := serialize(t, &layers.Ethernet{SrcMAC: mac, DstMAC: oftest.GWMAC, EthernetType: layers.EthernetTypeIPv4}, network.(gopacket.SerializableLayer), transport)
			require.NoError(t, there.node(server).C.SendPolicyReject(t.Context(), path, frame))
			back := route(there, server, here, rimNode)
			first := back[0].at.links[oftest.TunnelPort].next()
			back[1].at.links[oftest.TunnelPort].inject(first)
			answer := onward(t, back[1:])
			require.ElementsMatch(t, []byte("RA"), []byte(answer.flags))
			require.Equal(t, []string{imported, source}, []string{answer.src, answer.dst})
		})
	}
}

// TestWireNestedService: where a Service of another cluster is also one of this cluster, the connection is translated once, by the Service that it
// leads to.
func TestWireNestedService(t *testing.T) {
	c := newClusters(t)[0]
	const imported, own = "10.101.0.9:80", "10.101.0.10:80"
	c.install("imported", imported, true, own)
	near, far := withPort(podOf(gatewayNode), 8080), withPort(podOf(rimNode), 8080)
	client := withPort(podOf(gatewayNode), 4000)

	// No Endpoint: rejected, not led around in circles.
	c.install("own", own, false)
	c.gateway.send(oftest.PodAPort, segment{client, imported, "S"})
	rejected := regexp.MustCompile(`n_packets=[1-9].*reg0=0x4000/0x4000 actions=controller`)
	await(t, func() bool {
		c.gateway.settle()
		return rejected.MatchString(c.gateway.Ofctl("dump-flows", oftest.BridgeName))
	}, "a rejected packet")

	c.install("own", own, false, far)
	hops := []hop{{at: c.gateway, from: oftest.PodAPort, to: oftest.TunnelPort}}
	require.Equal(t, segment{client, far, "S"}, travel(t, segment{client, imported, "S"}, hops))
	answer := []hop{{at: c.gateway, from: oftest.TunnelPort, to: oftest.PodAPort}}
	require.Equal(t, segment{imported, client, "SA"}, travel(t, segment{far, client, "SA"}, answer))

	c.install("own", own, false, near)
	far2 := withPort(podOf(rimNode), 4000)
	require.Equal(t, segment{far2, near, "S"}, travel(t, segment{far2, imported, "S"}, []hop{
		{at: c.rim, from: oftest.PodAPort, to: oftest.TunnelPort}, {c.gateway, oftest.TunnelPort, oftest.PodAPort, true},
	}))
}

// TestWireNestedServiceUsesAllEndpoints: which cluster a connection goes to does not decide which Pod of this cluster it goes to.
func TestWireNestedServiceUsesAllEndpoints(t *testing.T) {
	c := newClusters(t)[0]
	const imported, own = "10.101.0.9:80", "10.101.0.10:80"
	want := []string{"10.10.1.11:8080", "10.10.1.12:8080", "10.102.0.9:80"}
	c.install("own", own, false, want[:2]...)
	c.install("imported", imported, true, own, want[2])
	got := map[string]int{}
	for port := 4000; len(got) < len(want) && port < 4200; port++ {
		s := travel(t, segment{withPort(podOf(gatewayNode), port), imported, "S"}, []hop{{at: c.gateway, from: oftest.PodAPort, to: oftest.TunnelPort}})
		got[s.dst]++
	}
	require.ElementsMatch(t, want, slices.Collect(maps.Keys(got)), "%v", got)
}

// TestWireNestedServiceAndUDP: Open vSwitch does not hash ports of UDP, so that all of a client's go to one cluster.
func TestWireNestedServiceAndUDP(t *testing.T) {
	c := newClusters(t)[0]
	const imported = "10.101.0.9:80"
	c.install("imported", imported, true, "10.102.0.9:80", "10.102.0.10:80", "10.102.0.11:80")
	got := map[string]int{}
	for port := 4000; port < 4040; port++ {
		s := travel(t, segment{withPort(podOf(gatewayNode), port), imported, ""}, []hop{{at: c.gateway, from: oftest.PodAPort, to: oftest.TunnelPort}})
		got[s.dst]++
	}
	require.Len(t, got, 1, "%v", got)
}
