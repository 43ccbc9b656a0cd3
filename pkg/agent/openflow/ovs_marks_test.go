// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyCacheablePacketsAreMarked(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for _, test := range []struct {
		name, packet string
		ct           []string
		want         uint32
	}{
		{"Pod to remote Pod, opened by the Pod", podAToRemote + ",ct_mark=3", []string{ctEstablished}, 7},
		{"Pod to remote Pod, opened from the tunnel", podAToRemote + ",ct_mark=1", []string{ctReply}, 7},
		{"remote Pod to Pod, opened by the Pod", remoteToPodA + ",ct_mark=3", []string{ctReply}, 7},
		{"remote Pod to Pod, opened from the tunnel", remoteToPodA + ",ct_mark=1", []string{ctEstablished}, 7},
		{"Pod to remote Pod, through a Service", podAToRemote + ",ct_mark=0x13", []string{ctEstablished}, 7},
		{"remote Pod to Pod, through a Service", remoteToPodA + ",ct_mark=0x13", []string{ctReply}, 7},
		{"the ticket's bits are kept", podAToRemote + ",ct_mark=3,pkt_mark=0xf3f00", []string{ctEstablished}, 7},
		{"an old epoch on the packet is replaced", podAToRemote + ",ct_mark=3,pkt_mark=0x3ff00000", []string{ctEstablished}, 7},
		{"other Pod has its own epoch", strings.NewReplacer(podAIP.String(), podBIP.String()).Replace(remoteToPodA) + ",ct_mark=1", []string{ctEstablished}, 8},

		{"new, out", podAToRemote, []string{ctNew, ctNew}, epochUnset},
		{"new, in", remoteToPodA, []string{ctNew, ctNew}, epochUnset},
		{"new, and committed meanwhile", podAToRemote, []string{ctNew, ctEstablished}, epochUnset},
		{"related", podAToRemote + ",ct_mark=3", []string{"trk,rel"}, epochUnset},
		{"established and related", podAToRemote + ",ct_mark=3", []string{"trk,est,rel"}, epochUnset},
		{"not committed", podAToRemote, []string{ctEstablished}, epochUnset},
		{"opened from the gateway", gwToRemote + ",ct_mark=2", []string{ctEstablished}, epochUnset},
		{"Pod to remote Pod, opened through the gateway", remoteToPodA + ",ct_mark=2", []string{ctEstablished}, epochUnset},
		{"to a Service, opened from the tunnel, out", podAToRemote + ",ct_mark=0x11", []string{ctReply}, epochUnset},
		{"to a Service, opened from the tunnel, in", remoteToPodA + ",ct_mark=0x11", []string{ctEstablished}, epochUnset},
		{"to a Service, opened from the gateway", remoteToPodA + ",ct_mark=0x12", []string{ctReply}, epochUnset},
		{"to a Service, not let pass", podAToRemote + ",ct_mark=0x10", []string{ctEstablished}, epochUnset},
		{"to a Service, SNAT", podAToRemote + ",ct_mark=0x33", []string{ctEstablished}, epochUnset},
		{"to a Service, hairpin", podAToRemote + ",ct_mark=0x73", []string{ctEstablished}, epochUnset},
		{"SNAT", podAToRemote + ",ct_mark=0x23", []string{ctEstablished}, epochUnset},
		{"hairpin", podAToRemote + ",ct_mark=0x43", []string{ctEstablished}, epochUnset},
		{"L7", podAToRemote + ",ct_mark=0x83", []string{ctEstablished}, epochUnset},
		{"opened by an uplink", podAToRemote + ",ct_mark=4", []string{ctEstablished}, epochUnset},
		{"opened by a bridge port", podAToRemote + ",ct_mark=5", []string{ctEstablished}, epochUnset},
		{"Pod to gateway", podAToGW + ",ct_mark=3", []string{ctEstablished}, epochUnset},
		{"Pod to the world", podAToWorld + ",ct_mark=3", []string{ctEstablished}, epochUnset},
		{"gateway to Pod", gwToPodA + ",ct_mark=3", []string{ctReply}, epochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			require.Equal(t, test.want, w.epoch(), w.text)
			if test.want != epochUnset {
				require.Equal(t, 1, w.recirculations, "one translation for verdict and mark")
				require.NotContains(t, w.text, "Datapath actions: drop")
			}
		})
	}
	t.Run("other bits of the packet mark stay", func(t *testing.T) {
		w := b.trace(podAToRemote+",ct_mark=3,pkt_mark=0xc00f3fff", ctEstablished)
		require.Contains(t, w.finalFlow(), "pkt_mark=0xc07f3fff")
	})
	t.Run("after removal nothing is marked", func(t *testing.T) {
		require.NoError(t, b.c.UninstallMarkFlows([]string{"pod-a"}))
		require.Zero(t, b.trace(podAToRemote+",ct_mark=3", ctEstablished).epoch())
		require.NotZero(t, b.trace(strings.ReplaceAll(remoteToPodA, podAIP.String(), podBIP.String())+",ct_mark=3", ctReply).epoch())
	})
}

