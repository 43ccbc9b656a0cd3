// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// orderedRule is a rule of a tier.
func orderedRule(r *policy.Rule, action policy.Action, priority float64, index int32) *policy.Rule {
	r.Effect = policy.Effect{Order: policy.OrderOf(250, priority, index), Action: action}
	return r
}

var moves = flag.Int("moves", 300, "how many rules come between others")

// While rules come and go between other rules, which get other priorities for it, no packet is judged wrongly, and nothing about the other
// rules' Pods is evicted.
func TestWireMovesUnderTraffic(t *testing.T) {
	w := newWire(t, false)
	between := func(id uint32, rng *rand.Rand) *policy.Rule {
		r := oftest.Ingress(id, oftest.PolicyPodB, []netip.Prefix{netip.PrefixFrom(oftest.NthPeer(int(id)), 32)})
		return orderedRule(r, policy.Drop, 5+rng.Float64()/100, 0)
	}
	everywhere := oftest.Prefixes("0.0.0.0/0")
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{
		orderedRule(oftest.Ingress(2, oftest.PolicyPodA, everywhere, oftest.Tcp(80)), policy.Drop, 5, 0),
		orderedRule(oftest.Ingress(3, oftest.PolicyPodA, everywhere, oftest.Tcp(81)), policy.Allow, 5.005, 0),
		orderedRule(oftest.Ingress(4, oftest.PolicyPodA, everywhere, policy.PortRange(6, 80, 81)...), policy.Allow, 5.0051, 0),
		orderedRule(oftest.Ingress(5, oftest.PolicyPodA, everywhere), policy.Drop, 5.01, 0),
	}, nil))
	w.settle()
	first := w.conjunctions()
	rec := &oftest.Recorder{}
	w.C.SetInterceptor(rec)
	done := make(chan error, 1)
	go func() {
		rng := rand.New(rand.NewPCG(34, 0))
		for i := range uint32(*moves) {
			var remove []uint32
			if i > 100 {
				remove = []uint32{10 + rng.Uint32N(i)}
			}
			if err := w.C.UpdatePolicyRules([]*policy.Rule{between(10+i, rng)}, remove); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	packets := 0
	for changing := true; changing || packets < 60; packets++ {
		from := withPort(oftest.RemotePodIP, 5000+packets%50000)
		arrives := segment{from, withPort(oftest.PodAIP, 81), "S"}
		w.send(oftest.TunnelPort, segment{from, withPort(oftest.PodAIP, 80), "S"})
		w.send(oftest.TunnelPort, segment{from, withPort(oftest.PodAIP, 82), "S"})
		w.pass(oftest.TunnelPort, arrives, oftest.PodAPort, arrives)
		select {
		case err := <-done:
			require.NoError(t, err)
			changing = false
		default:
		}
	}
	moved, last := 0, w.conjunctions()
	for id, priority := range first {
		if last[id] != priority {
			moved++
		}
	}
	require.Positive(t, moved, "rules that have moved: %v, %v", first, last)
	for _, change := range rec.Changes {
		require.False(t, change.All)
		require.Subset(t, []string{"pod-b"}, change.Interfaces)
	}
	t.Logf("%d changes while %d packets came; %d of the 4 rules about them have moved", len(rec.Changes), 3*packets, moved)
}

var conjunctionPriority = regexp.MustCompile(`priority=(\d+),conj_id=(\d+)\b`)

// conjunctions returns the priority of each conjunction, by its id.
func (w *wire) conjunctions() map[string]string {
	all := map[string]string{}
	for _, m := range conjunctionPriority.FindAllStringSubmatch(w.Ofctl("dump-flows", oftest.BridgeName), -1) {
		all[m[2]] = m[1]
	}
	return all
}

// A denied packet stays denied when the flow that counts it is lost: each flow of the metric tables is deleted in turn.
func TestWireDenyDoesNotNeedItsCounter(t *testing.T) {
	w := newWire(t, false)
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{
		orderedRule(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(80)), policy.Drop, 5, 0),
		orderedRule(oftest.Egress(3, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(80)), policy.Reject, 5, 0),
	}, nil))
	const refused = "reg0=0x400/0x400,reg3="
	require.Contains(t, w.Ofctl("dump-flows", oftest.BridgeName), refused)
	tables, err := w.C.GetFlowTableStatus(t.Context())
	require.NoError(t, err)
	for _, table := range tables {
		if strings.HasSuffix(table.Name, "Metric") {
			for _, id := range []int{2, 3} {
				w.Ofctl("del-flows", oftest.BridgeName, fmt.Sprintf("table=%d,reg3=%d", table.ID, id))
			}
		}
	}
	require.NotContains(t, w.Ofctl("dump-flows", oftest.BridgeName), refused)
	w.swallow(oftest.PodAPort, segment{"10.10.0.11:5000", "10.10.1.20:80", "S"})
	w.drop(oftest.TunnelPort, segment{"10.10.1.20:5000", "10.10.0.11:80", "S"})
	w.nothingElse(oftest.PodAPort)
}

