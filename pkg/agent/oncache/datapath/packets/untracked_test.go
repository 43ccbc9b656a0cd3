// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/openings"
)

// fullLease is so long that not even a sixteenth of it passes during a test.
const fullLease = 1 << 20

// eachUser is eachOpener with an opening that is used.
func eachUser(t *testing.T, test func(t *testing.T, o *opener)) {
	eachOpener(t, func(t *testing.T, o *opener) {
		if o.Decapsulated() != "hit" {
			t.Skip("the kernel cannot decapsulate one IP version from the other")
		}
		o.Control().Lease = fullLease
		o.learn()
		o.change(func(v *object.BpfOncOpening) {
			v.Labelled, v.Mark, v.Label = 1, 3, [2]uint64{7, 8}
			require.Equal(t, []byte(harness.PodMAC), v.Macs[:6])
			require.Equal(t, []byte(harness.GatewayMAC), v.Macs[6:])
		})
		o.Control().OpensUntil = o.Jiffies(t) + fullLease
		o.next()
		test(t, o)
	})
}

// passes passes a segment through the first program, and returns the reason. A hit must be the frame that Open vSwitch would have made of it, and
// everything else untouched.
func (o *opener) passes(p harness.Packet) string {
	o.T.Helper()
	r, frame := pass(o.World, p)
	switch r.Reason {
	case "hit_untracked":
		require.Equal(o.T, harness.Redirect, r.Verdict)
		if p.Src == o.ToPod().Src {
			require.Equal(o.T, p.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(o.T), r.Packet)
			break
		}
		want := p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(o.T)
		require.Equal(o.T, want[14:], r.Packet[len(r.Packet)-len(want)+14:])
	case "held_back":
		require.Equal(o.T, harness.Shot, r.Verdict)
	default:
		require.Equal(o.T, harness.Next, r.Verdict)
		require.Equal(o.T, frame, r.Packet)
	}
	return r.Reason
}

func (o *opener) hits(segments ...harness.Packet) {
	o.T.Helper()
	for i, p := range segments {
		require.Equal(o.T, "hit_untracked", o.passes(p), "segment %d, flags %q", i, p.Flags)
	}
}

// untracked is the only untracked connection.
func (o *opener) untracked() (key object.BpfOncFlow6, value object.BpfOncUntracked) {
	o.T.Helper()
	require.NoError(o.T, o.Maps.Untracked.NextKey(nil, &key))
	require.NoError(o.T, o.Maps.Untracked.Lookup(key, &value))
	return key, value
}

func (o *opener) word() openings.Word {
	o.T.Helper()
	_, u := o.untracked()
	return openings.Word(u.Word) & 0xffffffff
}

// become changes bits of the only word, as an agent does.
func (o *opener) become(bits openings.Word) {
	o.T.Helper()
	key, u := o.untracked()
	u.Word |= uint64(bits)
	require.NoError(o.T, o.Maps.Untracked.Put(key, u))
}

// later is a segment without data of the end that sends p, behind all data of the connection and n more sequence numbers of its own.
func (o *opener) later(p harness.Packet, flags string, own, other uint32) harness.Packet {
	request, answer := o.request.Seq+uint32(o.request.Payload), o.answer.Seq+uint32(o.answer.Payload)
	if p.Src == o.request.Src {
		return segment(p, flags, request+own, answer+other)
	}
	return segment(p, flags, answer+own, request+other)
}

const acknowledged openings.Word = 0x300