// TestLocalPacketsHaveTwoEpochs: an established packet from one Pod of the Node to another one leaves with the sender's epoch in the
// packet mark and the receiver's as its queue, decided in one translation. No other packet has either.
func TestLocalPacketsHaveTwoEpochs(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	podBToPodA := fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", podBPort, podBMAC, podAMAC, podBIP, podAIP)
	for _, test := range []struct {
		name, packet string
		ct           []string
		epoch, queue uint32
	}{
		{"opened by the sender", podAToPodB + ",ct_mark=3", []string{ctEstablished}, 7, 8},
		{"answer", podBToPodA + ",ct_mark=3", []string{ctReply}, 8, 7},
		{"UDP", strings.Replace(podAToPodB, "tcp", "udp", 1) + ",ct_mark=3", []string{ctEstablished}, 7, 8},
		{"Service connection", strings.Replace(podAToPodB, podBMAC.String(), gwMAC.String(), 1) + ",ct_mark=0x13", []string{ctEstablished}, 7, 8},
		{"answer of a Service connection", podBToPodA + ",ct_mark=0x13", []string{ctReply}, 8, 7},
		{"ticket and stamp", podAToPodB + ",ct_mark=3,pkt_mark=0x2a5f3f00", []string{ctEstablished}, 7, 8},
		{"to a remote Pod", podAToRemote + ",ct_mark=3", []string{ctEstablished}, 7, epochUnset},
		{"from a remote Pod", remoteToPodA + ",ct_mark=3", []string{ctReply}, 7, epochUnset},

		{"new", podAToPodB, []string{ctNew, ctNew}, epochUnset, epochUnset},
		{"new, and committed meanwhile", podAToPodB, []string{ctNew, ctEstablished}, epochUnset, epochUnset},
		{"related", podAToPodB + ",ct_mark=3", []string{"trk,rel"}, epochUnset, epochUnset},
		{"established and related", podAToPodB + ",ct_mark=3", []string{"trk,est,rel"}, epochUnset, epochUnset},
		{"not committed", podAToPodB, []string{ctEstablished}, epochUnset, epochUnset},
		{"opened from the tunnel", podAToPodB + ",ct_mark=1", []string{ctEstablished}, epochUnset, epochUnset},
		{"opened from the gateway", podAToPodB + ",ct_mark=2", []string{ctReply}, epochUnset, epochUnset},
		{"Service connection from the gateway", podAToPodB + ",ct_mark=0x12", []string{ctEstablished}, epochUnset, epochUnset},
		{"Service connection with SNAT", podAToPodB + ",ct_mark=0x33", []string{ctEstablished}, epochUnset, epochUnset},
		{"Service connection with hairpin", podAToPodB + ",ct_mark=0x53", []string{ctEstablished}, epochUnset, epochUnset},
		{"Service connection with L7", podAToPodB + ",ct_mark=0x93", []string{ctEstablished}, epochUnset, epochUnset},
		{"SNAT", podAToPodB + ",ct_mark=0x23", []string{ctEstablished}, epochUnset, epochUnset},
		{"hairpin", podAToPodB + ",ct_mark=0x43", []string{ctEstablished}, epochUnset, epochUnset},
		{"L7", podAToPodB + ",ct_mark=0x83", []string{ctEstablished}, epochUnset, epochUnset},
		{"to the gateway", podAToGW + ",ct_mark=3", []string{ctEstablished}, epochUnset, epochUnset},
		{"to the gateway's MAC address", strings.Replace(podAToPodB, podBMAC.String(), gwMAC.String(), 1) + ",ct_mark=3", []string{ctEstablished}, epochUnset, epochUnset},
		{"from the gateway", gwToPodA + ",ct_mark=3", []string{ctEstablished}, epochUnset, epochUnset},
		{"forged source", strings.Replace(podAToPodB, podAIP.String(), podBIP.String(), 1) + ",ct_mark=3", []string{ctEstablished}, epochUnset, epochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			require.Equal(t, test.epoch, w.epoch(), w.text)
			require.Equal(t, test.queue, w.queue(), w.text)
			if test.queue != epochUnset {
				require.Equal(t, 1, w.recirculations, "one translation for verdict and epochs")
				require.NotContains(t, w.text, "Datapath actions: drop")
				ttl := "nw_ttl=64" // a switch
				if strings.HasSuffix(test.packet, "ct_mark=0x13") {
					ttl = "nw_ttl=63" // a router
					require.Contains(t, w.finalFlow(), "dl_src="+gwMAC.String())
				}
				require.Contains(t, w.finalFlow(), ttl)
			}
		})
	}
	t.Run("one of the two Pods without epoch", func(t *testing.T) {
		require.NoError(t, b.c.UninstallMarkFlows([]string{"pod-a"}))
		require.Zero(t, b.trace(podAToPodB+",ct_mark=3", ctEstablished).epoch())
		w := b.trace(podBToPodA+",ct_mark=3", ctReply)
		require.Zero(t, w.epoch())
		require.Zero(t, w.queue())
	})
}

