// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// openingMark is the mark of a packet that has opened a connection, hostMark is MARK_NODE.
const openingMark, hostMark = 1<<29 | harness.Epoch<<20, 1 << 31

// opener is a world with connections of one client to one port of a server.
type opener struct {
	*harness.World
	handshake
	server bool // the local Pod is the server
}

func eachOpener(t *testing.T, test func(t *testing.T, o *opener)) {
	for name, f := range harness.Families {
		for _, role := range []string{"client", "server"} {
			t.Run(name+" "+role, func(t *testing.T) {
				w := harness.NewOpeningsWorld(t, f)
				w.StampEndpoint(harness.PodSlot, harness.Epoch+1)
				out, in := w.FromPod(), w.ToPod()
				if role == "server" {
					out.SrcPort, out.DstPort, in.SrcPort, in.DstPort = in.SrcPort, in.DstPort, out.SrcPort, out.DstPort
					test(t, &opener{w, handshakeOf(in, out), true})
					return
				}
				test(t, &opener{w, handshakeOf(out, in), false})
			})
		}
	}
}

// next makes the next connection of the client: another port, other sequence numbers.
func (o *opener) next() {
	for _, p := range []*harness.Packet{&o.syn, &o.ack, &o.request} {
		p.SrcPort++
		p.Seq += 1 << 20
		p.ID++
	}
	for _, p := range []*harness.Packet{&o.synACK, &o.answer} {
		p.DstPort++
		p.Ack += 1 << 20
		p.ID++
	}
}

// send passes the SYN through the first program, and reports whether it has a ticket, and whether an opening covers it.
func (o *opener) send(mark uint32) (after harness.Result, asks, covered bool) {
	o.T.Helper()
	frame := o.syn.Bytes(o.T)
	program := o.Egress
	if o.server {
		program, frame = o.Ingress, o.FromPeer().Wrap(o.T, frame)
	}
	r := program(mark, frame)
	require.Equal(o.T, "tcp_flags", r.Reason)
	require.Equal(o.T, harness.Next, r.Verdict)
	require.Equal(o.T, frame, r.Packet)
	return r, r.Mark&harness.TicketBits != 0, slices.Contains(r.Also, "would_open")
}

// comesOut passes packet p, which was marked by Open vSwitch, through the second program.
func (o *opener) comesOut(mark uint32, p harness.Packet) string {
	o.T.Helper()
	if o.server {
		return o.IngressInit(mark, p.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(o.T)).Reason
	}
	return o.EgressInit(mark, o.ToPeer().Wrap(o.T, p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(o.T))).Reason
}

// asked sends SYNs of further connections until one asks, and returns its mark, as it is behind the root of the pipeline.
func (o *opener) asked() uint32 {
	o.T.Helper()
	for range 2 {
		o.next()
		if r, asks, _ := o.send(0); asks {
			return r.Mark &^ harness.EpochBits
		}
	}
	require.Fail(o.T, "two SYNs have not asked")
	return 0
}

// learn teaches the opening, and proves it.
func (o *opener) learn() {
	o.T.Helper()
	require.Equal(o.T, "opening_learned", o.comesOut(o.asked()|openingMark, o.syn))
	require.Equal(o.T, "learned", learned(o.World, o.synACK))
}

func (o *opener) covers() bool {
	o.T.Helper()
	o.next()
	_, _, covered := o.send(0)
	return covered
}

func (o *opener) openings() (all []datapath.Opening) {
	o.T.Helper()
	require.NoError(o.T, o.Openings(func(opening datapath.Opening) bool { all = append(all, opening); return true }))
	return all
}

// entry is the only opening as it is in the map.
func (o *opener) entry() (key object.BpfOncFlow6, value object.BpfOncOpening) {
	o.T.Helper()
	require.NoError(o.T, o.Maps.Openings.NextKey(nil, &key))
	require.NoError(o.T, o.Maps.Openings.Lookup(key, &value))
	return key, value
}

// change changes the only opening.
func (o *opener) change(change func(*object.BpfOncOpening)) {
	o.T.Helper()
	key, value := o.entry()
	change(&value)
	require.NoError(o.T, o.Maps.Openings.Put(key, value))
}

// due makes the last probe of the only opening a lease old.
func (o *opener) due() {
	o.T.Helper()
	lease, now := uint32(o.Control().Lease), uint32(o.Jiffies(o.T))
	o.change(func(v *object.BpfOncOpening) { v.V.Probed = now - lease })
}

