// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

func TestOnlyCacheablePacketsAreMarked(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	for _, test := range []struct {
		name, packet string
		ct           []string
		want         uint32
	}{
		{"Pod to remote Pod, opened by the Pod", oftest.PodAToRemote + ",ct_mark=3", []string{oftest.CTEstablished}, 7},
		{"Pod to remote Pod, opened from the tunnel", oftest.PodAToRemote + ",ct_mark=1", []string{oftest.CTReply}, 7},
		{"remote Pod to Pod, opened by the Pod", oftest.RemoteToPodA + ",ct_mark=3", []string{oftest.CTReply}, 7},
		{"remote Pod to Pod, opened from the tunnel", oftest.RemoteToPodA + ",ct_mark=1", []string{oftest.CTEstablished}, 7},
		{"Pod to remote Pod, through a Service", oftest.PodAToRemote + ",ct_mark=0x13", []string{oftest.CTEstablished}, 7},
		{"remote Pod to Pod, through a Service", oftest.RemoteToPodA + ",ct_mark=0x13", []string{oftest.CTReply}, 7},
		{"the ticket's bits are kept", oftest.PodAToRemote + ",ct_mark=3,pkt_mark=0xf3f00", []string{oftest.CTEstablished}, 7},
		{"an old epoch on the packet is replaced", oftest.PodAToRemote + ",ct_mark=3,pkt_mark=0x3ff00000", []string{oftest.CTEstablished}, 7},
		{"other Pod has its own epoch", strings.NewReplacer(oftest.PodAIP.String(), oftest.PodBIP.String()).Replace(oftest.RemoteToPodA) + ",ct_mark=1", []string{oftest.CTEstablished}, 8},

		{"new, out", oftest.PodAToRemote, []string{oftest.CTNew, oftest.CTNew}, oftest.EpochUnset},
		{"new, in", oftest.RemoteToPodA, []string{oftest.CTNew, oftest.CTNew}, oftest.EpochUnset},
		{"new, then committed by another packet", oftest.PodAToRemote, []string{oftest.CTNew, oftest.CTEstablished}, oftest.EpochUnset},
		{"related", oftest.PodAToRemote + ",ct_mark=3", []string{"trk,rel"}, oftest.EpochUnset},
		{"established and related", oftest.PodAToRemote + ",ct_mark=3", []string{"trk,est,rel"}, oftest.EpochUnset},
		{"not committed", oftest.PodAToRemote, []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"opened from the gateway", oftest.GWToRemote + ",ct_mark=2", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"Pod to remote Pod, opened through the gateway", oftest.RemoteToPodA + ",ct_mark=2", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"to a Service, opened from the tunnel, out", oftest.PodAToRemote + ",ct_mark=0x11", []string{oftest.CTReply}, oftest.EpochUnset},
		{"to a Service, opened from the tunnel, in", oftest.RemoteToPodA + ",ct_mark=0x11", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"to a Service, opened from the gateway", oftest.RemoteToPodA + ",ct_mark=0x12", []string{oftest.CTReply}, oftest.EpochUnset},
		{"to a Service, not let pass", oftest.PodAToRemote + ",ct_mark=0x10", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"to a Service, SNAT", oftest.PodAToRemote + ",ct_mark=0x33", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"to a Service, hairpin", oftest.PodAToRemote + ",ct_mark=0x73", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"SNAT", oftest.PodAToRemote + ",ct_mark=0x23", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"hairpin", oftest.PodAToRemote + ",ct_mark=0x43", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"L7", oftest.PodAToRemote + ",ct_mark=0x83", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"opened by an uplink", oftest.PodAToRemote + ",ct_mark=4", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"opened by a bridge port", oftest.PodAToRemote + ",ct_mark=5", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"Pod to gateway", oftest.PodAToGW + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"Pod to the world", oftest.PodAToWorld + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"gateway to Pod", oftest.GWToPodA + ",ct_mark=3", []string{oftest.CTReply}, oftest.EpochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.want, w.Epoch(), w.Text)
			if test.want != oftest.EpochUnset {
				require.Equal(t, 1, w.Recirculations, "one translation for verdict and mark")
				require.NotContains(t, w.Text, "Datapath actions: drop")
			}
		})
	}
	t.Run("other bits of the packet mark stay", func(t *testing.T) {
		w := b.Trace(oftest.PodAToRemote+",ct_mark=3,pkt_mark=0xc00f3fff", oftest.CTEstablished)
		require.Contains(t, w.FinalFlow(), "pkt_mark=0xc07f3fff")
	})
	t.Run("after removal nothing is marked", func(t *testing.T) {
		require.NoError(t, b.C.UninstallMarkFlows([]string{"pod-a"}))
		require.Zero(t, b.Trace(oftest.PodAToRemote+",ct_mark=3", oftest.CTEstablished).Epoch())
		require.NotZero(t, b.Trace(strings.ReplaceAll(oftest.RemoteToPodA, oftest.PodAIP.String(), oftest.PodBIP.String())+",ct_mark=3", oftest.CTReply).Epoch())
	})
}

