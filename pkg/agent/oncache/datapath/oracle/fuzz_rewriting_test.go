// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// FuzzRewriting is FuzzCases for programs that rewrite: packets of a Pod whose flow has a key, and rewritten packets that arrive. It
// edits as FuzzCases does, and also edits keys.
func FuzzRewriting(f *testing.F) {
	w := newRewritingFuzzWorld(f, harness.NewRewritingWorld)
	for kind := range 32 {
		f.Add([]byte{byte(kind)})
		f.Add([]byte{byte(kind) | 64})
	}
	f.Fuzz(w.checkRewriting)
}

// TestRandomRewriting has inputs as FuzzRewriting makes them, where go does not fuzz: what runs depends on what the kernel tells of checksums
// (object.FindSummed), and kernels in virtual machines tell it.
func TestRandomRewriting(t *testing.T) {
	t.Run("knowing ip_summed", func(t *testing.T) { testRandomRewriting(t, newRewritingFuzzWorld(t, harness.NewRewritingWorld)) })
	t.Run("by helpers", func(t *testing.T) { testRandomRewriting(t, newRewritingFuzzWorld(t, harness.NewHelpersWorld)) })
}

func testRandomRewriting(t *testing.T, w *fuzzWorld) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		input := make([]byte, 1+random.IntN(48))
		for i := range input {
			input[i] = byte(random.Uint32())
		}
		// A test of its own, because one that is skipped ends.
		t.Run("", func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d, input %q", seed, input)
				}
			}()
			w.checkRewriting(t, input)
		})
	}
}

func newRewritingFuzzWorld(t testing.TB, world func(testing.TB, harness.Family) *harness.World) *fuzzWorld {
	w := newFuzzWorldOf(t, world(t, harness.Family{}))
	for kind := range w.bases {
		w.makeRewriting(&w.bases[kind], kind&1 != 0)
	}
	return w
}

func (w *fuzzWorld) checkRewriting(t *testing.T, input []byte) {
	c := w.cookRewriting(input)
	if c.ingress && c.isRewritten() {
		w.checkRewritten(t, c)
	} else if !c.ingress {
		w.check(t, c)
	}
}

const (
	// fuzzKeyLife is the life of keys in jiffies: so long that none ends by itself.
	fuzzKeyLife = 1 << 24
	fuzzKey     = 4567
)

// heard is the key of an egress entry. An entry whose tunnel has another IP version has none.
func (w *fuzzWorld) heard(t *testing.T, s *oracle.State) object.BpfOncKeys {
	k, flow := s.Heard, s.Entry.Flow
	if k == nil || flow.Source.Addr().Is6() != s.Node.Address.Is6() {
		return object.BpfOncKeys{}
	}
	ends := s.Node.Header[14+12:]
	length := 4
	if s.Node.Address.Is6() {
		ends, length = s.Node.Header[14+8:], 16
	}
	var nodes [2]netip.Addr
	for i := range nodes {
		nodes[i], _ = netip.AddrFromSlice(ends[i*length:][:length])
	}
	until := w.Jiffies(t) >> 6
	if k.Alive {
		until += fuzzKeyLife >> 6
	}
	return object.BpfOncKeys{
		Heard:  harness.Heard(k.Key, until, harness.Hash(harness.FiveTuple(k.Flow)), k.TTL),
		Change: harness.AddressChange([2]netip.Addr{flow.Source.Addr(), flow.Destination.Addr()}, nodes),
	}
}

// give puts a key into the map, in place of the one of the last case.
func (w *fuzzWorld) give(t *testing.T, s *oracle.State) {
	g := s.Given
	*w.RestoreAt(w.given) = object.BpfOncRestore{}
	w.given = g.Key
	r := w.RestoreAt(g.Key)
	*r = object.BpfOncRestore{Serial: 2, Ttl: g.TTL, Owner: object.Wire6(g.Owner), Tag: harness.Hash(harness.FiveTuple(g.Flow))}
	if g.Owner.Is4() {
		r.Owner = [4]uint32{object.Wire4(g.Owner)}
	}
	k4, k6, six := harness.Keys(harness.FiveTuple(g.Flow))
	if r.Key6 = k6; six {
		r.Ipv6 = 1
	} else {
		r.Key6 = object.BpfOncFlow6{Saddr: [4]uint32{k4.Saddr, k4.Daddr, uint32(k4.Sport) | uint32(k4.Dport)<<16, uint32(k4.Proto)}}
	}
	uplink := s.Uplink.IPv4
	if six {
		uplink = s.Uplink.IPv6
	}
	if uplink.IsValid() && g.Owner.Is6() == six {
		flow := [2]netip.Addr{g.Flow.Source.Addr(), g.Flow.Destination.Addr()}
		r.Change = harness.AddressChange([2]netip.Addr{g.Owner, uplink}, flow)
	}
	if r.Told = w.Jiffies(t); !g.Kept {
		r.Told -= 2 * fuzzKeyLife
	}
}

