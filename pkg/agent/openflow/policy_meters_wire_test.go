// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// reportingRules are rules of Pod A, or of Pod B with the next ids, whose decisions are reported: a port for each kind.
func reportingRules(first uint32, pod policy.Pod) []*policy.Rule {
	at := func(r *policy.Rule, action policy.Action) *policy.Rule {
		return orderedRule(oftest.Logged(r), action, 5, int32(r.FlowID))
	}
	k8s := oftest.Logged(oftest.Ingress(first+4, pod, oftest.Everybody, oftest.Tcp(83), oftest.Tcp(84)))
	k8s.LogReference = "K8sNetworkPolicy:shop/web"
	return []*policy.Rule{
		at(oftest.Ingress(first, pod, oftest.Everybody, oftest.Tcp(80)), policy.Allow), at(oftest.Ingress(first+1, pod, oftest.Everybody, oftest.Tcp(81)), policy.Drop),
		at(oftest.Ingress(first+2, pod, oftest.Everybody, oftest.Tcp(82)), policy.Reject), at(oftest.Ingress(first+3, pod, oftest.Everybody, oftest.Tcp(83)), policy.Pass),
		k8s,
		at(oftest.Egress(first+5, pod, oftest.Everybody, oftest.Tcp(82)), policy.Reject), at(oftest.Egress(first+6, pod, oftest.Everybody, oftest.Tcp(80)), policy.Allow),
	}
}

// The meters of one Pod take reports of its packets only, whether it has sent them or gets them, and of none of the others. They change no verdict.
func TestWireMetersOfPods(t *testing.T) { eachDatapath(t, testMetersOfPods) }

func testMetersOfPods(t *testing.T, w *wire) {
	packets := listen(t, w)
	require.NoError(t, w.C.UpdatePolicyRules(append(reportingRules(10, oftest.PolicyPodA), reportingRules(20, oftest.PolicyPodB)...), nil))
	for _, meter := range w.podMeters(oftest.PodAPort) {
		w.onePacketASecond(meter)
	}
	w.settle()
	const each = 30
	seen := map[uint32]int{}
	for i := range each {
		from := func(port int) segment {
			return segment{withPort(oftest.PodAIP, 1000+i), withPort(oftest.RemotePodIP, port), "S"}
		}
		to := func(pod policy.Pod, port int) segment {
			return segment{withPort(oftest.RemotePodIP, 1000+i), withPort(pod.IPs[0], port), "S"}
		}
		w.pass(oftest.PodAPort, from(80), oftest.TunnelPort, from(80))
		w.send(oftest.PodAPort, from(82))
		for _, allowed := range []int{80, 83, 84} {
			w.pass(oftest.TunnelPort, to(oftest.PolicyPodA, allowed), oftest.PodAPort, to(oftest.PolicyPodA, allowed))
		}
		for _, denied := range []int{81, 82, 85} {
			w.send(oftest.TunnelPort, to(oftest.PolicyPodA, denied))
		}
		// Every other packet of the other Pod is reported.
		before := seen[oftest.PodBPort]
		w.pass(oftest.TunnelPort, to(oftest.PolicyPodB, 80), oftest.PodBPort, to(oftest.PolicyPodB, 80))
		w.send(oftest.TunnelPort, to(oftest.PolicyPodB, []int{81, 82, 85}[i%3]))
		for seen[oftest.PodBPort] < before+2 {
			seen[packets().PodPort]++
		}
	}
	require.False(t, w.links[oftest.PodAPort].pending(), "a denied packet has passed")
	require.False(t, w.links[oftest.TunnelPort].pending(), "a denied packet has passed")
	require.Less(t, seen[oftest.PodAPort], 8*each/2)
	stats := w.policyStats()
	require.Eventually(t, func() bool {
		stats = w.policyStats()
		return stats[10].Sessions == each && stats[11].Sessions == each && stats[12].Sessions == each && stats[15].Sessions == each && stats[16].Sessions == each
	}, 20*time.Second, 50*time.Millisecond, "%+v", &stats)
	require.Eventually(t, func() bool {
		dropped, err := w.C.DroppedByMeters(t.Context())
		return err == nil && dropped["PacketInMeterNetworkPolicy"] > each
	}, 20*time.Second, 50*time.Millisecond)
}

var meterOf = regexp.MustCompile(`\bmeter:(\d+)`)

// podMeters returns the meters of what policies report about the packets from a Pod, and to it.
func (w *wire) podMeters(ofPort uint32) []string {
	return []string{w.meterAt(pipeline.PriorityHigh, fmt.Sprintf("in_port=%d", ofPort)), w.meterAt(pipeline.PriorityNormal, fmt.Sprintf("reg1=%#x", ofPort))}
}