// TestOpening: the second SYN of a client to a port asks, Open vSwitch's mark on it teaches the opening, and the server's answer proves it. From
// then on SYNs of other ports of the client are covered, and none asks.
func TestOpening(t *testing.T) {
	eachOpener(t, func(t *testing.T, o *opener) {
		o.SetLease(time.Minute)
		began := time.Now()
		_, asks, covered := o.send(0)
		require.False(t, asks || covered, "the first of its kind")
		o.next()
		r, asks, covered := o.send(0)
		require.True(t, asks)
		require.False(t, covered)
		require.Zero(t, r.Mark&harness.StampBit, "a stamp that is left over must not look like a verdict")
		require.EqualValues(t, harness.Epoch+1, r.Mark>>20)
		require.Equal(t, "opening_learned", o.comesOut(r.Mark&^harness.EpochBits|openingMark, o.syn))
		require.Empty(t, o.Entries(), "a SYN teaches no flow")

		require.False(t, o.covers(), "there was no answer")
		require.Equal(t, "learned", learned(o.World, o.synACK))
		for range 3 {
			o.next()
			_, asks, covered = o.send(0)
			require.True(t, covered)
			require.False(t, asks)
		}
		all := o.openings()
		require.Len(t, all, 1)
		f := all[0].Validity
		require.EqualValues(t, 3, all[0].Covered)
		require.True(t, f.Active())
		require.Equal(t, o.syn.Src, f.Source.Addr())
		require.Equal(t, o.syn.Dst, f.Destination.Addr())
		require.EqualValues(t, 80, f.Destination.Port())
		require.Equal(t, o.server, f.Direction == datapath.DirectionIngress)
		require.Equal(t, harness.PodSlot, f.EndpointSlot)
		require.Equal(t, harness.PeerSlot, f.NodeSlot)
		requireLease(t, time.Minute, f.LeaseLeft, began)

		o.syn.DstPort++
		require.False(t, o.covers(), "another port of the server")
	})
}

// TestNoOpening: only a SYN that Open vSwitch has marked as one that opens a connection, by the present rules of the Pod, teaches.
func TestNoOpening(t *testing.T) {
	for name, test := range map[string]struct {
		mark   uint32
		change func(*harness.Packet)
		want   string
	}{
		"no mark":                       {0, nil, "not_established"},
		"mark of established":           {harness.Epoch << 20, nil, "not_established"},
		"stamp that is left over":       {(harness.Epoch + 1) << 20, nil, "not_established"},
		"former rules":                  {openingMark - 1<<20, nil, "stale_epoch"},
		"rules for the host":            {openingMark | hostMark, nil, "not_established"},
		"another DSCP":                  {openingMark, func(p *harness.Packet) { p.ToS = 0x20 }, "rewritten"},
		"another SYN":                   {openingMark, func(p *harness.Packet) { p.Seq++ }, "no_ticket"},
		"another port":                  {openingMark, func(p *harness.Packet) { p.SrcPort++ }, "rewritten"},
		"another kind with that number": {openingMark, func(p *harness.Packet) { p.Flags = "" }, "no_ticket"},
	} {
		t.Run(name, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, o *opener) {
				mark := o.asked()
				out := o.syn
				if test.change != nil {
					test.change(&out)
				}
				reason := o.comesOut(mark|test.mark, out)
				if name == "another port" && o.server {
					// The peer's port: it may be a Service's, which has no openings.
					require.Contains(t, []string{"rewritten", "no_ticket"}, reason)
				} else {
					require.Equal(t, test.want, reason)
				}
				require.Empty(t, o.openings())
			})
		})
	}
	t.Run("segment in the middle", func(t *testing.T) {
		eachOpener(t, func(t *testing.T, o *opener) {
			o.ack.Payload = 1
			misses(o.World, o.ack)
			mark := ticket(o.World, o.ack)
			require.Equal(t, "stale_epoch", o.comesOut(mark|openingMark, o.ack))
			require.Empty(t, o.openings())
			require.Empty(t, o.Entries())
		})
	})
	t.Run("no promise", func(t *testing.T) {
		eachOpener(t, func(t *testing.T, o *opener) {
			mark := o.asked()
			o.Control().Until = 1
			require.Equal(t, "no_agent", o.comesOut(mark|openingMark, o.syn))
			require.Empty(t, o.openings())
		})
	})
}

// TestNoTicketForSYN: SYNs that say nothing about other connections do not ask, and without openings no SYN does.
func TestNoTicketForSYN(t *testing.T) {
	eachOpener(t, func(t *testing.T, o *opener) {
		for range 3 {
			o.next()
			_, asks, _ := o.send(hostMark)
			require.False(t, asks, "rules for the host")
		}
		g := o.AddGateway()
		if o.server {
			o.syn.Dst = harness.GatewayIP
			if o.Family.Inner6 {
				o.syn.Dst = harness.GatewayIP6
			}
			for range 3 {
				o.next()
				_, asks, _ := o.send(0)
				require.False(t, asks, "to the host")
			}
		} else {
			p := segment(g.FromHost(), "-S", 5, 0)
			for range 3 {
				require.Zero(t, g.Egress(0, p.Bytes(t)).Mark&harness.TicketBits, "from the host")
			}
		}
		require.Empty(t, o.openings())
	})
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		ends(w, h.syn, h.syn, h.syn)
		require.Equal(t, "learned", learned(w, h.synACK))
		require.NoError(t, w.Openings(func(datapath.Opening) bool { require.Fail(t, "an opening"); return false }))
	})
}

