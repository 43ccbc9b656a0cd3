// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testNetworkPolicy checks that policies decide which connections can be opened, and that they leave open connections
// alone.
func testNetworkPolicy(t *testing.T, s *suite) {
	for app, p := range map[string]*cluster.Pod{"client": s.client, "neighbor": s.neighbor, "server": s.server} {
		s.label(t, p, map[string]string{"app": app})
	}
	defer s.label(t, s.server, nil) // on another path another Pod is the server
	startSink(t, s.server.Space)
	t.Run("AllowedPeerAndPort", func(t *testing.T) { testAllowedPeerAndPort(t, s) })
	t.Run("OpenConnectionsStayAndNewOnesDoNot", func(t *testing.T) { testOpenConnectionsStay(t, s) })
	t.Run("Statistics", func(t *testing.T) { testPolicyStatistics(t, s) })
	if !s.path.service { // it is about the address of the server, and a port that no path's Service has
		t.Run("HeldAnswers", func(t *testing.T) { testHeldAnswers(t, s) })
	}
	if s.path != direct && !all { // the others restart agents or are about one packet
		return
	}
	t.Run("Egress", func(t *testing.T) {
		remove := s.applyPolicy(t, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "no-egress"},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: *selector("client"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			},
		})
		requireNoConnection(t, s.client.Space, s.address(sinkPort))
		requireConnects(t, s.neighbor.Space, s.address(sinkPort))
		remove()
	})
	if s.oncache && s.path == direct && s.mode == "" { // it is about the server's Node, which sees no Service, and packets from the tunnel
		t.Run("StaleMegaflowsTeachNothing", func(t *testing.T) { testStaleMegaflows(t, s) })
	}
	if all { // agents report once a minute
		t.Run("ClusterStatistics", func(t *testing.T) { testClusterStatistics(t, s) })
	}
	if s.path == direct { // it is about the addresses of the two Pods
		t.Run("AuditLog", func(t *testing.T) { testAuditLog(t, s) })
	}
	t.Run("CutConnections", func(t *testing.T) { testCutConnections(t, s) })
	t.Run("AgentRestart", func(t *testing.T) { testPolicyOverAgentRestart(t, s) })
}

func testAllowedPeerAndPort(t *testing.T, s *suite) {
	remove := s.applyPolicy(t, ingressTo("allow-client", "server", networkingv1.NetworkPolicyIngressRule{
		From:  []networkingv1.NetworkPolicyPeer{{PodSelector: selector("client")}},
		Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(sinkPort))}},
	}))
	require.Len(t, antctl[[]any](t, s.server.Node, "get", "networkpolicy", "-S", "allow-client", "-n", namespace), 1)
	requireConnects(t, s.client.Space, s.address(sinkPort))
	requireNoConnection(t, s.neighbor.Space, s.address(sinkPort))
	requireNoConnection(t, s.client.Space, s.address(closedPort))
	requireConnects(t, s.server.Node.Space, netip.AddrPortFrom(s.server.IP, sinkPort)) // its own Node is always allowed
	explained := func(from *cluster.Pod) (path, policy string) {
		e := antctl[api.Explanation](t, s.server.Node, "oncache", "explain", "--from="+namespace+"/"+from.PodName, "--to="+namespace+"/"+s.server.PodName, fmt.Sprint("--port=", sinkPort))
		return e.Path, e.Ingress.Policy
	}
	path, policy := explained(s.client)
	require.NotEqual(t, api.PathDenied, path)
	require.Equal(t, namespace+"/allow-client", policy)
	path, policy = explained(s.neighbor)
	require.Equal(t, api.PathDenied, path)
	require.Empty(t, policy)

	// A peer's label counts, not its name.
	s.label(t, s.neighbor, map[string]string{"app": "client"})
	s.waitPeers(t, "allow-client", 2)
	requireConnects(t, s.neighbor.Space, s.address(sinkPort))
	s.label(t, s.neighbor, map[string]string{"app": "neighbor"})
	s.waitPeers(t, "allow-client", 1)
	requireNoConnection(t, s.neighbor.Space, s.address(sinkPort))
	remove()
}