// meterAt returns the meter of the packets whose match ends in match.
func (w *wire) meterAt(priority int, match string) string {
	w.T.Helper()
	table := fmt.Sprintf("table=%d", tableID(w.C, pipeline.TablePacketInMeter))
	for line := range strings.Lines(w.Ofctl("--no-names", "dump-flows", oftest.BridgeName, table)) {
		if strings.Contains(line, fmt.Sprintf("priority=%d,", priority)) && strings.Contains(line, ","+match+" ") {
			return meterOf.FindStringSubmatch(line)[1]
		}
	}
	require.Fail(w.T, "no meter", "priority %d, %s", priority, match)
	return ""
}

// onePacketASecond makes a meter let no more pass.
func (w *wire) onePacketASecond(meter string) {
	w.Ofctl("-O", "OpenFlow15", "mod-meter", oftest.BridgeName, fmt.Sprintf("meter=%s,pktps,burst,band=type=drop,rate=1,burst_size=1", meter))
}

// A Pod that floods a Service without Endpoints uses up its own meter. Every connection of the host and of another Pod is reported, whatever policies
// report about the first.
func TestWireMetersOfPodsWithoutEndpoints(t *testing.T) {
	eachDatapath(t, testMetersOfPodsWithoutEndpoints)
}

func testMetersOfPodsWithoutEndpoints(t *testing.T, w *wire) {
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, sw.Close()) }()
	rejects, err := sw.PacketIns(t.Context(), openflow.ServiceRejectController, 100, nil)
	require.NoError(t, err)
	w.install(oftest.ClusterPort())
	w.onePacketASecond(w.meterAt(pipeline.PriorityHigh+1, fmt.Sprintf("in_port=%d", oftest.PodAPort)))
	for _, meter := range w.podMeters(oftest.PodBPort) {
		w.onePacketASecond(meter)
	}
	w.settle()
	const each = 30
	began := time.Now()
	seen := map[uint32]int{}
	for i := range each {
		for port, client := range map[uint32]netip.Addr{oftest.PodAPort: oftest.PodAIP, oftest.PodBPort: oftest.PodBIP, oftest.GWPort: oftest.GWIP} {
			w.send(port, segment{withPort(client, 1000+i), oftest.ClusterIP.String(), "S"})
		}
		for seen[oftest.PodBPort] <= i || seen[oftest.GWPort] <= i {
			select {
			case <-rejects.Ready():
				p := rejects.Next()
				seen[p.InPort()]++
			case <-time.After(20 * time.Second):
				require.Fail(t, "not reported", "round %d: %v", i, seen)
			}
		}
	}
	allowed := 2 + int(time.Since(began)/time.Second) // one at once, and one a second
	require.LessOrEqual(t, seen[oftest.PodAPort], allowed)
	require.False(t, w.links[oftest.TunnelPort].pending(), "a packet without Endpoint is forwarded")
	require.Eventually(t, func() bool {
		dropped, err := w.C.DroppedByMeters(t.Context())
		return err == nil && dropped["PacketInMeterServiceReject"] >= uint64(max(0, each-allowed)) && dropped["PacketInMeterNetworkPolicy"] == 0
	}, 20*time.Second, 50*time.Millisecond)
}

// The meters of Pods are at most as many as there were Pods at a time, whatever their ports, and a Pod that stays keeps its own.
func TestMetersOfPodsAreUsedAgain(t *testing.T) {
	features := oftest.ProxyAllFeatures
	features.PacketInRate = 1000
	c, fake := oftest.NewTestClient(t, features)
	require.NoError(t, oftest.InstallPodA(c))
	own := func() (own []string) {
		for _, flow := range fake.Flows() {
			if flow.Table == tableID(c, pipeline.TablePacketInMeter) && (strings.HasSuffix(flow.Key(), "in_port=11") || strings.HasSuffix(flow.Key(), "reg1=0xb")) {
				own = append(own, flow.String())
			}
		}
		return own
	}
	mine := own()
	require.Len(t, mine, 3)
	for i := range 50 {
		name, addr := fmt.Sprint("pod-", i), oftest.NthPeer(i)
		require.NoError(t, c.InstallPodFlows(t.Context(), name, []netip.Addr{addr}, net.HardwareAddr{10, 0, 0, 0, 1, byte(i)}, uint32(100+i)))
		require.Equal(t, mine, own())
		require.NoError(t, c.UninstallPodFlows(t.Context(), name))
	}
	meters, err := fake.DumpMeters(t.Context())
	require.NoError(t, err)
	var pods []of.MeterEntry
	for _, m := range meters {
		if m.ID >= pipeline.MeterReports {
			pods = append(pods, m)
		}
	}
	require.Equal(t, []of.MeterEntry{
		{ID: 16384, Rate: 100, Burst: 200}, {ID: 16385, Rate: 100, Burst: 200}, {ID: 16386, Rate: 100, Burst: 200},
		{ID: 16387, Rate: 100, Burst: 200}, {ID: 16388, Rate: 100, Burst: 200},
		{ID: 32768, Rate: 100, Burst: 200}, {ID: 32769, Rate: 100, Burst: 200}, {ID: 32770, Rate: 100, Burst: 200},
	}, pods)
}