// cookRewriting makes a case from a recipe, like cook. Arriving packets have the same IP version inside and outside.
func (w *fuzzWorld) cookRewriting(r recipe) *fuzzCase {
	kind := r.next()
	if kind&8 != 0 {
		kind = kind&^2 | kind&1<<1
	}
	c := w.bases[kind%16].clone()
	if kind&64 != 0 {
		c.state.Entry.Translated = w.serviceEnd(c)
	}
	c.state.Heard = &oracle.Heard{Key: fuzzKey, TTL: 63, Alive: true, Flow: c.state.Entry.Flow}
	if e := c.state.Entry; !c.ingress && e.Translated.IsValid() {
		c.state.Heard.Flow.Destination = e.Translated
	}
	for i := 0; i < maxEdits && len(r) > 0; i++ {
		if n := int(r.next()) % (len(edits) + 4); n < len(edits) {
			if n != adoption || !c.ingress {
				edits[n](w, c, &r)
			}
		} else {
			editKeys(c, &r)
		}
	}
	if kind&32 == 0 {
		c.sum()
	}
	c.state.Endpoint.Interface &= 1<<31 - 1 // the kernel has no others
	return c
}

// adoption is the number of the edit that knows tunnel packets only.
const adoption = 8

// makeRewriting makes a base case of programs that rewrite. A packet that arrives is rewritten; its IP version is the flow's.
func (w *fuzzWorld) makeRewriting(c *fuzzCase, six bool) {
	c.state.Rewriting = true
	if !c.ingress || c.state.Node.Address.Is6() != six {
		return
	}
	of := harness.World{T: w.T, Family: harness.Family{Inner6: six, Outer6: six}}
	p := of.ToPod()
	p.UDP = c.state.Entry.Flow.Protocol == 17
	c.state.Given = &oracle.Given{Key: fuzzKey, Owner: c.state.Node.Address, Flow: c.state.Entry.Flow, TTL: p.TTL, Kept: true}
	c.packet.Frame = of.RewrittenFromPeer(p, fuzzKey).Bytes(w.T)
	c.rewritten = true
}

// editKeys changes what is known about keys.
func editKeys(c *fuzzCase, r *recipe) {
	h, g := c.state.Heard, c.state.Given
	switch n := r.next() % 11; {
	case n == 0:
		h.Alive = false
	case n == 1:
		h.Key = uint16(r.next())
	case n == 2:
		h.TTL += r.next() % 4
	case n == 3:
		h.Flow.Source = netip.AddrPortFrom(h.Flow.Source.Addr(), h.Flow.Source.Port()^uint16(r.next()))
	case n == 4: // DF, in a frame of IPv4
		if len(c.packet.Frame) > 34 {
			c.packet.Frame[14+6] ^= 0x40
		}
	case g == nil:
	case n == 5:
		g.Kept = false
	case n == 6:
		g.Key = uint16(r.next())
	case n == 7:
		b := g.Owner.AsSlice()
		b[len(b)-1] ^= r.next() % 4
		g.Owner, _ = netip.AddrFromSlice(b)
	case n == 8:
		g.TTL = r.next()
	case n == 9:
		g.Flow.Protocol = []byte{6, 17}[r.next()%2]
	case n == 10:
		c.packet.Frame = append(c.packet.Frame, make([]byte, r.next()%24)...)
	}
}

// isRewritten reports whether the packet, read without options, has the port of rewritten packets. FuzzCases covers all other packets.
func (c *fuzzCase) isRewritten() bool {
	flow, ok := harness.FiveTupleIn(c.packet.Frame, 14)
	return ok && flow.Destination.Port() == c.state.Uplink.RewritePort
}

// checkRewritten is check for rewritten packets that arrive.
func (w *fuzzWorld) checkRewritten(t *testing.T, c *fuzzCase) {
	remove := w.install(t, c)
	defer remove()
	r := w.pass(t, c)
	hit := r.Verdict() == harness.Redirect
	w.stats.note(hit)
	frame, encapsulated, refused := oracle.IngressRewritten(&c.state, &c.packet)
	got, untouched := r.Packet(), c.packet.Unpadded().Frame
	switch {
	case hit && refused != nil:
		t.Fatalf("let through, but the design refuses it: %v\n%s", refused, c)
	case !hit && refused == nil:
		t.Fatalf("refused (%s), but the design lets it through\n%s", w.reason(t, c, r), c)
	case hit && !bytes.Equal(frame, got):
		t.Fatalf("let through, but changed differently than the design says (- want, + got):\n%s\n%s", cmp.Diff(frame, got), c)
	case hit:
	case refused == oracle.Unknown:
		if r.Verdict() != harness.Shot || !bytes.Equal(got, untouched) {
			t.Fatalf("not passed on: verdict %d for %v\n%s", r.Verdict(), refused, c)
		}
	case encapsulated == nil:
		if r.Verdict() != harness.Next || !bytes.Equal(got, untouched) {
			t.Fatalf("not a hit (%v), but not passed on untouched: verdict %d\n%s\n%s", refused, r.Verdict(), cmp.Diff(untouched, got), c)
		}
	case c.packet.Segment > 0: // the kernel does not change the room in a super-packet without a type
	default:
		port := 14 + 20
		if c.state.Node.Address.Is6() {
			port += 20
		}
		require.Greater(t, len(got), port+2, "%s", c)
		copy(encapsulated[port:port+2], got[port:port+2])
		if r.Verdict() != harness.Next || !bytes.Equal(encapsulated, got) {
			t.Fatalf("not a hit (%v), but not passed on as encapsulated: verdict %d\n%s\n%s", refused, r.Verdict(), cmp.Diff(encapsulated, got), c)
		}
	}
}
