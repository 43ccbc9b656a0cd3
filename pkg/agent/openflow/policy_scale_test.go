// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// BenchmarkPolicyScale measures many rules of one Node on a real Open vSwitch in user space. All rules share a port and, with one Pod,
// also the Pod.
func BenchmarkPolicyScale(b *testing.B) {
	for _, size := range []struct{ rules, pods int }{{10_000, 100}, {100_000, 100}, {100_000, 1}} {
		b.Run(fmt.Sprintf("rules=%d/pods=%d", size.rules, size.pods), func(b *testing.B) {
			for range b.N {
				measurePolicyScale(b, size.rules, size.pods)
			}
		})
	}
}

func measurePolicyScale(b *testing.B, rules, pods int) {
	bridge := oftest.NewBridge(b, oftest.ONCacheFeatures)
	bridge.InstallAll()
	c, o := bridge.C, bridge.OVS
	rule := func(i int) *policy.Rule {
		pod := oftest.PolicyPodA
		if n := i % pods; n > 0 {
			pod = policy.Pod{InterfaceName: fmt.Sprint("pod-", n), OFPort: uint32(1000 + n), IPs: []netip.Addr{oftest.NthPeer(1<<20 + n)}}
		}
		return oftest.Ingress(uint32(10+i), pod, []netip.Prefix{pipeline.Host(oftest.NthPeer(i))}, oftest.Tcp(80))
	}
	report := func(name string, do func()) { reportTime(b, o, name, do) }
	all := make([]*policy.Rule, rules)
	for i := range all {
		all[i] = rule(i)
	}
	installAll(b, bridge, all)
	report("one-more", func() { require.NoError(b, oftest.Install(rule(rules))(c)) })
	report("one-less", func() { require.NoError(b, c.UpdatePolicyRules(nil, []uint32{10})) })
	// This is the cost of a packet that matches no megaflow, plus the start of ovs-appctl.
	trace := func(name string, peer netip.Addr, allowed bool) {
		var w oftest.Walk
		report(name, func() {
			w = bridge.Trace(oftest.Opening(policy.Connection{Source: peer, Destination: oftest.PodAIP, Protocol: of.IPProtoTCP, DestinationPort: 80}), oftest.CTNew, oftest.CTNew)
		})
		require.Equal(b, allowed, len(w.Outputs) > 0, w.Text)
	}
	trace("trace-first", oftest.NthPeer(pods), true)
	trace("trace-last", oftest.NthPeer(rules-pods), true)
	trace("trace-none", oftest.NthPeer(1<<19), false)
	report("replay", func() { require.NoError(b, c.ReplayFlows(func() {})) })
}

// BenchmarkTierScale measures rules of tiers that have the same group of addresses on a real Open vSwitch in user space, at one place in the order
// or each at its own, ten to a policy: all rules, one more rule, one more address, and one more Pod that they apply to.
func BenchmarkTierScale(b *testing.B) {
	for _, size := range []struct{ rules, places, addresses int }{{100, 1, 10_000}, {250, 1, 10_000}, {1000, 1, 1000}, {40, 40, 10_000}, {1000, 1000, 400}, {10_000, 10_000, 40}} {
		b.Run(fmt.Sprintf("rules=%d/places=%d/addresses=%d", size.rules, size.places, size.addresses), func(b *testing.B) {
			for range b.N {
				measureTierScale(b, size.rules, size.places, size.addresses)
			}
		})
	}
}

func measureTierScale(b *testing.B, rules, places, addresses int) {
	bridge := oftest.NewBridge(b, oftest.ONCacheFeatures)
	bridge.InstallAll()
	peers := make([]netip.Prefix, addresses+1)
	for i := range peers {
		peers[i] = pipeline.Host(oftest.NthPeer(i))
	}
	rule := func(i int, peers []netip.Prefix, pods ...policy.Pod) *policy.Rule {
		r := orderedRule(oftest.Ingress(uint32(10+i), oftest.PolicyPodA, peers, oftest.Tcp(uint16(1000+i))), policy.Drop, float64(1+i%places/10), int32(i%places%10))
		r.AppliedTo = append(r.AppliedTo, pods...)
		return r
	}
	all := func(addresses int, pods ...policy.Pod) (all []*policy.Rule) {
		for i := range rules {
			all = append(all, rule(i, peers[:addresses], pods...))
		}
		return all
	}
	installAll(b, bridge, all(addresses))
	reportTime(b, bridge.OVS, "one-more", func() {
		require.NoError(b, bridge.C.UpdatePolicyRules([]*policy.Rule{rule(rules, peers[:addresses])}, nil))
	})
	reportTime(b, bridge.OVS, "one-less", func() { require.NoError(b, bridge.C.UpdatePolicyRules(nil, []uint32{uint32(10 + rules)})) })
	reportTime(b, bridge.OVS, "address", func() { require.NoError(b, bridge.C.UpdatePolicyRules(all(addresses+1), nil)) })
	reportTime(b, bridge.OVS, "pod", func() { require.NoError(b, bridge.C.UpdatePolicyRules(all(addresses+1, oftest.PolicyPodB), nil)) })
}

// installAll reports what all rules cost.
func installAll(b *testing.B, bridge *oftest.Bridge, all []*policy.Rule) {
	heap, resident := heapMiB(), residentMiB(b, bridge.OVS)
	reportTime(b, bridge.OVS, "install", func() { require.NoError(b, bridge.C.UpdatePolicyRules(all, nil)) })
	b.ReportMetric(heapMiB()-heap, "agent-MiB")
	b.ReportMetric(residentMiB(b, bridge.OVS)-resident, "vswitchd-MiB")
	flows := 0
	status, err := bridge.C.GetFlowTableStatus(b.Context())
	require.NoError(b, err)
	for _, table := range status {
		flows += table.FlowCount
	}
	b.ReportMetric(float64(flows), "flows")
}

// reportTime reports the time that do takes, and the processor time of what is large.
func reportTime(b *testing.B, o *ovstest.OVS, name string, do func()) {
	began, agent, vswitchd := time.Now(), cost.ProcessorTime(b), vswitchdTime(b, o)
	do()
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, name+"-ms")
	if name != "one-less" && !strings.HasPrefix(name, "trace") {
		b.ReportMetric(float64((cost.ProcessorTime(b) - agent).Milliseconds()), name+"-agent-cpu-ms")
		b.ReportMetric(float64((vswitchdTime(b, o) - vswitchd).Milliseconds()), name+"-vswitchd-cpu-ms")
	}
}

func heapMiB() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / (1 << 20)
}

var residentSize = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// residentMiB is the memory of ovs-vswitchd.
func residentMiB(b *testing.B, o *ovstest.OVS) float64 {
	kib, err := strconv.Atoi(residentSize.FindStringSubmatch(vswitchdFile(b, o, "status"))[1])
	require.NoError(b, err)
	return float64(kib) / 1024
}

// vswitchdTime is the CPU time of ovs-vswitchd (proc(5), utime and stime, in hundredths of a second).
func vswitchdTime(b *testing.B, o *ovstest.OVS) time.Duration {
	_, rest, _ := strings.Cut(vswitchdFile(b, o, "stat"), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// vswitchdFile reads a file of ovs-vswitchd in /proc.
func vswitchdFile(b *testing.B, o *ovstest.OVS, name string) string {
	pid, err := os.ReadFile(filepath.Join(o.RunDir, "ovs-vswitchd.pid"))
	require.NoError(b, err)
	content, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), name))
	require.NoError(b, err)
	return string(content)
}
