// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestKeyIsGiven: the flow of the 17th packet of a flow from a Node that understands keys gets one, and the next packet of the other
// direction tells it.
func TestKeyIsGiven(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		w.Learn(out, in)
		w.KeepLeases()
		tunnelled := w.FromPeer().Wrap(t, in.Bytes(t))
		for range 16 {
			require.Equal(t, "hit", w.Ingress(0, tunnelled).Reason)
			r := w.Egress(0, out.Bytes(t))
			key, _ := w.Told(r.Packet)
			require.Zero(t, key)
			w.RequireEncapsulated(t, out, r.Packet)
		}
		require.Equal(t, "hit", w.Ingress(0, tunnelled).Reason)
		r := w.Egress(0, out.Bytes(t))
		require.Equal(t, "hit", r.Reason)
		key, ttl := w.Told(r.Packet)
		require.NotZero(t, key)
		require.Equal(t, in.TTL, ttl)
		kept, err := w.KeysKept()
		require.NoError(t, err)
		require.Equal(t, 1, kept)

		r = w.Egress(0, out.Bytes(t))
		again, _ := w.Told(r.Packet)
		require.Zero(t, again, "it was told a moment ago")
		w.RequireEncapsulated(t, out, r.Packet)
		w.ChangeKeys(func(k *object.BpfOncKeys) { k.Due -= uint32(w.Control().KeyLife >> 6) })
		r = w.Egress(0, out.Bytes(t))
		again, _ = w.Told(r.Packet)
		require.Equal(t, key, again)
	})
}

// TestKeyIsToldAgain: a flow whose packets are rewritten in both directions has one encapsulated now and then, or the peer would never
// hear of its key again.
func TestKeyIsToldAgain(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		w.Hear(out, in, 4567)
		w.KeepLeases()
		key := w.GiveAgain(out, in)
		require.Equal(t, "hit_rewritten", w.Egress(0, out.Bytes(t)).Reason)
		w.ChangeKeys(func(k *object.BpfOncKeys) { k.Due -= uint32(w.Control().KeyLife >> 6) })
		r := w.Egress(0, out.Bytes(t))
		require.Equal(t, "hit", r.Reason)
		again, _ := w.Told(r.Packet)
		require.Equal(t, key, again)
		require.Equal(t, "hit_rewritten", w.Egress(0, out.Bytes(t)).Reason)
	})
}

// TestKeyIsGivenLater: a flow that has got no key gets another chance.
func TestKeyIsGivenLater(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Learn(out, in)
	w.KeepLeases()
	tunnelled := w.FromPeer().Wrap(t, in.Bytes(t))
	w.SetNodeRewrites(harness.PeerSlot, false)
	for hit := range 17 + 64 {
		key, _ := w.Told(w.Egress(0, out.Bytes(t)).Packet)
		require.Zero(t, key)
		if hit == 17+1 {
			w.SetNodeRewrites(harness.PeerSlot, true)
		}
		require.Equal(t, "hit", w.Ingress(0, tunnelled).Reason)
	}
	key, _ := w.Told(w.Egress(0, out.Bytes(t)).Packet)
	require.NotZero(t, key)
}

// TestTellingKeepsKey: the rest of a key begins when it was last told.
func TestTellingKeepsKey(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	r := w.RestoreAt(w.Give(out, in))
	life := uint64(w.Control().KeyLife)
	r.Told -= life
	before := r.Told
	w.ChangeKeys(func(k *object.BpfOncKeys) { k.Due -= uint32(life >> 6) })
	key, _ := w.Told(w.Egress(0, out.Bytes(t)).Packet)
	require.NotZero(t, key)
	require.GreaterOrEqual(t, r.Told, before+life)
}