func testOpenConnectionsStay(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	s.waitPossible(t, s.client, 4710)
	f := s.flow("UDP", 4701, udpEchoPort)
	open := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=100", "--progress=100ms")
	waitReceived(t, open, 100, patience)
	s.waitFastIfGate(t, f)

	remove := s.applyPolicy(t, ingressTo("deny", "server"))
	s.waitFastIfGate(t, f)
	waitReceived(t, open, lastReceived(open)+100, patience)
	port := uint16(4730)
	eventually(t, "new connections to be refused", func() error {
		port++
		if p := s.newPing(t, s.client, port); p.Sent == 0 || p.Received > 0 {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	requireNoConnection(t, s.client.Space, s.address(sinkPort))

	remove()
	s.waitPossible(t, s.client, 4750)
	requireNoLoss(t, stop[report.Ping](t, open))
}

// testPolicyStatistics checks that a rule counts the packets of both paths.
func testPolicyStatistics(t *testing.T, s *suite) {
	s.applyPolicy(t, ingressTo("count", "server", networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("client")}},
	}))
	startEcho(t, s.server.Space, s.server.IP)
	f := s.flow("UDP", 4730, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=100", "--progress=100ms")
	waitReceived(t, ping, 200, patience)
	s.waitFastIfGate(t, f)
	eventually(t, "the rule to have counted the connection", func() error {
		p, err := s.policyOn(t, s.server.Node, "count")
		if err != nil {
			return err
		}
		counted := p.Realized[0].Stats
		if counted == nil || counted.Sessions == 0 || counted.Packets < 200 || (counted.FastPackets > 0) != s.oncache {
			return fmt.Errorf("%+v", counted)
		}
		return nil
	})
	requireNoLoss(t, stop[report.Ping](t, ping))
	s.requireWholeStreamCounted(t, "count")
}

// requireWholeStreamCounted sends a stream to the sink of the area that ends between two readings of the cache, and waits until the rule has counted
// all of it.
func (s *suite) requireWholeStreamCounted(t *testing.T, policy string) {
	t.Helper()
	stats := func() (apis.RuleStats, error) {
		p, err := s.policyOn(t, s.server.Node, policy)
		if err != nil || p.Realized[0].Stats == nil {
			return apis.RuleStats{}, err
		}
		return *p.Realized[0].Stats, nil
	}
	before, err := stats()
	require.NoError(t, err)
	f := s.flow("TCP", 4733, sinkPort)
	sent := runTraffic[report.Send](t, s.client.Space, execTimeout, "tcp-send", f.from(), f.to(), "--bytes=5000000", "--rate=2500000")
	require.EqualValues(t, 5000000, sent.Bytes)
	eventually(t, "the rule to have counted the whole stream", func() error {
		after, err := stats()
		if err != nil {
			return err
		}
		if after.Bytes-before.Bytes < 5000000 || s.oncache && after.FastBytes-before.FastBytes < 4000000 {
			return fmt.Errorf("before %+v, now %+v", before, after)
		}
		return nil
	})
}

// testPolicyOverAgentRestart checks that a policy holds while the agent is stopped and after its restart.
func testPolicyOverAgentRestart(t *testing.T, s *suite) {
	remove := s.applyPolicy(t, ingressTo("deny", "server"))
	require.NoError(t, s.server.Node.StopAgent())
	requireNoConnection(t, s.client.Space, s.address(sinkPort))
	require.NoError(t, s.server.Node.StartAgent())
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	require.NoError(t, s.server.Node.WaitAgentReady(ctx))
	requireNoConnection(t, s.client.Space, s.address(sinkPort))
	remove()
	requireConnects(t, s.client.Space, s.address(sinkPort))
}

// testCutConnections checks networkPolicy.establishedConnections: cut. An open connection must end when policies forbid it,
// on both paths, and continue when they allow it again. Others must be left alone.
func testCutConnections(t *testing.T, s *suite) {
	established := func(value string) {
		require.NoError(t, s.server.Node.StopAgent())
		require.NoError(t, s.server.Node.WriteAgentConfig(func(conf map[string]any) {
			conf["networkPolicy"] = map[string]any{"establishedConnections": value}
		}))
		require.NoError(t, s.server.Node.StartAgent())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
		defer cancel()
		require.NoError(t, s.server.Node.WaitAgentReady(ctx))
	}
	established("cut")
	defer established("keep")
	startEcho(t, s.server.Space, s.server.IP)
	s.waitPossible(t, s.client, 4770)
	s.waitPossible(t, s.neighbor, 4770)
	// At this rate the end is known to within a hundredth of a second.
	f := s.flow("UDP", 4720, udpEchoPort)
	forbidden := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=100", "--progress=100ms")
	allowed := start(t, s.neighbor.Space, "udp-ping", f.from(), f.to(), "--rate=100", "--progress=100ms")
	waitReceived(t, forbidden, 100, patience)
	waitReceived(t, allowed, 100, patience)
	s.waitFastIfGate(t, f)

	begun := time.Now()
	remove := s.applyPolicy(t, ingressTo("allow-neighbor", "server", networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("neighbor")}},
	}))
	eventually(t, "the forbidden connection to end", func() error {
		before, other := lastReceived(forbidden), lastReceived(allowed)
		waitReceived(t, allowed, other+100, patience) // a second
		if after := lastReceived(forbidden); after != before {
			return fmt.Errorf("%d replies more", after-before)
		}
		return nil
	})
	realized, err := realizations(s.server.Node, begun)
	require.NoError(t, err)
	require.NotEmpty(t, realized)
	require.False(t, realized[0].enforced, "enforced, but not realized before")
	eventually(t, "the policy to be enforced", func() error {
		p, err := s.policyOn(t, s.server.Node, "allow-neighbor")
		if err == nil && !p.Enforced {
			err = notYet("it is only realized")
		}
		return err
	})
	remove()
	waitReceived(t, forbidden, lastReceived(forbidden)+100, patience)
	requireNoLoss(t, stop[report.Ping](t, allowed))
	end := stop[report.Ping](t, forbidden)
	took := time.Unix(0, end.GapBegan).Sub(realized[0].at)
	printer.Printf("%s: the last packet of the forbidden connection was answered %s after the policy was realized, then none for %.0f ms", t.Name(),
		took.Round(time.Millisecond), end.LongestGapMs)
	require.Less(t, took, cutLimit)
}