// TestUntracked: all segments of a short connection are hits, from the SYN to the last acknowledgment, and the word tells what has passed.
func TestUntracked(t *testing.T) {
	eachUser(t, func(t *testing.T, o *opener) {
		before := len(o.Entries())
		for _, closer := range []bool{true, false} {
			first, second := o.request, o.answer
			fin, other := openings.OpenerFIN, openings.AnswererFIN
			if !closer {
				first, second, fin, other = second, first, other, fin
			}
			o.hits(o.syn)
			require.Equal(t, openings.There, o.word())
			o.hits(o.synACK)
			require.Equal(t, openings.There|openings.Answered, o.word())
			o.hits(o.ack, o.request, o.answer)
			require.Equal(t, openings.There|openings.Answered, o.word())
			o.hits(o.later(first, "F", 0, 0))
			require.Equal(t, openings.There|openings.Answered|fin, o.word())
			o.hits(o.later(second, "", 0, 0))
			require.Equal(t, openings.There|openings.Answered|fin, o.word(), "it does not acknowledge the FIN")
			o.hits(o.later(second, "F", 0, 1))
			require.Equal(t, openings.There|openings.Answered|fin|other, o.word()&^acknowledged)
			o.hits(o.later(first, "", 1, 1))
			require.Equal(t, openings.There|openings.Answered|fin|other|openings.Closed|acknowledged, o.word())
			_, u := o.untracked()
			require.Equal(t, [2]uint64{7, 8}, u.Label)
			require.EqualValues(t, 3, u.Mark)
			require.EqualValues(t, 9, u.Packets[0]+u.Packets[1])
			require.Len(t, o.Entries(), before)
			// The same ports again at once.
			for _, p := range []*harness.Packet{&o.syn, &o.ack, &o.request} {
				p.Seq += 1 << 20
			}
			for _, p := range []*harness.Packet{&o.synACK, &o.answer} {
				p.Ack += 1 << 20
			}
		}
		all := o.openings()
		require.EqualValues(t, 2, all[0].Covered)
	})
}

// TestUntrackedSYNs: a SYN is a hit only by a good opening. All others go to Open vSwitch.
func TestUntrackedSYNs(t *testing.T) {
	for name, change := range map[string]func(*opener){
		"not used":     func(o *opener) { o.Control().OpensUntil = 0 },
		"no more used": func(o *opener) { o.Control().OpensUntil = o.Jiffies(o.T) - 1 },
		"no agent":     func(o *opener) { o.Control().Until = o.Jiffies(o.T) - 1 },
		"observe":      func(o *opener) { o.SetMode(datapath.ModeObserve) },
		"no label":     func(o *opener) { o.change(func(v *object.BpfOncOpening) { v.Labelled = 0 }) },
		"another MAC":  func(o *opener) { o.change(func(v *object.BpfOncOpening) { v.Macs[5]++ }) },
		"lease":        func(o *opener) { o.change(func(v *object.BpfOncOpening) { v.V.Lease = o.Jiffies(o.T) - 1 }) },
		"no answer":    func(o *opener) { o.change(func(v *object.BpfOncOpening) { v.V.Proved = 1 }) },
		"another's":    func(o *opener) { o.change(func(v *object.BpfOncOpening) { v.V.Tag++ }) },
		"Pod":          func(o *opener) { changed(o.World, harness.PodSlot) },
		"Node":         func(o *opener) { o.BumpNode(harness.PeerSlot) },
		"all":          func(o *opener) { o.BumpAll() },
		"no template":  func(o *opener) { o.NodeAt(harness.PeerSlot).TemplateGen = 0 },
		"no room": func(o *opener) {
			require.NoError(o.T, o.Maps.UntrackedPods.Put(uint32(harness.PodSlot), int64(16384)))
		},
		"another port": func(o *opener) {
			o.syn.DstPort++
			o.synACK.SrcPort++
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, o *opener) {
				change(o)
				require.Equal(t, "tcp_flags", o.passes(o.syn))
				require.Error(t, o.Maps.Untracked.NextKey(nil, new(object.BpfOncFlow6)))
				require.NotEqual(t, "hit_untracked", o.passes(o.synACK), "a SYN-ACK begins nothing")
			})
		})
	}
	t.Run("flow with an entry", func(t *testing.T) {
		eachUser(t, func(t *testing.T, o *opener) {
			o.SetMode(datapath.ModeObserve)
			require.Equal(t, "tcp_flags", o.passes(o.syn))
			require.Equal(t, "learned", learned(o.World, o.synACK))
			o.SetMode(datapath.ModeEnforce)
			o.zeroBars()
			require.Equal(t, "tcp_flags", o.passes(o.syn))
		})
	})
}

// zeroBars removes all bars.
func (o *opener) zeroBars() {
	o.T.Helper()
	for i := range o.Maps.Bars.MaxEntries() {
		require.NoError(o.T, o.Maps.Bars.Put(i, make([]byte, o.Maps.Bars.ValueSize())))
	}
}