// TestKeyOfAnotherWayIsNotHeard: the entry of the other direction leads to the same Node, and is as valid.
func TestKeyOfAnotherWayIsNotHeard(t *testing.T) {
	tests := []struct {
		name   string
		change func(*object.BpfOncValidity)
	}{
		{"another Node", func(v *object.BpfOncValidity) { v.Node++ }},
		{"the Node before", func(v *object.BpfOncValidity) { v.NodeGen-- }},
		{"the Pod before", func(v *object.BpfOncValidity) { v.EndpointGen-- }},
		{"before all were evicted", func(v *object.BpfOncValidity) { v.AllGen-- }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			w.ChangeValidities(func(d datapath.Direction, v *object.BpfOncValidity) {
				if d == datapath.DirectionEgress {
					tc.change(v)
				}
			})
			require.Equal(t, "hit", w.Ingress(0, w.Telling(4567, out.TTL-1).Wrap(t, in.Bytes(t))).Reason)
			w.ChangeKeys(func(k *object.BpfOncKeys) { require.Zero(t, k.Heard) })
		})
	}
}

// TestNoKeyForTheHost: packets of Pods to the host of another Node stay encapsulated, so the host's flows get no keys.
func TestNoKeyForTheHost(t *testing.T) {
	g := harness.NewRewritingWorld(t, harness.Family{}).AddGateway()
	out, in := g.FromHost(), g.ToHost()
	g.Learn(out, in)
	g.DueForKeys()
	require.Equal(t, "hit", g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t))).Reason)
	kept, err := g.KeysKept()
	require.NoError(t, err)
	require.Zero(t, kept)
}

// TestNoKeyIsGiven: not to a Node that does not understand it, nor of a flow that could not use it.
func TestNoKeyIsGiven(t *testing.T) {
	tests := []struct {
		name   string
		change func(w *harness.World, out, in *harness.Packet)
	}{
		{"the Node does not understand keys", func(w *harness.World, _, _ *harness.Packet) { w.SetNodeRewrites(harness.PeerSlot, false) }},
		{"keys are refused", func(w *harness.World, _, _ *harness.Packet) { w.RefuseKeys(true) }},
		{"senders may use keys of former maps", func(w *harness.World, _, _ *harness.Packet) { w.Control().KeysFrom = w.Jiffies(w.T) + 1000 }},
		{"DSCP", func(_ *harness.World, _, in *harness.Packet) { in.ToS = 46 << 2 }},
		{"no entry of the other direction", func(w *harness.World, _, _ *harness.Packet) {
			require.NoError(w.T, w.Maps.EgressFlows4.Delete(harness.Only[object.BpfOncFlow4](w.T.(*testing.T), w.Maps.EgressFlows4)))
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			tc.change(w, &out, &in)
			w.DueForKeys()
			require.Equal(t, "hit", w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
			kept, err := w.KeysKept()
			require.NoError(t, err)
			require.Zero(t, kept)
		})
	}
}

// TestNoKeyWithoutDF: nor is one given to a flow that the sender keeps in the tunnel because the network may fragment its packets.
func TestNoKeyWithoutDF(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Learn(out, in)
	w.DueForKeys()
	frame := w.FromPeer().Wrap(t, in.Bytes(t))
	inner := frame[14+20+8+8:]
	inner[14+6] = 0 // DF
	inner[14+10], inner[14+11] = 0, 0
	harness.FixIPv4Checksum(inner)
	require.Equal(t, "hit", w.Ingress(0, frame).Reason)
	kept, err := w.KeysKept()
	require.NoError(t, err)
	require.Zero(t, kept)
}

// TestNoMoreKeysAreTold: not to a Node that does not understand them any more, and to none while they are refused.
func TestNoMoreKeysAreTold(t *testing.T) {
	for name, change := range map[string]func(*harness.World){
		"the Node does not understand keys": func(w *harness.World) { w.SetNodeRewrites(harness.PeerSlot, false) },
		"keys are refused":                  func(w *harness.World) { w.RefuseKeys(true) },
	} {
		t.Run(name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			w.Give(out, in)
			change(w)
			w.ChangeKeys(func(k *object.BpfOncKeys) { k.Due -= uint32(w.Control().KeyLife >> 6) })
			key, _ := w.Told(w.Egress(0, out.Bytes(t)).Packet)
			require.Zero(t, key)
		})
	}
}

// TestHearingWhileKeysAreRefused: what this Node sends is rewritten although nothing that is can arrive, and it tells keys again later.
func TestHearingWhileKeysAreRefused(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.RefuseKeys(true)
	w.Hear(out, in, 4567)
	w.KeepLeases()
	require.Equal(t, "hit_rewritten", w.Egress(0, out.Bytes(t)).Reason)
	w.RefuseKeys(false)
	require.NotZero(t, w.GiveAgain(out, in))
}

