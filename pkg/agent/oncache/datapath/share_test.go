// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
)

// neighbour is the world as seen from another Pod of the Node, the n-th (from 1 on).
func (w *world) neighbour(n int) *pod {
	slot := podSlot + n
	a, b := podIP.As4(), podIP6.As16()
	a[3] += byte(n)
	b[15] += byte(n)
	p := &pod{world: *w, slot: slot, ip: netip.AddrFrom4(a), ip6: netip.AddrFrom16(b)}
	p.podIf = device(w.t, fmt.Sprintf("pod%d", n), podMAC)
	p.announce()
	return p
}

// pod is the world as seen from one Pod.
type pod struct {
	world
	slot    int
	ip, ip6 netip.Addr
}

func (w *world) pod() *pod { return &pod{world: *w, slot: podSlot, ip: podIP, ip6: podIP6} }

func (p *pod) announce() {
	generation, _ := p.EndpointState(p.slot)
	p.PublishEndpoint(p.slot, generation+1, 0)
	require.NoError(p.t, p.SetEndpoint(p.slot, Endpoint{IfIndex: p.podIf, IPv4: p.ip, IPv6: p.ip6, MAC: podMAC, GatewayMAC: gatewayMAC}))
	p.PublishEndpoint(p.slot, generation+1, epoch)
}

// flow is packet and answer of the Pod's n-th flow.
func (p *pod) flow(n int, udp bool) (out, in packet) {
	out, in = p.fromPod(), p.toPod()
	out.src, in.dst = p.ip, p.ip
	if p.family.inner6 {
		out.src, in.dst = p.ip6, p.ip6
	}
	out.udp, in.udp = udp, udp
	out.sport, out.dport = uint16(1000+n%60000), uint16(2000+n/60000)
	in.sport, in.dport = out.dport, out.sport
	return out, in
}

// counts is what the programs have counted of the Pod in the maps of its IP version: egress and ingress.
func (p *pod) counts() [2]int64 {
	m := egress4
	if p.family.inner6 {
		m = egress6
	}
	return [2]int64{p.countOf(m, p.slot).Entries, p.countOf(m+1, p.slot).Entries}
}

// totals are the programs' counts of these maps.
func (p *pod) totals() [2]int64 {
	m := egress4
	if p.family.inner6 {
		m = egress6
	}
	return [2]int64{p.limits.elements[m].Entries, p.limits.elements[m+1].Entries}
}

// limit sets the same limits for all maps.
func (w *world) limit(full, share int64) {
	for m := range flowMaps {
		w.limits.elements[m].Full, w.limits.elements[m].Share = full, share
	}
}

// TestEntriesAreCounted: where they are made and where they end, each once.
func TestEntriesAreCounted(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			a, b := w.pod(), w.neighbour(1)
			out, in := a.flow(0, false)
			otherOut, _ := b.flow(0, true)
			require.Equal(t, "learned", a.learnEgress(out).reason)
			require.Equal(t, [2]int64{1, 0}, a.counts())
			require.Equal(t, "learned", a.learnIngress(in).reason)
			require.Equal(t, "learned", b.learnEgress(otherOut).reason)
			require.Equal(t, [2]int64{1, 1}, a.counts())
			require.Equal(t, [2]int64{1, 0}, b.counts())
			require.Equal(t, [2]int64{2, 1}, a.totals())
			require.Equal(t, 2, a.FlowCount(a.slot))

			w.expireAll()
			require.Equal(t, "renewed", a.learnEgress(out).reason)
			require.Equal(t, "renewed", a.learnIngress(in).reason)
			require.Equal(t, [2]int64{1, 1}, a.counts(), "renewed")
			w.BumpAll()
			require.Equal(t, "learned", a.learnEgress(out).reason)
			require.Equal(t, "learned", a.learnIngress(in).reason)
			require.Equal(t, [2]int64{1, 1}, a.counts(), "written again")

			fin := out
			fin.flags = "F"
			for range 2 {
				require.Equal(t, "tcp_flags", a.egress(0, fin.bytes(t)).reason)
				require.Equal(t, [2]int64{0, 0}, a.counts(), "ended")
				require.Equal(t, [2]int64{1, 0}, a.totals())
			}
		})
	}
}

// expireAll ends all leases, of both IP versions and of any number of flows.
func (w *world) expireAll() {
	expire[bpfOncFlow4](w.t, w.objects.EgressFlows4, func(e *bpfOncEgress) { e.V.Lease = 1 })
	expire[bpfOncFlow6](w.t, w.objects.EgressFlows6, func(e *bpfOncEgress) { e.V.Lease = 1 })
	expire[bpfOncFlow4](w.t, w.objects.IngressFlows4, func(e *bpfOncIngress) { e.V.Lease = 1 })
	expire[bpfOncFlow6](w.t, w.objects.IngressFlows6, func(e *bpfOncIngress) { e.V.Lease = 1 })
}