// TestBars: after Open vSwitch has got a SYN, in whatever mode, none of the connection is a hit for two minutes.
func TestBars(t *testing.T) {
	eachUser(t, func(t *testing.T, o *opener) {
		for _, mode := range []datapath.Mode{datapath.ModeObserve, datapath.ModeEnforce} {
			o.SetMode(mode)
			until := o.Control().OpensUntil
			o.Control().OpensUntil = 0
			require.Equal(t, "tcp_flags", o.passes(o.syn))
			o.SetMode(datapath.ModeEnforce)
			o.Control().OpensUntil = until
			require.Equal(t, "tcp_flags", o.passes(o.syn), "a copy")
			require.Equal(t, openings.There|openings.New|openings.Gone, o.word())
			again := o.syn
			again.Seq++
			require.Equal(t, "tcp_flags", o.passes(again), "another connection with the same ports")
			key, _ := o.untracked()
			require.NoError(t, o.Maps.Untracked.Delete(key))
			require.Equal(t, "tcp_flags", o.passes(again))
			key, _ = o.untracked()
			require.NoError(t, o.Maps.Untracked.Delete(key))
			o.next()
			o.hits(o.syn)
			key, _ = o.untracked()
			require.NoError(t, o.Maps.Untracked.Delete(key))
			o.next()
		}
		o.Control().OpensUntil, o.Control().Until = 0, o.Jiffies(t)+fullLease
		require.Equal(t, "tcp_flags", o.passes(o.syn))
		o.Control().OpensUntil = o.Jiffies(t) + fullLease
		o.age(120)
		require.Equal(t, "tcp_flags", o.passes(o.syn), "the bar is still there, and renewed")
		key, _ := o.untracked()
		require.NoError(t, o.Maps.Untracked.Delete(key))
		o.age(120)
		require.Equal(t, "tcp_flags", o.passes(o.syn))
		key, _ = o.untracked()
		require.NoError(t, o.Maps.Untracked.Delete(key))
		o.age(140)
		o.hits(o.syn)
	})
}

// age makes all bars older, by units of 1.07 s.
func (o *opener) age(units uint16) {
	o.T.Helper()
	for i := range o.Maps.Bars.MaxEntries() {
		var b object.BpfOncBars
		require.NoError(o.T, o.Maps.Bars.Lookup(i, &b))
		for j, at := range b.At {
			if at != 0 {
				b.At[j] = at - units
			}
		}
		require.NoError(o.T, o.Maps.Bars.Put(i, b))
	}
}

// TestUntrackedRepeatedSYNs: a SYN with the number of a connection is a segment of it, one with another number begins the next.
func TestUntrackedRepeatedSYNs(t *testing.T) {
	other := func(p harness.Packet) harness.Packet { p.Seq += 7; return p }
	eachUser(t, func(t *testing.T, o *opener) {
		until := o.Control().OpensUntil
		o.hits(o.syn, o.syn, o.synACK, o.syn)
		require.Equal(t, openings.There|openings.Answered, o.word())
		o.Control().OpensUntil = 0
		o.hits(o.syn)
		o.Control().OpensUntil = until
		o.hits(other(o.syn))
		require.Equal(t, openings.There, o.word(), "the next connection has no answer yet")
		o.become(openings.Noted)
		o.hits(other(other(o.syn)))
		require.Equal(t, openings.There|openings.Noted, o.word())
		o.Control().OpensUntil = 0
		require.Equal(t, "held_back", o.passes(other(other(o.syn))), "conntrack may have an entry")
		require.Equal(t, "held_back", o.passes(o.syn), "conntrack may have an entry")
	})
	for name, unused := range map[string]func(*opener){
		"not used": func(o *opener) { o.Control().OpensUntil = 0 },
		"observe":  func(o *opener) { o.SetMode(datapath.ModeObserve) },
	} {
		t.Run(name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, o *opener) {
				o.hits(o.syn)
				unused(o)
				want := "tcp_flags"
				if name == "observe" {
					want = "held_back" // the agent has not promoted it
				}
				require.Equal(t, want, o.passes(o.syn), "not answered, and no opening")
				if want == "held_back" {
					return
				}
				require.Equal(t, openings.There|openings.Gone, o.word())
				require.Equal(t, "tcp_flags", o.passes(o.synACK))
				o.Control().OpensUntil = o.Jiffies(t) + fullLease
				require.Equal(t, "tcp_flags", o.passes(o.syn), "Open vSwitch has got it")
			})
		})
	}
	t.Run("another version", func(t *testing.T) {
		eachUser(t, func(t *testing.T, o *opener) {
			o.hits(o.syn)
			key, u := o.untracked()
			u.EndpointGen--
			require.NoError(t, o.Maps.Untracked.Put(key, u))
			require.Equal(t, "tcp_flags", o.passes(o.syn), "the opening is not the one that has opened it")
		})
	})
}