// TestKeyOutlivesItsEntries: entries that are learned again get the key that their flow has.
func TestKeyOutlivesItsEntries(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	key := w.Give(out, in)
	w.BumpAll()
	w.Learn(out, in)
	require.Equal(t, "hit_rewritten", w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t)).Reason)
	require.Equal(t, key, w.GiveAgain(out, in))
	require.EqualValues(t, 2, w.RestoreAt(key).Serial, "it was given once")
}

// TestHeardKeyEnds: the sender's time ends before the receiver's, so what tells a key, and what was rewritten with it, may each be late by half a life.
func TestHeardKeyEnds(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Hear(out, in, 4567)
	life := w.Control().KeyLife
	w.ChangeKeys(func(k *object.BpfOncKeys) { k.Heard -= uint64(life>>6+1) << 24 }) // both times are rounded down
	r := w.Egress(0, out.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	w.RequireEncapsulated(t, out, r.Packet)
	w.ChangeKeys(func(k *object.BpfOncKeys) { require.Zero(t, k.Heard, "it does not come back when times repeat") })
}

// TestOldKeyIsForgotten: an entry that is renewed again and again, but not rewritten, loses its key when that has ended, or the key would
// come back when times repeat.
func TestOldKeyIsForgotten(t *testing.T) {
	tests := []struct {
		name  string
		renew func(t *testing.T, w *harness.World, out harness.Packet)
	}{
		{"observe", func(t *testing.T, w *harness.World, out harness.Packet) {
			w.SetMode(datapath.ModeObserve)
			require.Equal(t, "renewed", w.LearnEgress(out).Reason)
		}},
		{"another TTL", func(t *testing.T, w *harness.World, out harness.Packet) {
			out.TTL--
			require.Equal(t, "renewed", w.LearnEgress(out).Reason)
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			w.Hear(out, in, 4567)
			life := w.Control().KeyLife
			probe := func() {
				now := w.Jiffies(t)
				w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
					v.Lease, v.Probed = now+w.Control().Lease/8, uint32(now-w.Control().Lease)
				})
				tc.renew(t, w, out)
			}
			w.Control().Lease = 1 << 20
			probe()
			w.ChangeKeys(func(k *object.BpfOncKeys) {
				require.NotZero(t, k.Heard, "it is in use")
				k.Heard -= uint64(life>>6+1) << 24
			})
			probe()
			w.ChangeKeys(func(k *object.BpfOncKeys) { require.Zero(t, k.Heard) })
		})
	}
}

// TestKeyDoesNotReturn: the lease of an entry has ended, perhaps long ago, so that the end of its key seems to lie in the future again.
func TestKeyDoesNotReturn(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Hear(out, in, 4567)
	w.ChangeKeys(func(k *object.BpfOncKeys) { k.Heard += 1 << 20 << 24 })
	w.EndLeases()
	require.Equal(t, "renewed", w.LearnEgress(out).Reason)
	w.ChangeKeys(func(k *object.BpfOncKeys) { require.Zero(t, k.Heard) })
}

// TestKeyIsReusedAfterTwoLives: until then it belongs to its flow, whatever happens to the flow.
func TestKeyIsReusedAfterTwoLives(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Give(out, in)
	w.GiveAllKeysTo(netip.MustParseAddr("192.168.77.13"))
	life := uint64(w.Control().KeyLife)
	other, otherIn := out, in
	other.SrcPort, otherIn.DstPort = 40001, 40001
	w.Learn(other, otherIn)
	w.DueForKeys()
	r := w.Ingress(0, w.FromPeer().Wrap(t, otherIn.Bytes(t)))
	require.Equal(t, "hit", r.Reason)
	require.Equal(t, []string{"no_key"}, r.Also, "all keys are in use")
	key, _ := w.Told(w.Egress(0, other.Bytes(t)).Packet)
	require.Zero(t, key, "the flow stays encapsulated")

	now := w.Jiffies(t)
	for key := range 1 << 16 {
		w.RestoreAt(uint16(key)).Told = now - 2*life + 200
	}
	w.DueForKeys()
	require.Equal(t, []string{"no_key"}, w.Ingress(0, w.FromPeer().Wrap(t, otherIn.Bytes(t))).Also, "almost")
	for key := range 1 << 16 {
		w.RestoreAt(uint16(key)).Told = now - 2*life
	}
	key = w.GiveAgain(other, otherIn)
	require.Equal(t, "hit_rewritten", w.Ingress(0, w.RewrittenFromPeer(otherIn, key).Bytes(t)).Reason)
}

