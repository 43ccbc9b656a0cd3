// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// The suites of traffic modes without a tunnel run with `make suite S=e2e-all`: captures on the network say how packets travel.

func TestNoEncapGateOff(t *testing.T) { testNoEncapSuite(t, false) }
func TestNoEncapGateOn(t *testing.T)  { testNoEncapSuite(t, true) }
func TestHybridGateOff(t *testing.T)  { testHybridSuite(t, false) }
func TestHybridGateOn(t *testing.T)   { testHybridSuite(t, true) }

// skipUnlessAll skips a suite that runs with `make suite S=e2e-all` only.
func skipUnlessAll(t *testing.T) {
	t.Helper()
	if !all {
		t.Skip("runs with `make suite S=e2e-all`")
	}
}

// newModeSuite makes a cluster with a traffic mode, without kube-proxy.
func newModeSuite(t *testing.T, mode string, oncache bool, change ...func(*cluster.Options)) *suite {
	t.Helper()
	skipUnlessAll(t)
	s := newSuite(t, "geneve", oncache, append(change, func(o *cluster.Options) {
		former := o.AgentConfig
		o.AgentConfig = func(node int, conf map[string]any) {
			former(node, conf)
			cluster.Mode(mode).Configure(conf)
			conf["oncache"].(map[string]any)["direct"] = cluster.Mode(mode).Direct()
			conf["antreaProxy"] = map[string]any{"proxyAll": true}
		}
	})...)
	s.mode, s.directHits = mode, oncache && cluster.Mode(mode).Direct()
	return s
}

func testNoEncapSuite(t *testing.T, oncache bool) {
	s := newModeSuite(t, "noEncap", oncache, families(dualStack, dualStack))
	s.run(t,
		area{"Way", testDirectWay},
		area{"Connectivity", testConnectivity},
		area{"PolicyAcrossNodes", testPolicyAcrossNodes},
		area{"ProxyAll", testProxyAll},
		area{"Injection", testInjection},
		area{"NoSNAT", testNoSNAT},
		area{"NoEgress", testNoEgress},
		area{"PlainArrives", testPlainArrives},
		area{"VanishedNode", testVanishedNode},
		area{"SubnetChanges", testSubnetChanges},
	)
	s.runDirectHits(t)
	s.useIPv6(t)
	s.run(t, area{"WayIPv6", testDirectWay}, area{"ConnectivityIPv6", testConnectivity}, area{"PolicyAcrossNodesIPv6", testPolicyAcrossNodes})
	if s.directHits {
		s.run(t, area{"FastPathIPv6", testFastPath}, area{"ConnectionEndIPv6", testConnectionEnd})
	}
	s.run(t, area{"Cleanup", testCleanup}) // last: it leaves no cluster
}

func testHybridSuite(t *testing.T, oncache bool) {
	s := newModeSuite(t, "hybrid", oncache)
	s.run(t,
		area{"Way", testDirectWay},
		area{"Connectivity", testConnectivity},
		area{"PolicyAcrossNodes", testPolicyAcrossNodes},
		area{"MovingNode", testMovingNode},
		area{"VanishedNode", testVanishedNode},
		area{"SubnetChanges", testSubnetChanges},
	)
	s.runDirectHits(t)
}

// testDirectWay: no packet between Pods of the two Nodes is in the tunnel, hits included. Without oncache.direct the cache has none between the
// Nodes, and says why.
func testDirectWay(t *testing.T, s *suite) {
	s.requireWay(t, true, func() { s.requireConnectivity(t, s.client.Space, s.far.Space, s.far.IP) })
	if !s.oncache {
		return
	}
	s.requireWay(t, true, func() {
		r := s.startStream(t)
		r.waitFastIfGate(t)
		r.end(t, 0)
	})
	s.requireReach(t, "")
	set := func(direct bool) {
		s.configureONCache(t, func(oncache map[string]any) { oncache["direct"] = direct })
		s.directHits = direct
	}
	set(false)
	defer set(true)
	before := s.hitsBetweenNodes(t) // and of former agents
	s.requireWay(t, true, func() {
		r := s.startStream(t)
		waitReceived(t, r.connections[0].ping, lastReceived(r.connections[0].ping)+uint64(5*direct.load().pings), patience) // a lease
		r.end(t, 0)
	})
	s.requireReach(t, "reached without the tunnel (direct)")
	require.Equal(t, before, s.hitsBetweenNodes(t))
}

// hitsBetweenNodes returns the hits that each Node has sent to others and received.
func (s *suite) hitsBetweenNodes(t *testing.T) (hits [][2]uint64) {
	t.Helper()
	for _, n := range s.Nodes {
		status := oncacheStatus(t, n)
		hits = append(hits, [2]uint64{status.Egress.Hits - status.Egress.LocalHits, status.Ingress.Hits})
	}
	return hits
}