// Rules with an order report each packet, and an exhausted meter changes no verdict.
func TestWireOrderedRulesReport(t *testing.T) { eachDatapath(t, testOrderedReports) }

func testOrderedReports(t *testing.T, w *wire) {
	packets := listen(t, w)
	rules := []*policy.Rule{
		orderedRule(oftest.Logged(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(80))), policy.Allow, 5, 0),
		orderedRule(oftest.Logged(oftest.Ingress(3, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(81))), policy.Drop, 5, 1),
		orderedRule(oftest.Ingress(4, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(82)), policy.Reject, 5, 2),
		orderedRule(oftest.Logged(oftest.Ingress(5, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(83))), policy.Pass, 5, 3),
		orderedRule(oftest.Ingress(6, oftest.PolicyPodA, oftest.Everybody), policy.Drop, 5, 4),
	}
	require.NoError(t, w.C.UpdatePolicyRules(rules, nil))
	w.settle()
	request := func(source, port int) segment {
		return segment{withPort(oftest.RemotePodIP, source), withPort(oftest.PodAIP, port), "S"}
	}
	arrives := func(s segment) { w.pass(oftest.TunnelPort, s, oftest.PodAPort, s) }
	next := func() string {
		p := packets()
		return fmt.Sprintf("%v %d %d %s %s", p.Action, p.Operations, p.FlowID, p.Table, ends(p.Frame))
	}
	arrives(request(5000, 80))
	require.Equal(t, "Allow 1 2 AntreaPolicyIngressRule 10.10.1.20:5000-10.10.0.11:80", next())
	w.send(oftest.TunnelPort, request(5000, 81))
	require.Equal(t, "Drop 1 3 AntreaPolicyIngressRule 10.10.1.20:5000-10.10.0.11:81", next())
	w.send(oftest.TunnelPort, request(5000, 82))
	require.Equal(t, "Reject 2 4 AntreaPolicyIngressRule 10.10.1.20:5000-10.10.0.11:82", next())
	arrives(request(5000, 83))
	require.Equal(t, "Pass 1 5 AntreaPolicyIngressRule 10.10.1.20:5000-10.10.0.11:83", next())

	w.Ofctl("-O", "OpenFlow15", "mod-meter", oftest.BridgeName, "meter=256,pktps,burst,band=type=drop,rate=1,burst_size=1")
	for i := range 20 {
		w.send(oftest.TunnelPort, request(5100+i, 81))
		w.send(oftest.TunnelPort, request(5100+i, 82))
		arrives(request(5100+i, 80))
		arrives(request(5100+i, 83))
	}
	stats := w.policyStats()
	require.Eventually(t, func() bool { stats = w.policyStats(); return stats[3].Sessions == 21 && stats[4].Sessions == 21 }, 20*time.Second, 50*time.Millisecond, "%+v", &stats)
	require.NotContains(t, stats, uint32(5), "the rule that decides counts")
}

// listen returns a function that waits for the next packet that policies send to the agent.
func listen(t *testing.T, w *wire) func() openflow.PolicyPacket {
	t.Helper()
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	packets, err := sw.PacketIns(t.Context(), openflow.PolicyLogController, 100, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		packets.Close()
		require.NoError(t, sw.Close())
	})
	return func() openflow.PolicyPacket {
		t.Helper()
		select {
		case <-packets.Ready():
			p := packets.Next()
			parsed, err := w.C.ParsePolicyPacket(p)
			require.NoError(t, err)
			return parsed
		case <-time.After(20 * time.Second):
			require.Fail(t, "nothing was sent to the agent")
			return openflow.PolicyPacket{}
		}
	}
}

func (w *wire) policyStats() map[uint32]openflow.PolicyRuleStats {
	w.T.Helper()
	tables, err := w.C.GetFlowTableStatus(w.T.Context())
	require.NoError(w.T, err)
	all, err := openflow.ReadPolicyStats(w.T.Context(), tables, ovsctl.New(w.RunDir, oftest.BridgeName))
	require.NoError(w.T, err)
	return all
}