// TestStampsSeparateMegaflows: a packet's megaflows match its stamp before and after every recirculation, and no packet leaves
// the switch with a stamp.
func TestStampsSeparateMegaflows(t *testing.T) {
	const stamp = 0x2a5
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for name, test := range map[string]struct {
		packet string
		ct     []string
	}{
		"new, from a Pod":               {podAToRemote, []string{ctNew, ctNew}},
		"new, from the tunnel":          {remoteToPodA, []string{ctNew, ctNew}},
		"new, between Pods":             {podAToPodB, []string{ctNew, ctNew}},
		"established, between Pods":     {podAToPodB + ",ct_mark=3", []string{ctEstablished}},
		"new, to the Node":              {podAToGW, []string{ctNew, ctNew}},
		"new, to the world":             {podAToWorld, []string{ctNew, ctNew}},
		"established, from a Pod":       {podAToRemote + ",ct_mark=3", []string{ctEstablished}},
		"established, from the tunnel":  {remoteToPodA + ",ct_mark=1", []string{ctEstablished}},
		"invalid, from a Pod":           {podAToRemote, []string{"trk,inv"}},
		"another protocol, from a Pod":  {strings.Replace(podAToPodB, "tcp", "sctp", 1), []string{ctNew, ctNew}},
		"a fragment, from a Pod":        {strings.Replace(podAToPodB, "tcp", "ip,nw_frag=later", 1), []string{ctNew, ctNew}},
		"a forged source, from a Pod":   {strings.Replace(podAToPodB, podAIP.String(), podBIP.String(), 1), nil},
		"no reply yet, from the tunnel": {remoteToPodA, []string{ctNew, ctEstablished}},
	} {
		t.Run(name, func(t *testing.T) {
			w := b.trace(fmt.Sprintf("%s,pkt_mark=%#x", test.packet, stamp<<20|0x3f00), test.ct...)
			megaflow, _, _ := strings.Cut(w.text[strings.Index(w.text, "\nMegaflow: ")+1:], "\n")
			require.Contains(t, megaflow, fmt.Sprintf("pkt_mark=%#x/0x3ff00000", stamp<<20), w.text)
			final := w.finalFlow()
			require.Regexp(t, fmt.Sprintf("reg8=0x(%x|%x)[0-9a-f]{4}[,)]", stamp, stamp|1<<10), final, w.text)
			require.Contains(t, []uint32{epochUnset, 7, 8}, w.epoch(), w.text)
			require.Regexp(t, "pkt_mark=0x[0-9a-f]*3f00,", final, "the ticket stays: %s", w.text)
		})
	}
}
