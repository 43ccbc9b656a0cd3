// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// The tests of this file pass packets that a network card has added up (CHECKSUM_COMPLETE). The kernel compares the sum with the packet after the
// program: with one that is wrong, the run fails with EBADMSG.

// testChecksumComplete is BPF_F_TEST_SKB_CHECKSUM_COMPLETE (include/uapi/linux/bpf.h).
const testChecksumComplete = 1 << 2

// requireComplete passes a packet that has been added up through a program, which must count the reason and leave the sum right.
func requireComplete(t *testing.T, w *harness.World, program *ebpf.Program, ifindex int, packet []byte, want string) {
	t.Helper()
	in := harness.SKB{Ifindex: uint32(ifindex)}
	var out harness.SKB
	options := &ebpf.RunOptions{Data: packet, DataOut: make([]byte, len(packet)+256), Context: in, ContextOut: &out, Flags: testChecksumComplete}
	var err error
	reason := w.Counted(t, func() { _, err = program.Run(options) })
	require.NoError(t, err)
	require.Equal(t, want, reason)
}

func needsChecksumComplete(t *testing.T) {
	if harness.Minor(t, harness.KernelRelease(t)) < 6011 {
		t.Skip("the kernel makes such packets from Linux 6.11 on")
	}
}

// withoutChecksum removes the checksum of a UDP packet whose IP header is at offset 14.
func withoutChecksum(frame []byte, six bool) []byte {
	at := 14 + 20 + 6
	if six {
		at += 20
	}
	frame[at], frame[at+1] = 0, 0
	return frame
}

// learnKind learns a flow directly or, if kind begins with "service", through a Service. It returns the flow's packets as they are sent and received.
func learnKind(w *harness.World, kind string, udp bool) (out, in harness.Packet) {
	if strings.HasPrefix(kind, "service") {
		e := w.ThroughService(udp)
		w.LearnExchange(e)
		out, in = e.Sent, e.Received
	} else {
		out, in = w.FromPod(), w.ToPod()
		out.UDP, in.UDP = udp, udp
		w.Learn(out, in)
	}
	w.KeepLeases()
	return out, in
}

// TestAddedUpAndDecapsulated: hits of Ingress.
func TestAddedUpAndDecapsulated(t *testing.T) {
	needsChecksumComplete(t)
	for name, f := range harness.Families {
		for protocol, udp := range map[string]bool{"TCP": false, "UDP": true} {
			for _, kind := range []string{"plain", "congested", "odd", "service", "service congested"} {
				t.Run(fmt.Sprint(name, " ", protocol, " ", kind), func(t *testing.T) {
					w := harness.NewWorldOf(t, f)
					_, in := learnKind(w, kind, udp)
					o := w.FromPeer()
					switch {
					case strings.HasSuffix(kind, "congested"):
						in.ToS, o.ToS = 2, 3
					case kind == "odd":
						in.Payload = 201
					}
					inner := in.Bytes(t)
					requireComplete(t, w, w.Programs.OncacheIngress, w.UplinkIf, o.Wrap(t, inner), w.Decapsulated())
					// The kernel's NAT also leaves the sum alone where no checksum makes up for the address, and the sum is unused.
					if udp && !strings.HasPrefix(kind, "service") {
						requireComplete(t, w, w.Programs.OncacheIngress, w.UplinkIf, o.Wrap(t, withoutChecksum(inner, f.Inner6)), w.Decapsulated())
					}
				})
			}
		}
	}
}

// rewrittenKinds are the reasons for which Ingress has counted a rewritten packet after a change.
var rewrittenKinds = map[string]struct {
	change func(*harness.World)
	reason string
}{
	"hit":     {func(*harness.World) {}, "hit_rewritten"},
	"evicted": {func(w *harness.World) { w.BumpAll() }, "stale_all"},
	"off":     {func(w *harness.World) { w.SetMode(datapath.ModeOff) }, "off"},
	"probe": {func(w *harness.World) {
		now := w.Jiffies(w.T)
		w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
			v.Lease, v.Probed = now+w.Control().Lease/8, uint32(now-w.Control().Lease)
		})
	}, "lease"},
}

// TestAddedUpAndRewritten: rewritten packets that are hits, or are restored for Open vSwitch.
func TestAddedUpAndRewritten(t *testing.T) {
	needsChecksumComplete(t)
	for way, newWorld := range map[string]func(testing.TB, harness.Family) *harness.World{"direct": harness.NewRewritingWorld, "by helpers": harness.NewHelpersWorld} {
		for name, f := range sameVersions {
			for protocol, udp := range map[string]bool{"TCP": false, "UDP": true} {
				for _, kind := range []string{"plain", "service"} {
					for what, k := range rewrittenKinds {
						t.Run(strings.Join([]string{way, name, protocol, kind, what}, " "), func(t *testing.T) {
							w := newWorld(t, f)
							out, in := learnKind(w, kind, udp)
							key := w.GiveAgain(out, in)
							for _, change := range []func(*harness.Packet){func(*harness.Packet) {}, func(p *harness.Packet) { p.Payload = 201 }, func(p *harness.Packet) { p.ToS = 3 }} {
								p := in
								change(&p)
								k.change(w)
								requireComplete(t, w, w.Programs.OncacheIngress, w.UplinkIf, w.RewrittenFromPeer(p, key).Bytes(t), k.reason)
							}
							if udp && kind == "plain" {
								k.change(w)
								requireComplete(t, w, w.Programs.OncacheIngress, w.UplinkIf, withoutChecksum(w.RewrittenFromPeer(in, key).Bytes(t), f.Inner6), k.reason)
							}
						})
					}
				}
			}
		}
	}
}

// TestAddedUpAndTold: the key is removed from packets that Open vSwitch gets.
func TestAddedUpAndTold(t *testing.T) {
	needsChecksumComplete(t)
	for name, f := range sameVersions {
		for mode, reason := range map[datapath.Mode]string{datapath.ModeEnforce: "stale_all", datapath.ModeOff: "off"} {
			t.Run(fmt.Sprint(name, " ", mode), func(t *testing.T) {
				w := harness.NewRewritingWorld(t, f)
				w.Learn(w.FromPod(), w.ToPod())
				w.BumpAll()
				w.SetMode(mode)
				requireComplete(t, w, w.Programs.OncacheIngress, w.UplinkIf, w.Telling(1234, 63).Wrap(t, w.ToPod().Bytes(t)), reason)
			})
		}
	}
}