// requireReach requires that antctl says of each Node how it reaches the other, and why it has no hits, if so.
func (s *suite) requireReach(t *testing.T, onOVS string) {
	t.Helper()
	for _, n := range s.Nodes[:2] {
		eventuallyWithin(t, execTimeout, "the cache of "+n.Name+" to know the other Node", func() error {
			status, infos := oncacheStatus(t, n), antctl[[]api.NodeInfo](t, n, "get", "oncache", "nodes")
			// A Node has one for each address family.
			other := func(i api.NodeInfo) bool { return i.Reach != "direct" || i.OnOVS != onOVS }
			if (status.Nodes == 1 && status.NodesOnOVS == 0) != (onOVS == "") || len(infos) == 0 || slices.ContainsFunc(infos, other) {
				return notYet(fmt.Sprintf("%+v, %+v", status, infos))
			}
			return nil
		})
	}
}

// wayCaptured is the number of packets whose headers requireWay sees: enough to reach the hits of a stream.
const wayCaptured = "--limit=5000"

// requireWay sends packets between Pods of the two Nodes, and compares with what is on the network, and with what arrives at the Pods.
func (s *suite) requireWay(t *testing.T, plain bool, send func()) {
	t.Helper()
	s.requireWayOver(t, plain, 0, send)
}

// requireWayOver is requireWay with a number of routers between the Nodes that forward the Pods' packets.
func (s *suite) requireWayOver(t *testing.T, plain bool, routers int, send func()) {
	t.Helper()
	capture := func(in *cluster.Space, device string, what ...string) *cluster.Process {
		return startServer(t, in, append([]string{"capture", "--device=" + device}, what...)...)
	}
	var tunnel, asTheyAre, arriving []*cluster.Process
	for _, ends := range [][2]*cluster.Pod{{s.client, s.far}, {s.far, s.client}} {
		from, to := ends[0], ends[1]
		packets := []string{"--source=" + from.IP.String(), "--destination=" + to.IP.String(), wayCaptured}
		tunnel = append(tunnel, capture(s.Fabric, from.Node.Name, "--proto=udp", fmt.Sprint("--port=", s.tunnelPort()), "--limit=10"))
		asTheyAre = append(asTheyAre, capture(s.Fabric, from.Node.Name, packets...))
		arriving = append(arriving, capture(to.Space, "eth0", packets...))
	}
	send()
	for i, n := range s.Nodes[:2] {
		encapsulated, direct, arrived := stop[report.Capture](t, tunnel[i]), stop[report.Capture](t, asTheyAre[i]), stop[report.Capture](t, arriving[i])
		require.NotZero(t, arrived.Matched, n.Name)
		if !plain {
			require.NotZero(t, encapsulated.Matched, n.Name)
			require.Zero(t, direct.Matched, n.Name)
			requireTTL(t, "at the Pod, from "+n.Name, 62, arrived.Packets) // Open vSwitch of each Node decrements it
			continue
		}
		require.Zero(t, encapsulated.Matched, "%s: %+v", n.Name, encapsulated.Packets)
		require.NotZero(t, direct.Matched, n.Name)
		requireTTL(t, "from "+n.Name, 62, direct.Packets)                      // Open vSwitch and the host
		requireTTL(t, "at the Pod, from "+n.Name, 61-routers, arrived.Packets) // and the other host
	}
}

// requireTTL requires the same TTL of all packets, also of each fragment.
func requireTTL(t *testing.T, where string, ttl int, packets []report.Packet) {
	t.Helper()
	for i, p := range packets {
		require.Equal(t, ttl, int(p.TTL), "packet %d of %d %s: %+v", i+1, len(packets), where, p)
	}
}

// testPolicyAcrossNodes: policies about Pods hold for packets that come by the host's routes, in both directions.
func testPolicyAcrossNodes(t *testing.T, s *suite) {
	for app, p := range map[string]*cluster.Pod{"client": s.client, "neighbor": s.neighbor, "server": s.far} {
		s.label(t, p, map[string]string{"app": app})
		defer s.label(t, p, nil)
	}
	startSink(t, s.far.Space)
	address := netip.AddrPortFrom(s.far.IP, sinkPort)
	remove := s.applyPolicy(t, ingressTo("allow-client", "server", networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("client")}}}))
	requireNoConnection(t, s.neighbor.Space, address)
	requireConnects(t, s.client.Space, address)
	requireNoConnection(t, s.node1.Space, address)
	remove()
	requireConnects(t, s.neighbor.Space, address)
	remove = s.applyPolicy(t, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-egress"},
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: *selector("client"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
	})
	requireNoConnection(t, s.client.Space, address)
	requireConnects(t, s.neighbor.Space, address)
	remove()
	requireConnects(t, s.client.Space, address)
}

