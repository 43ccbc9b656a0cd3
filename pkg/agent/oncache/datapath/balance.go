// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/shares"
)

// recountInterval is the time between counts of the entries while no map seems nearly full. In that state the programs' counts are
// only displayed. Apart from races, they can only be too high.
const recountInterval = time.Minute

// restAfter is the ratio of the pause before the next count to the duration of the last one. A Balancer thus uses at most
// one part in restAfter of a CPU, however many entries there are. (Counting a million takes half a second or more.)
const restAfter = 20

// objectOf is the map itself.
func (d *Datapath) objectOf(m object.FlowMap) *ebpf.Map {
	return [object.FlowMaps]*ebpf.Map{d.objects.EgressFlows4, d.objects.IngressFlows4, d.objects.EgressFlows6, d.objects.IngressFlows6}[m]
}

// countOf is the programs' count of a slot's entries in a map.
func (d *Datapath) countOf(m object.FlowMap, slot int) *object.BpfOncCount {
	return &d.counts.Elements[object.CountAt(m, slot)]
}

// FlowCount returns the number of entries in all flow maps of the endpoint in a slot. It can be too high for up to a
// minute, or, when a map is nearly full, for the time between two reviews of a Balancer.
func (d *Datapath) FlowCount(slot int) int {
	total := int64(0)
	for m := range object.FlowMaps {
		total += max(0, atomic.LoadInt64(&d.countOf(m, slot).Entries))
	}
	return int(total)
}

// ShareUsedUp reports whether the programs make no entries for new flows of the endpoint in a slot, in one of the flow maps: it is
// nearly full, and the endpoint has its share of it.
func (d *Datapath) ShareUsedUp(slot int) bool {
	for m := range object.FlowMaps {
		l := &d.limits.Elements[m]
		share := atomic.LoadInt64(&l.Share)
		if share > 0 && atomic.LoadInt64(&l.Entries) >= atomic.LoadInt64(&l.Full) && atomic.LoadInt64(&d.countOf(m, slot).Entries) >= share {
			return true
		}
	}
	return false
}

// Balancer divides the flow maps among the endpoints. It tells the programs each endpoint's share, corrects their counts,
// and deletes entries that others are entitled to. It is not safe for concurrent use.
type Balancer struct {
	d       *Datapath
	cpus    int
	counted time.Time
	// took is the duration of the last count.
	took time.Duration
	// refused contains the programs' counts at the last review.
	refused [object.FlowMaps][MaxEndpoints]uint64
}

// NewBalancer makes the only Balancer of a Datapath.
func NewBalancer(d *Datapath) (*Balancer, error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count possible CPUs: %w", err)
	}
	return &Balancer{d: d, cpus: cpus}, nil
}

// Review is called every few seconds. It costs next to nothing while no map is nearly full. Otherwise it reads the flow
// maps once, and a second time if entries have to go.
func (b *Balancer) Review(now time.Time) error {
	since := now.Sub(b.counted)
	if nearlyFull := b.limit(); !nearlyFull && since < recountInterval || since < restAfter*b.took {
		return nil
	}
	begun := time.Now()
	b.counted = now
	defer func() { b.took = time.Since(begun) }()
	held, err := b.count()
	if err != nil {
		return err
	}
	var plans [object.FlowMaps][]shares.Counts
	for m := range object.FlowMaps {
		l := &b.d.limits.Elements[m]
		plans[m] = shares.Plan(int(l.Full), int(l.Share), held[m])
	}
	err = b.drop(&plans, held)
	for m := range object.FlowMaps {
		b.publish(m, held[m])
	}
	return err
}