// TestOpeningIsVoid: a change of the Pod's rules, of the Node, or of everything voids an opening. An answer that passes by other rules does not
// prove it.
func TestOpeningIsVoid(t *testing.T) {
	for name, change := range map[string]func(*opener){
		"Pod":  func(o *opener) { changed(o.World, harness.PodSlot) },
		"Node": func(o *opener) { o.BumpNode(harness.PeerSlot) },
		"all":  func(o *opener) { o.BumpAll() },
	} {
		t.Run(name, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, o *opener) {
				o.learn()
				require.True(t, o.covers())
				change(o)
				require.False(t, o.covers(), "it has just been learned, so nothing asks yet")
				o.due()
				o.next()
				r, asks, covered := o.send(0)
				require.True(t, asks)
				require.False(t, covered)
				require.Equal(t, "opening_learned", o.comesOut(r.Mark&^harness.EpochBits|openingMark, o.syn))
				require.False(t, o.covers(), "the answer was to a connection by other rules")

				change(o)
				require.Equal(t, "learned", learned(o.World, o.synACK))
				require.False(t, o.covers(), "the answer is to a connection by other rules")
			})
		})
	}
}

// TestOpeningLease: in the last quarter of the lease one SYN in a while asks, and renews it. Afterwards none is covered.
func TestOpeningLease(t *testing.T) {
	eachOpener(t, func(t *testing.T, o *opener) {
		o.learn()
		const lease = 1 << 20 // not even a sixteenth of it passes during the test
		o.Control().Lease = lease
		now := o.Jiffies(t)
		o.change(func(v *object.BpfOncOpening) { v.V.Lease, v.V.Probed = now+lease/8, uint32(now)-lease/16 })
		mark := o.asked()
		require.True(t, o.covers(), "the probe is in flight")
		o.syn.SrcPort, o.syn.Seq, o.syn.ID = o.syn.SrcPort-1, o.syn.Seq-1<<20, o.syn.ID-1
		require.Equal(t, "opening_renewed", o.comesOut(mark|openingMark, o.syn))
		require.InDelta(t, lease*harness.JiffyLength(t), o.openings()[0].Validity.LeaseLeft, float64(time.Minute))
		require.True(t, o.covers())

		o.change(func(v *object.BpfOncOpening) { v.V.Lease = now - 1 })
		require.False(t, o.covers())
		o.change(func(v *object.BpfOncOpening) { v.V.Lease = now + lease })
		require.True(t, o.covers())
		o.Control().Until = now - 1
		require.False(t, o.covers(), "no agent has promised to look after connections")
		o.Control().Until = now + lease
		require.True(t, o.covers())
	})
}

// TestOpeningOfOthers: an opening stands for connections between its own Pod and its own Node, and an element that belongs to another opening is not
// written to.
func TestOpeningOfOthers(t *testing.T) {
	for name, change := range map[string]func(*object.BpfOncOpening){
		"another Pod's":  func(v *object.BpfOncOpening) { v.V.Endpoint++ },
		"another Node's": func(v *object.BpfOncOpening) { v.V.Node++ },
	} {
		t.Run(name, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, o *opener) {
				o.learn()
				require.True(t, o.covers())
				o.change(change)
				require.False(t, o.covers())
				o.due()
				require.Equal(t, "opening_learned", o.comesOut(o.asked()|openingMark, o.syn))
				require.Equal(t, "learned", learned(o.World, o.synACK))
				require.True(t, o.covers())
			})
		})
	}
	t.Run("another opening's", func(t *testing.T) {
		eachOpener(t, func(t *testing.T, o *opener) {
			o.learn()
			o.change(func(v *object.BpfOncOpening) { v.V.Tag++ })
			o.due()
			changed(o.World, harness.PodSlot)
			_, before := o.entry()
			require.False(t, o.covers())
			require.Equal(t, "learned", learned(o.World, o.synACK))
			_, after := o.entry()
			require.Equal(t, before, after)
		})
	})
}

// TestSYNsThatTeachNothing: SYNs from ever new ports that never come out of Open vSwitch take few tickets from others.
func TestSYNsThatTeachNothing(t *testing.T) {
	tickets := func(o *opener) (n int) {
		for range 100 {
			o.next()
			_, asks, covered := o.send(0)
			require.False(t, covered)
			if asks {
				n++
			}
		}
		return n
	}
	const lease = 1 << 20 // not even a sixteenth of it passes during the test
	for name, void := range map[string]func(*opener){
		"stale": func(o *opener) { changed(o.World, harness.PodSlot) },
		"over": func(o *opener) {
			now := o.Jiffies(t)
			o.change(func(v *object.BpfOncOpening) { v.V.Lease = now - 1 })
		},
		"over, leases are held": func(o *opener) {
			now := o.Jiffies(t)
			o.change(func(v *object.BpfOncOpening) { v.V.Lease = now - 1 })
			o.Control().HeldFrom, o.Control().HeldUntil = now-lease, now+lease
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, o *opener) {
				o.learn()
				o.Control().Lease = lease
				o.due()
				void(o)
				require.Equal(t, 1, tickets(o))
			})
		})
	}
	t.Run("no opening", func(t *testing.T) {
		eachOpener(t, func(t *testing.T, o *opener) {
			n := tickets(o)
			require.Positive(t, n)
			require.Less(t, n, 15, "one, and one in 64 of the others")
		})
	})
}