// TestLocalPacketsHaveTwoEpochs: an established packet from one Pod of the Node to another one leaves with the sender's epoch in the
// packet mark and the receiver's as its queue, decided in one translation. No other packet has either.
func TestLocalPacketsHaveTwoEpochs(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	podBToPodA := fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", oftest.PodBPort, oftest.PodBMAC, oftest.PodAMAC, oftest.PodBIP, oftest.PodAIP)
	for _, test := range []struct {
		name, packet string
		ct           []string
		epoch, queue uint32
	}{
		{"opened by the sender", oftest.PodAToPodB + ",ct_mark=3", []string{oftest.CTEstablished}, 7, 8},
		{"answer", podBToPodA + ",ct_mark=3", []string{oftest.CTReply}, 8, 7},
		{"UDP", strings.Replace(oftest.PodAToPodB, "tcp", "udp", 1) + ",ct_mark=3", []string{oftest.CTEstablished}, 7, 8},
		{"Service connection", strings.Replace(oftest.PodAToPodB, oftest.PodBMAC.String(), oftest.GWMAC.String(), 1) + ",ct_mark=0x13", []string{oftest.CTEstablished}, 7, 8},
		{"answer of a Service connection", podBToPodA + ",ct_mark=0x13", []string{oftest.CTReply}, 8, 7},
		{"ticket and stamp", oftest.PodAToPodB + ",ct_mark=3,pkt_mark=0x2a5f3f00", []string{oftest.CTEstablished}, 7, 8},
		{"to a remote Pod", oftest.PodAToRemote + ",ct_mark=3", []string{oftest.CTEstablished}, 7, oftest.EpochUnset},
		{"from a remote Pod", oftest.RemoteToPodA + ",ct_mark=3", []string{oftest.CTReply}, 7, oftest.EpochUnset},

		{"new", oftest.PodAToPodB, []string{oftest.CTNew, oftest.CTNew}, oftest.EpochUnset, oftest.EpochUnset},
		{"new, then committed by another packet", oftest.PodAToPodB, []string{oftest.CTNew, oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"related", oftest.PodAToPodB + ",ct_mark=3", []string{"trk,rel"}, oftest.EpochUnset, oftest.EpochUnset},
		{"established and related", oftest.PodAToPodB + ",ct_mark=3", []string{"trk,est,rel"}, oftest.EpochUnset, oftest.EpochUnset},
		{"not committed", oftest.PodAToPodB, []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"opened from the tunnel", oftest.PodAToPodB + ",ct_mark=1", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"opened from the gateway", oftest.PodAToPodB + ",ct_mark=2", []string{oftest.CTReply}, oftest.EpochUnset, oftest.EpochUnset},
		{"Service connection from the gateway", oftest.PodAToPodB + ",ct_mark=0x12", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"Service connection with SNAT", oftest.PodAToPodB + ",ct_mark=0x33", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"Service connection with hairpin", oftest.PodAToPodB + ",ct_mark=0x53", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"Service connection with L7", oftest.PodAToPodB + ",ct_mark=0x93", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"SNAT", oftest.PodAToPodB + ",ct_mark=0x23", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"hairpin", oftest.PodAToPodB + ",ct_mark=0x43", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"L7", oftest.PodAToPodB + ",ct_mark=0x83", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"to the gateway", oftest.PodAToGW + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"to the gateway's MAC address", strings.Replace(oftest.PodAToPodB, oftest.PodBMAC.String(), oftest.GWMAC.String(), 1) + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"from the gateway", oftest.GWToPodA + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
		{"forged source", strings.Replace(oftest.PodAToPodB, oftest.PodAIP.String(), oftest.PodBIP.String(), 1) + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset, oftest.EpochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.epoch, w.Epoch(), w.Text)
			require.Equal(t, test.queue, w.Queue(), w.Text)
			if test.queue != oftest.EpochUnset {
				require.Equal(t, 1, w.Recirculations, "one translation for verdict and epochs")
				require.NotContains(t, w.Text, "Datapath actions: drop")
				ttl := "nw_ttl=64" // a switch
				if strings.HasSuffix(test.packet, "ct_mark=0x13") {
					ttl = "nw_ttl=63" // a router
					require.Contains(t, w.FinalFlow(), "dl_src="+oftest.GWMAC.String())
				}
				require.Contains(t, w.FinalFlow(), ttl)
			}
		})
	}
	t.Run("one of the two Pods without epoch", func(t *testing.T) {
		require.NoError(t, b.C.UninstallMarkFlows([]string{"pod-a"}))
		require.Zero(t, b.Trace(oftest.PodAToPodB+",ct_mark=3", oftest.CTEstablished).Epoch())
		w := b.Trace(podBToPodA+",ct_mark=3", oftest.CTReply)
		require.Zero(t, w.Epoch())
		require.Zero(t, w.Queue())
	})
}