// TestUntrackedHandOver: while a connection is new, and after it is gone, its segments are Open vSwitch's.
func TestUntrackedHandOver(t *testing.T) {
	eachUser(t, func(t *testing.T, o *opener) {
		o.hits(o.syn, o.synACK)
		o.become(openings.New)
		require.Equal(t, "held_back", o.passes(o.syn))
		require.Equal(t, "no_entry", o.passes(o.request))
		require.Equal(t, "tcp_flags", o.passes(o.later(o.answer, "F", 0, 0)))
		o.become(openings.Gone)
		require.Equal(t, "no_entry", o.passes(o.request))
		require.Equal(t, "tcp_flags", o.passes(o.later(o.answer, "R", 0, 0)))
		require.Equal(t, "tcp_flags", o.passes(o.syn))
		require.Equal(t, openings.There|openings.Answered|openings.New|openings.Gone, o.word())
	})
}

// TestUntrackedOutlivesRules: a change of rules does not end a connection, but a connection is only its own Pod's.
func TestUntrackedOutlivesRules(t *testing.T) {
	eachUser(t, func(t *testing.T, o *opener) {
		o.hits(o.syn, o.synACK, o.ack)
		changed(o.World, harness.PodSlot)
		o.BumpAll()
		o.hits(o.request, o.answer, o.syn)
		o.NodeAt(harness.PeerSlot).TemplateGen--
		require.Equal(t, "held_back", o.passes(o.request))
		require.Equal(t, "held_back", o.passes(o.answer))
		o.NodeAt(harness.PeerSlot).TemplateGen++
		o.hits(o.request)
		o.EndpointAt(harness.PodSlot).Ifindex++
		require.Equal(t, "held_back", o.passes(o.request), "another Pod has the address")
		require.Equal(t, "held_back", o.passes(o.answer))
	})
}

// TestUntrackedOddSegments: segments that Open vSwitch would call invalid are dropped, or tell nothing.
func TestUntrackedOddSegments(t *testing.T) {
	eachUser(t, func(t *testing.T, o *opener) {
		o.hits(o.syn, o.synACK, o.ack, o.request, o.answer)
		before := o.word()
		odd := segment(o.request, "S", o.syn.Seq, 0)
		require.Equal(t, "held_back", o.passes(odd), "the opener accepts")
		require.Equal(t, "held_back", o.passes(o.later(o.request, "-F", 0, 0)))
		require.Equal(t, "held_back", o.passes(o.later(o.answer, "SF", 0, 0)))
		back := segment(o.answer, "-S", 77, 0)
		require.Equal(t, "held_back", o.passes(back), "the answerer opens")
		late := o.later(o.answer, "R", 0, 0)
		late.Seq -= 1 << 16
		o.hits(late)
		require.Equal(t, before, o.word(), "of a former connection")
		late.Flags = "F"
		o.hits(late)
		require.Equal(t, before, o.word(), "of a former connection")
		o.hits(o.later(o.answer, "R", 0, 0))
		require.Equal(t, before|openings.Closed, o.word())
	})
	t.Run("both open", func(t *testing.T) {
		eachUser(t, func(t *testing.T, o *opener) {
			o.hits(o.syn)
			back := segment(o.answer, "-S", 77, 0)
			require.Equal(t, "tcp_flags", o.passes(back))
			require.Equal(t, openings.There|openings.Gone, o.word())
		})
	})
	t.Run("refused", func(t *testing.T) {
		eachUser(t, func(t *testing.T, o *opener) {
			o.hits(o.syn, segment(o.answer, "R", 0, o.syn.Seq+1))
			require.Equal(t, openings.There|openings.Closed, o.word())
		})
	})
	t.Run("too long", func(t *testing.T) {
		eachUser(t, func(t *testing.T, o *opener) {
			o.hits(o.syn, o.synACK, o.ack)
			long := o.request
			if o.server {
				long = o.answer
			}
			long.Payload = 1450
			require.Equal(t, "held_back", o.passes(long))
			require.NotZero(t, o.word()&0x400, "the agent is asked to promote it")
		})
	})
}