// expire changes entries that have all been read before: one that is written goes to another place.
func expire[K comparable, V any](t testing.TB, m *ebpf.Map, change func(*V)) {
	entries := map[K]V{}
	_, err := each(m, func(k K, v V) bool { entries[k] = v; return true })
	require.NoError(t, err)
	for k, v := range entries {
		change(&v)
		require.NoError(t, m.Put(k, v))
	}
}

// TestEntryOfAFormerOwner: the address has another Pod now, in another slot.
func TestEntryOfAFormerOwner(t *testing.T) {
	w := newWorld(t)
	a, b := w.pod(), w.neighbour(1)
	out, _ := a.flow(0, true)
	require.Equal(t, "learned", a.learnEgress(out).reason)
	generation, _ := a.EndpointState(a.slot)
	a.PublishEndpoint(a.slot, generation+1, 0)
	b.ip = a.ip
	b.announce()
	w.limit(1, 1)
	require.Equal(t, "learned", b.learnEgress(out).reason)
	require.Equal(t, [2]int64{0, 0}, a.counts())
	require.Equal(t, [2]int64{1, 0}, b.counts())
	require.Equal(t, [2]int64{1, 0}, b.totals())
}

// TestShareIsUsedUp: what a Pod with its share of a map that is nearly full may still do.
func TestShareIsUsedUp(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			a, b := w.pod(), w.neighbour(1)
			for n := range 3 {
				out, in := a.flow(n, false)
				a.learn(out, in)
			}
			const full, share = 3, 3
			w.limit(full, share)
			newOut, newIn := a.flow(3, false)
			require.Equal(t, "share", a.learnEgress(newOut).reason)
			require.Equal(t, "share", a.learnIngress(newIn).reason)
			require.Equal(t, [2]int64{3, 3}, a.counts(), "nothing was stored")
			require.Len(t, w.flows(), 6)

			oldOut, oldIn := a.flow(0, false)
			require.Equal(t, "hit", a.egress(0, oldOut.bytes(t)).reason)
			w.expireAll()
			require.Equal(t, "renewed", a.learnEgress(oldOut).reason)
			w.BumpAll()
			require.Equal(t, "learned", a.learnEgress(oldOut).reason, "takes the place of its void entry")
			require.Equal(t, "learned", a.learnIngress(oldIn).reason)

			otherOut, otherIn := b.flow(0, false)
			require.Equal(t, "learned", b.learnEgress(otherOut).reason, "another Pod has its share")
			require.Equal(t, "learned", b.learnIngress(otherIn).reason)

			w.limit(full+2, share)
			require.Equal(t, "learned", a.learnEgress(newOut).reason, "the map is no longer nearly full")
			w.limit(full, share+2)
			require.Equal(t, "learned", a.learnIngress(newIn).reason, "the share has grown")
		})
	}
}

// TestHalfOfARefusedConnection: TCP takes the fast path in both directions or in none.
func TestHalfOfARefusedConnection(t *testing.T) {
	w := newWorld(t)
	a := w.pod()
	out, in := a.flow(0, false)
	require.Equal(t, "learned", a.learnEgress(out).reason)
	w.limit(1, 1)
	otherOut, otherIn := a.flow(1, false)
	w.limits.elements[egress4].Share = 2
	a.learnIngress(in) // takes the share of ingress
	require.Equal(t, "learned", a.learnEgress(otherOut).reason)
	require.Equal(t, "share", a.learnIngress(otherIn).reason)
	require.Equal(t, "not_proved", a.egress(0, otherOut.bytes(t)).reason, "its answers take the slow path")
}

// TestLostHalfNeedsNoRoom: a half that was evicted comes back to the one that is there, or TCP would stay on the fast path in one
// direction. Datagrams need no other half.
func TestLostHalfNeedsNoRoom(t *testing.T) {
	for name, c := range map[string]struct {
		udp  bool
		want string
	}{"TCP": {false, "learned"}, "UDP": {true, "share"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.pod()
			out, in := a.flow(0, c.udp)
			a.learn(out, in)
			w.limit(1, 1)
			require.NoError(t, w.objects.EgressFlows4.Delete(only[bpfOncFlow4](t, w.objects.EgressFlows4)))
			require.Equal(t, c.want, a.learnEgress(out).reason)
			w.expire()
			require.Equal(t, "renewed", a.learnIngress(in).reason)
			a.BumpAll()
			require.NoError(t, w.objects.IngressFlows4.Delete(only[bpfOncFlow4](t, w.objects.IngressFlows4)))
			require.Equal(t, "share", a.learnIngress(in).reason, "what the other half has of former times is no half")
		})
	}
}