// TestStampsSeparateMegaflows: a packet's megaflows match its stamp before and after every recirculation, and no packet leaves
// the switch with a stamp.
func TestStampsSeparateMegaflows(t *testing.T) {
	const stamp = 0x2a5
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	for name, test := range map[string]struct {
		packet string
		ct     []string
	}{
		"new, from a Pod":               {oftest.PodAToRemote, []string{oftest.CTNew, oftest.CTNew}},
		"new, from the tunnel":          {oftest.RemoteToPodA, []string{oftest.CTNew, oftest.CTNew}},
		"new, between Pods":             {oftest.PodAToPodB, []string{oftest.CTNew, oftest.CTNew}},
		"established, between Pods":     {oftest.PodAToPodB + ",ct_mark=3", []string{oftest.CTEstablished}},
		"new, to the Node":              {oftest.PodAToGW, []string{oftest.CTNew, oftest.CTNew}},
		"new, to the world":             {oftest.PodAToWorld, []string{oftest.CTNew, oftest.CTNew}},
		"established, from a Pod":       {oftest.PodAToRemote + ",ct_mark=3", []string{oftest.CTEstablished}},
		"established, from the tunnel":  {oftest.RemoteToPodA + ",ct_mark=1", []string{oftest.CTEstablished}},
		"invalid, from a Pod":           {oftest.PodAToRemote, []string{"trk,inv"}},
		"another protocol, from a Pod":  {strings.Replace(oftest.PodAToPodB, "tcp", "sctp", 1), []string{oftest.CTNew, oftest.CTNew}},
		"a fragment, from a Pod":        {strings.Replace(oftest.PodAToPodB, "tcp", "ip,nw_frag=later", 1), []string{oftest.CTNew, oftest.CTNew}},
		"a forged source, from a Pod":   {strings.Replace(oftest.PodAToPodB, oftest.PodAIP.String(), oftest.PodBIP.String(), 1), nil},
		"no reply yet, from the tunnel": {oftest.RemoteToPodA, []string{oftest.CTNew, oftest.CTEstablished}},
	} {
		t.Run(name, func(t *testing.T) {
			w := b.Trace(fmt.Sprintf("%s,pkt_mark=%#x", test.packet, stamp<<20|0x3f00), test.ct...)
			megaflow, _, _ := strings.Cut(w.Text[strings.Index(w.Text, "\nMegaflow: ")+1:], "\n")
			require.Contains(t, megaflow, fmt.Sprintf("pkt_mark=%#x/0x3ff00000", stamp<<20), w.Text)
			final := w.FinalFlow()
			require.Regexp(t, fmt.Sprintf("reg8=0x(%x|%x)[0-9a-f]{4}[,)]", stamp, stamp|1<<10), final, w.Text)
			require.Contains(t, []uint32{oftest.EpochUnset, 7, 8}, w.Epoch(), w.Text)
			require.Regexp(t, "pkt_mark=0x[0-9a-f]*3f00,", final, "the ticket stays: %s", w.Text)
		})
	}
}