// TestKeyOfAnotherFlowIsNotTold: an LRU map may give the memory of an entry to another flow while a key is written into it.
func TestKeyOfAnotherFlowIsNotTold(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	key := w.Give(out, in)
	other, otherIn := out, in
	other.SrcPort, otherIn.DstPort = 40001, 40001
	w.Learn(other, otherIn)
	w.ChangeKeys(func(k *object.BpfOncKeys) { k.Tell, k.Due = key, k.Due-uint32(w.Control().KeyLife>>6) })
	r := w.Egress(0, other.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	told, _ := w.Told(r.Packet)
	require.Zero(t, told)
	w.RequireEncapsulated(t, other, r.Packet)
}

// TestKeyOfAnotherNodeIsNotTold: nor is one that belongs to another Node.
func TestKeyOfAnotherNodeIsNotTold(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		key := w.Give(out, in)
		w.RestoreAt(key).Owner[0] ^= 1 << 24
		w.ChangeKeys(func(k *object.BpfOncKeys) { k.Due -= uint32(w.Control().KeyLife >> 6) })
		told, _ := w.Told(w.Egress(0, out.Bytes(t)).Packet)
		require.Zero(t, told)
	})
}

// TestKeyOfAnotherFlowIsNotUsed: the same for a key that was heard.
func TestKeyOfAnotherFlowIsNotUsed(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Hear(out, in, 4567)
	var heard object.BpfOncKeys
	w.ChangeKeys(func(k *object.BpfOncKeys) { heard = *k })
	other, otherIn := out, in
	other.SrcPort, otherIn.DstPort = 40001, 40001
	w.Learn(other, otherIn)
	w.ChangeKeys(func(k *object.BpfOncKeys) { *k = heard })
	require.Equal(t, "hit_rewritten", w.Egress(0, out.Bytes(t)).Reason)
	r := w.Egress(0, other.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	w.RequireEncapsulated(t, other, r.Packet)
}

// TestKeyBeingWritten: an element that another CPU is filling is neither told nor taken.
func TestKeyBeingWritten(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	key := w.Give(out, in)
	w.RestoreAt(key).Serial++
	w.ChangeKeys(func(k *object.BpfOncKeys) { k.Due -= uint32(w.Control().KeyLife >> 6) })
	told, _ := w.Told(w.Egress(0, out.Bytes(t)).Packet)
	require.Zero(t, told)
}

// TestKeyIsNotTakenWhileWritten: another CPU is filling all elements that could be the flow's.
func TestKeyIsNotTakenWhileWritten(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Learn(out, in)
	for key := range 1 << 16 {
		w.RestoreAt(uint16(key)).Serial = 1
	}
	w.DueForKeys()
	require.Equal(t, []string{"no_key"}, w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Also)
}

// TestKeyForAnotherPortIsNotHeard: a Node whose agent has not said that it uses this Node's port may have told a key for the port that this one
// had before. It would not take rewritten packets to the present one.
func TestKeyForAnotherPortIsNotHeard(t *testing.T) {
	eachRewriting(t, func(t *testing.T, w *harness.World, out, in harness.Packet) {
		w.Learn(out, in)
		w.KeepLeases()
		hear := func() string {
			require.Equal(t, "hit", w.Ingress(0, w.Telling(4567, out.TTL-1).Wrap(t, in.Bytes(t))).Reason)
			return w.Egress(0, out.Bytes(t)).Reason
		}
		w.SetNodeRewrites(harness.PeerSlot, false)
		require.Equal(t, "hit", hear())
		w.SetNodeRewrites(harness.PeerSlot, true)
		require.Equal(t, "hit_rewritten", hear())
	})
}

// TestKeyIsForOnePurpose: a key is for packets of a flow with a TTL, from an address of a Node to one of this Node. If one of these is
// another one, the flow gets another key, also when checksums change by the same.
func TestKeyIsForOnePurpose(t *testing.T) {
	const peer2 = "77.12.192.168"
	tests := []struct {
		name   string
		change func(w *harness.World, in *harness.Packet, o *harness.Outer)
	}{
		{"TTL", func(_ *harness.World, in *harness.Packet, _ *harness.Outer) { in.TTL-- }},
		{"sender's address", func(w *harness.World, _ *harness.Packet, o *harness.Outer) {
			o.Src = netip.MustParseAddr(peer2)
			w.SetNode(harness.PeerSlot, o.Src)
			w.SetNodeMTU(harness.PeerSlot, 1500)
			w.SetNodeRewrites(harness.PeerSlot, true)
		}},
		{"receiver's address", func(w *harness.World, _ *harness.Packet, o *harness.Outer) {
			o.Dst = netip.MustParseAddr("192.168.77.14")
			w.Control().UplinkIp4 = object.Wire4(o.Dst)
			w.BumpUplink()
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, harness.Family{})
			out, in, outer := w.FromPod(), w.ToPod(), w.FromPeer()
			former := w.Give(out, in)
			tc.change(w, &in, &outer)
			// The way out mirrors the new way in.
			back := w.ToPeer()
			back.Src, back.Dst = outer.Dst, outer.Src
			learn := func() {
				r := w.Egress(0, out.Bytes(t))
				if r.Reason == "hit" {
					return
				}
				w.EgressInit(r.Mark|harness.Epoch<<20, back.Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t)))
				r = w.Ingress(0, outer.Wrap(t, in.Bytes(t)))
				w.IngressInit(r.Mark|harness.Epoch<<20, in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t))
			}
			learn()
			w.DueForKeys()
			require.Equal(t, "hit", w.Ingress(0, outer.Wrap(t, in.Bytes(t))).Reason)
			key, ttl := w.Told(w.Egress(0, out.Bytes(t)).Packet)
			require.NotZero(t, key)
			require.NotEqual(t, former, key)
			require.Equal(t, in.TTL, ttl)
		})
	}
}