// testNoSNAT: with noSNAT, a host outside the cluster sees Pods' own addresses, and without it again their Node's.
func testNoSNAT(t *testing.T, s *suite) {
	outside := netip.AddrPortFrom(s.internet(), egressPort)
	var l net.Listener
	require.NoError(t, s.Internet.Do(func() (err error) {
		l, err = net.Listen("tcp4", outside.String())
		return err
	}))
	defer l.Close()
	go sayWho(l)
	route := []string{s.node1.PodCIDR.String(), "via", s.node1.IP.String()}
	succeeds(t, s.Fabric, append([]string{"ip", "route", "add"}, route...)...)
	defer succeeds(t, s.Fabric, append([]string{"ip", "route", "del"}, route...)...)
	set := func(noSNAT bool) {
		require.NoError(t, s.node1.WriteAgentConfig(func(conf map[string]any) { conf["noSNAT"] = noSNAT }))
		s.restartAgent(t, s.node1)
	}
	require.Equal(t, s.node1.IP, seenAs(t, s.client.Space, outside))
	set(true)
	s.eventuallySeenAs(t, s.client.Space, outside, s.client.IP)
	set(false)
	s.eventuallySeenAs(t, s.client.Space, outside, s.node1.IP)
}

// testNoEgress: the status of an Egress says that this mode has none, and its Pods keep the address of their Node.
func testNoEgress(t *testing.T, s *suite) {
	outside := s.askWhoOutside(t)
	s.label(t, s.client, map[string]string{"egress": "none"})
	defer s.label(t, s.client, nil)
	none := s.createStaticEgress(t, "none", "none", netip.MustParseAddr("192.168.77.200"))
	eventually(t, "the Egress to say that this mode has none", func() error {
		shown, err := none.egresses.Get(t.Context(), none.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		e, err := crd.Read[v1beta1.Egress](shown)
		if err == nil && (len(e.Status.Conditions) != 1 || !strings.Contains(e.Status.Conditions[0].Message, "Egress needs trafficEncapMode encap without encryption, but is noEncap")) {
			err = notYet(fmt.Sprintf("its conditions are %+v", e.Status.Conditions))
		}
		return err
	})
	require.Equal(t, s.node1.IP, seenAs(t, s.client.Space, outside))
}

// testMovingNode moves the second Node to another subnet, behind a router, and back, under traffic: packets go through the tunnel while it is there,
// and established connections continue.
func testMovingNode(t *testing.T, s *suite) {
	near := s.node2.IP
	far, router := s.secondSubnet(t)
	r := s.startStream(t)
	for range 2 {
		s.moveNode2(t, far, router)
		r.requireFlowing(t)
		r.waitFastIfGate(t)
		s.requireMode(t, "encap")
		s.moveNode2(t, near, cluster.FabricGateway)
		r.requireFlowing(t)
		r.waitFastIfGate(t)
		s.requireMode(t, "noEncap")
	}
	r.end(t, 1<<30) // the Node was not reachable at times; TCP has lost nothing
}

// secondSubnet adds a subnet to the network, behind a router, for the time of the test: an address in it, and the router's. The second Node returns
// from there at the end.
func (s *suite) secondSubnet(t *testing.T) (address, router netip.Addr) {
	t.Helper()
	home, gateway := s.node2.IP, netip.MustParseAddr("192.168.78.1")
	succeeds(t, s.Fabric, "ip", "address", "add", gateway.String()+"/24", "dev", "fabric0")
	t.Cleanup(func() {
		if s.node2.IP != home { // a failure must not move it for the areas that follow
			s.moveNode2(t, home, cluster.FabricGateway)
		}
		succeeds(t, s.Fabric, "ip", "address", "del", gateway.String()+"/24", "dev", "fabric0")
	})
	return netip.MustParseAddr("192.168.78.12"), gateway
}

// moveNode2 gives the second Node another address, which it reaches the others from through the gateway.
func (s *suite) moveNode2(t *testing.T, to, gateway netip.Addr) {
	t.Helper()
	require.NoError(t, s.node2.StopAgent())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout) // cleanups call it
	defer cancel()
	require.NoError(t, s.node2.Move(ctx, to, gateway))
	s.startAgent(t, s.node2)
	s.waitRoundsComplete(t)
}

// noRoute stands for no route in requireOwnRoutes.
const noRoute = ""

// requireOwnRoutes waits until the agent's only route to the Pod network is this one.
func requireOwnRoutes(t *testing.T, n *cluster.Node, to netip.Prefix, route string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the route of %s to %s to be %q", n.Name, to, route), func() error {
		routes := strings.TrimSpace(succeeds(t, n.Space, "ip", "route", "show", "exact", to.String()))
		if strings.Contains(routes, "\n") || !strings.Contains(routes, route) || (route == noRoute) != (routes == "") {
			return fmt.Errorf("it is %q", routes)
		}
		return nil
	})
}