// limit tells the programs the shares for the present number of endpoints, and reports whether a map seems nearly full.
func (b *Balancer) limit() (nearlyFull bool) {
	var pods [2]int // with an IPv4 and with an IPv6 address
	for slot := range b.d.endpoints.Elements {
		e := &b.d.endpoints.Elements[slot]
		if atomic.LoadUint32(&e.Ifindex) == 0 {
			continue
		}
		if atomic.LoadUint32(&e.Ip4) != 0 {
			pods[0]++
		}
		if e.Ip6 != [4]uint32{} {
			pods[1]++
		}
	}
	for m := range object.FlowMaps {
		l, capacity := &b.d.limits.Elements[m], int(b.d.objectOf(m).MaxEntries())
		full, share := shares.Full(capacity, b.cpus), shares.Share(capacity, b.cpus, pods[m/2])
		atomic.StoreInt64(&l.Full, int64(full))
		atomic.StoreInt64(&l.Share, int64(share))
		nearlyFull = nearlyFull || share > 0 && atomic.LoadInt64(&l.Entries) >= int64(full)
	}
	return nearlyFull
}

// count counts all entries of all slots.
func (b *Balancer) count() (held [object.FlowMaps][]shares.Held, err error) {
	for m := range object.FlowMaps {
		held[m] = make([]shares.Held, MaxEndpoints)
		for slot := range held[m] {
			refused := atomic.LoadUint64(&b.d.countOf(m, slot).Refused)
			held[m][slot].Refused = int(refused - b.refused[m][slot])
			b.refused[m][slot] = refused
		}
	}
	err = b.d.Flows(func(f Flow) bool {
		if f.EndpointSlot < MaxEndpoints {
			held[f.in()][f.EndpointSlot].Counts[f.kind()]++
		}
		return true
	})
	return held, err
}

// drop deletes as many entries as the plans say, and takes them out of held.
func (b *Balancer) drop(plans *[object.FlowMaps][]shares.Counts, held [object.FlowMaps][]shares.Held) error {
	planned := 0
	for m := range object.FlowMaps {
		for _, p := range plans[m] {
			planned += p.All()
		}
	}
	if planned == 0 {
		return nil
	}
	var errs []error
	remove := func(f *Flow, m object.FlowMap, source, destination netip.AddrPort) {
		found, err := b.d.deleteEntry(m, ends{source, destination, f.Protocol})
		if err != nil {
			errs = append(errs, err)
		}
		if !found {
			return
		}
		k := f.kind()
		held[m][f.EndpointSlot].Counts[k]--
		plans[m][f.EndpointSlot][k]--
	}
	err := b.d.Flows(func(f Flow) bool {
		m, k := f.in(), f.kind()
		if f.EndpointSlot >= MaxEndpoints || f.PeerSlot >= MaxEndpoints || plans[m][f.EndpointSlot][k] <= 0 {
			return true
		}
		remove(&f, m, f.Source, f.Destination)
		// TCP must not stay on the fast path with one direction alone.
		if f.Protocol == unix.IPPROTO_TCP && (k == shares.Idle || k == shares.Live) {
			source, destination := f.answer()
			if f.Local {
				f.EndpointSlot = f.PeerSlot
			} else {
				m = m.Opposite()
			}
			remove(&f, m, source, destination)
		}
		return true
	})
	return errors.Join(append(errs, err)...)
}

// publish replaces the programs' counts. Their counts since the review are lost, until the next time.
func (b *Balancer) publish(m object.FlowMap, held []shares.Held) {
	total := int64(0)
	for slot, h := range held {
		n := int64(h.All())
		atomic.StoreInt64(&b.d.countOf(m, slot).Entries, n)
		total += n
	}
	atomic.StoreInt64(&b.d.limits.Elements[m].Entries, total)
}

// in is the map that the flow's entry is in.
func (f *Flow) in() object.FlowMap {
	m := object.Egress4
	if f.Direction == DirectionIngress {
		m = object.Ingress4
	}
	if !f.Source.Addr().Is4() {
		m += object.Egress6
	}
	return m
}

func (f *Flow) kind() shares.Kind {
	switch {
	case !f.CurrentEverybody || !f.CurrentEndpoint || !f.CurrentNode:
		return shares.Void
	case f.LeaseLeft < 0 && !f.Proved():
		return shares.Unanswered
	case f.LeaseLeft < 0:
		return shares.Idle
	}
	return shares.Live
}