// TestUnheardKeyIsRemoved: Open vSwitch, which makes a flow for each VNI, never sees one.
func TestUnheardKeyIsRemoved(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewRewritingWorld(t, f)
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			w.BumpAll()
			r := w.Ingress(0, w.Telling(4567, 63).Wrap(t, in.Bytes(t)))
			require.Equal(t, "stale_all", r.Reason)
			require.Equal(t, harness.Next, r.Verdict)
			require.Empty(t, cmp.Diff(w.FromPeer().Wrap(t, in.Bytes(t)), r.Packet))
			w.SetMode(datapath.ModeOff)
			r = w.Ingress(0, w.Telling(4567, 63).Wrap(t, in.Bytes(t)))
			require.Equal(t, "off", r.Reason)
			require.Empty(t, cmp.Diff(w.FromPeer().Wrap(t, in.Bytes(t)), r.Packet))
		})
	}
}

// TestKeyIsForeignWithoutRewriting: programs that do not rewrite know only the tunnel header that all tunnel packets share.
func TestKeyIsForeignWithoutRewriting(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := w.FromPod(), w.ToPod()
	w.Learn(out, in)
	r := w.Ingress(0, w.Telling(4567, 63).Wrap(t, in.Bytes(t)))
	require.Equal(t, "outer_header", r.Reason)
	require.Equal(t, harness.Next, r.Verdict)
}

// TestOnlyTheIdentifierTellsKeys: programs that hear keys accept, besides the usual tunnel header, only the headers of Nodes that tell
// keys.
func TestOnlyTheIdentifierTellsKeys(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	out, in := w.FromPod(), w.ToPod()
	w.Learn(out, in)
	for _, octet := range []int{0, 1, 2, 3, 7} {
		o := w.Telling(4567, 63)
		o.Tunnel[octet] ^= 1
		r := w.Ingress(0, o.Wrap(t, in.Bytes(t)))
		require.Equal(t, "outer_header", r.Reason, "octet %d", octet)
		require.Equal(t, harness.Next, r.Verdict)
	}
	require.Equal(t, "hit", w.Ingress(0, w.Telling(4567, 63).Wrap(t, in.Bytes(t))).Reason)
}