// cutLimit is the time for which a connection that policies forbid may continue after they are realized, with
// establishedConnections: cut.
const cutLimit = time.Second

// testStaleMegaflows changes a policy under a continuous flow. Packets that the kernel still forwards by the rules before a
// change must carry the earlier epoch, and the cache must refuse them for that. Stamps normally keep packets from such
// megaflows; here they are made equal behind the tunnel to prevent that.
func testStaleMegaflows(t *testing.T, s *suite) {
	tc := func(words string) {
		succeeds(t, s.node2.Space, append([]string{"tc"}, strings.Fields(strings.ReplaceAll(words, "DEVICE", s.tunnelDevice()))...)...)
	}
	tc("qdisc add dev DEVICE clsact")
	defer tc("qdisc del dev DEVICE clsact")
	tc("filter add dev DEVICE ingress matchall action skbedit mark 0x20000000/0x3ff00000 continue")
	startEcho(t, s.server.Space, s.server.IP)
	s.waitPossible(t, s.client, 4790)
	f := s.flow("UDP", 4704, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=500", "--progress=100ms")
	waitReceived(t, ping, 100, patience)
	s.waitFast(t, f)
	refused := func() (n uint64) {
		for _, program := range oncacheStatus(t, s.node2).Programs {
			n += program["stale_epoch"]
		}
		return n
	}
	before := refused()
	// Megaflows of before the change survive as long as nothing revalidates them.
	succeeds(t, s.node2.Space, "ovs-appctl", "revalidator/pause")
	resume := once(func() { succeeds(t, s.node2.Space, "ovs-appctl", "revalidator/resume") })
	defer resume()
	s.applyPolicy(t, ingressTo("change", "server"))()
	eventually(t, "packets with a former epoch behind Open vSwitch", func() error {
		if refused() == before {
			return notYet("the programs have refused none")
		}
		return nil
	})
	e, err := s.entriesOf(t, f, false)
	require.NoError(t, err)
	require.False(t, e.active(), "learned from a megaflow of before the change: %+v", e)
	resume()
	s.waitFast(t, f)
	requireNoLoss(t, stop[report.Ping](t, ping))
}
