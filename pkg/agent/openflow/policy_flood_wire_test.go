// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/auditlog"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

var floodTime = flag.Duration("flood", 2*time.Second, "how long a Pod floods")

// A Pod floods a rule that rejects and logs, through a device, as fast as the machine sends. The agent gets at most the rate and the burst of the
// Pod's meter, its processor time and its memory are bounded, and another Pod gets answers and lines of the log.
func TestWireFloodOfOnePod(t *testing.T) {
	// The thread stays in its new namespace, and ends with the test.
	runtime.LockOSThread()
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0))
	w := newWireOf(t, false, true, oftest.ProxyAllFeatures)
	r := newRefuser(t, w)
	directory := startLog(t, w)
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{
		orderedRule(oftest.Logged(oftest.Egress(21, oftest.PolicyPodA, oftest.Everybody)), policy.Reject, 5, 0),
		orderedRule(oftest.Logged(oftest.Egress(22, oftest.PolicyPodB, oftest.Everybody)), policy.Reject, 5, 0),
	}, nil))
	var received [20]atomic.Int64
	go func() {
		for range r.packetIns.Ready() {
			p := r.packetIns.Next()
			received[min(p.InPort(), 19)].Add(1)
		}
	}()
	heap, began, before := heapMiB(), time.Now(), cost.ProcessorTime(t)
	sent, ended := make(chan flooded, 1), make(chan struct{})
	go func() { sent <- flood(t, w, ended) }()
	answers := 0
	for time.Since(began) < *floodTime || answers == 0 {
		answers += probeUnderFlood(r)
	}
	close(ended)
	f := <-sent
	elapsed := time.Since(began)
	agent := cost.ProcessorTime(t) - before - f.cpu
	t.Logf("%d packets in %v (%.0f a second); to the agent %d, of the other Pod %d; %d answers for the other Pod; %v of the agent's processor time, %+.1f MiB",
		f.packets, elapsed, float64(f.packets)/elapsed.Seconds(), received[oftest.PodAPort].Load(), received[oftest.PodBPort].Load(), answers, agent, heapMiB()-heap)
	require.LessOrEqual(t, received[oftest.PodAPort].Load(), int64(1000+500*(elapsed/time.Second+2)))
	require.Less(t, agent, cost.Factor*(elapsed/2+time.Second))
	require.Less(t, heapMiB()-heap, 64.0)
	require.False(t, w.links[oftest.TunnelPort].pending(), "a rejected packet is forwarded")
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(directory + "/" + auditlog.FileName)
		return err == nil && strings.Contains(string(content), " Reject ") && strings.Contains(string(content), " ns/pod-b ")
	}, 20*time.Second, 50*time.Millisecond, "no line of the other Pod")
}

// flooded counts the packets of a flood and its processor time.
type flooded struct {
	packets int
	cpu     time.Duration
}

// flood sends packets of Pod A, of 1,000 connections, until ended.
func flood(t *testing.T, w *wire, ended <-chan struct{}) (f flooded) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var frames [][]byte
	for i := range 1000 {
		network, transport := segment{withPort(oftest.PodAIP, 1000+i), withPort(oftest.RemotePodIP, 80), "S"}.headers(t)
		eth := &layers.Ethernet{SrcMAC: macs[oftest.PodAPort][0], DstMAC: macs[oftest.PodAPort][1], EthernetType: layers.EthernetTypeIPv4}
		frames = append(frames, serialize(t, eth, network.(gopacket.SerializableLayer), transport))
	}
	for {
		select {
		case <-ended:
			var usage unix.Rusage
			_ = unix.Getrusage(unix.RUSAGE_THREAD, &usage)
			f.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			return f
		default:
		}
		for _, frame := range frames {
			w.links[oftest.PodAPort].inject(frame)
		}
		f.packets += len(frames)
	}
}

// probeUnderFlood requires that Pod B gets an answer to a packet, which it repeats as clients do, and returns 1.
func probeUnderFlood(r *refuser) int {
	r.T.Helper()
	r.nextPort++
	syn := segment{withPort(oftest.PodBIP, r.nextPort), withPort(oftest.RemotePodIP, 80), "S"}
	for began := time.Now(); time.Since(began) < 30*time.Second; {
		r.send(oftest.PodBPort, syn)
		for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if r.links[oftest.PodBPort].pending() {
				require.Equal(r.T, syn.dst, r.next(oftest.PodBPort).src)
				time.Sleep(20 * time.Millisecond)
				return 1
			}
		}
	}
	require.Fail(r.T, "Pod B gets no answer")
	return 0
}
