// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Flows is the part of the OpenFlow client that the controller needs.
type Flows = openflow.EgressClient

// Host gives packets their sources by their marks; route.Client implements it.
type Host interface {
	SetEgressMarks(ctx context.Context, marks map[uint8]config.EgressMark) (unreached map[uint8]error, err error)
	FormerEgressMarks() map[uint8]config.EgressMark
}

// realizer brings plans into force. It remembers what is.
type realizer struct {
	flows Flows
	host  Host
	now   func() time.Time

	marks *marks
	// rules are the marks that the host knows, or may know if they are in doubt.
	rules map[uint8]config.EgressMark
	doubt bool
	// links are the devices of addresses for which the host has made the rules.
	links map[netip.Addr]int
	// tunnel are the addresses to which other Nodes send, pods the Egresses of interfaces.
	tunnel map[netip.Addr]bool
	pods   map[string]podFlows
	// former are the Egresses that interfaces had when a former agent ended, of those that have none of pods yet.
	former map[string]podFlows
	shaper shaper
	// kept are addresses that packets do not get any more, with rules that lead established connections nowhere else.
	kept sets.Set[netip.Addr]

	connections *connections
}

// newRealizer returns a realizer that has brought nothing into force. end ends connections of a zone.
func newRealizer(flows Flows, host Host, now func() time.Time, end func(uint16, func(*conntrack.Connection) bool) error) *realizer {
	return &realizer{
		flows: flows, host: host, now: now, tunnel: map[netip.Addr]bool{}, pods: map[string]podFlows{},
		shaper: shaper{flows, map[uint8]openflow.EgressBandwidth{}}, connections: newConnections(end),
	}
}

// realize decides, and makes the Node do it. A source is there before the packets that need it, and goes after them. A Pod's packets are dropped
// while the source that it should have is refused. The plan is returned as it is in force; failed are the interfaces for which it is not.
func (r *realizer) realize(ctx context.Context, w *world, podNetworks []netip.Prefix) (p *plan, failed map[string]error, err error) {
	r.begin()
	p, err = r.makeSources(ctx, w, podNetworks)
	if failed = r.setPods(w, p); len(failed) > 0 {
		return p, failed, errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
	}
	if w.stored {
		return p, nil, err // A former agent may have made more since.
	}
	return p, nil, errors.Join(err, r.cleanUp(ctx, p))
}

// realizeOne does the same for one interface, of which w is the part of the world, and removes nothing of others.
func (r *realizer) realizeOne(ctx context.Context, w *world, podNetworks []netip.Prefix, name string) error {
	r.begin()
	p, _ := r.makeSources(ctx, w, podNetworks)
	return r.setPod(name, p)
}

// begin learns the marks of a former agent.
func (r *realizer) begin() {
	if r.marks == nil {
		r.rules = r.host.FormerEgressMarks()
		r.marks = newMarks(r.rules)
	}
}

// makeSources decides, and makes the sources of the plan. The plan refuses those that cannot be made.
func (r *realizer) makeSources(ctx context.Context, w *world, podNetworks []netip.Prefix) (p *plan, err error) {
	take := func(addr netip.Addr) (uint8, error) { return r.marks.take(addr, r.now()) }
	p = decide(w, podNetworks, take)
	refused, err := r.prepare(ctx, w, p)
	if len(refused) == 0 {
		return p, err
	}
	without := decide(w, podNetworks, func(addr netip.Addr) (uint8, error) {
		if reason := refused[addr]; reason != nil {
			return 0, reason
		}
		return take(addr)
	})
	maps.Copy(without.unlimited, p.unlimited)
	return without, errors.Join(append(slices.Collect(maps.Values(refused)), err)...)
}

// prepare makes the sources of a plan, besides those that are there, and returns why some cannot be used. Each has its bandwidth before packets get
// it. err says why one that is in use has another bandwidth than the plan's. With stored Egresses, a mark keeps the subnet that the host has for it; others may
// have removed its rule or routes while no agent ran.
func (r *realizer) prepare(ctx context.Context, w *world, p *plan) (refused map[netip.Addr]error, err error) {
	refused = map[netip.Addr]error{}
	wanted := maps.Clone(r.rules)
	for addr, mark := range p.marks {
		if former := r.rules[mark]; !w.stored || former.Addr != addr || !former.Subnet.IsSeparate() {
			wanted[mark] = p.meaning(addr)
		}
	}
	r.doubt = r.doubt || r.isElsewhere(w, wanted)
	unreached, err := r.setRules(ctx, wanted)
	if err != nil {
		for addr := range p.marks {
			refused[addr] = err
		}
		return refused, nil
	}
	r.links = w.links
	for addr, mark := range p.marks {
		if reason := unreached[mark]; reason != nil {
			refused[addr] = reason
			continue
		}
		used := r.tunnel[addr]
		limitErr := r.shaper.set(p, addr, mark)
		switch {
		case used:
			err = errors.Join(err, limitErr)
		case limitErr != nil:
			refused[addr] = limitErr
		default:
			if flowErr := r.flows.InstallSNATMarkFlows(addr, mark); flowErr != nil {
				refused[addr] = flowErr
				continue
			}
			r.tunnel[addr] = true
		}
	}
	return refused, err
}

// isElsewhere reports whether an address of another subnet than the Nodes' has another device than before: the routes went with the former one, also if the
// address was away for so short a time that no plan was without it.
func (r *realizer) isElsewhere(w *world, rules map[uint8]config.EgressMark) bool {
	for _, meaning := range rules {
		if meaning.Subnet.IsSeparate() && w.links[meaning.Addr] != r.links[meaning.Addr] {
			return true
		}
	}
	return false
}

// setRules returns for which marks packets cannot leave, which it tries again each time.
func (r *realizer) setRules(ctx context.Context, wanted map[uint8]config.EgressMark) (unreached map[uint8]error, err error) {
	if !r.doubt && maps.Equal(r.rules, wanted) {
		return nil, nil
	}
	if unreached, err = r.host.SetEgressMarks(ctx, wanted); err != nil {
		// No mark has two addresses before cleanUp has succeeded.
		r.doubt = true
		maps.Copy(r.rules, wanted)
		return nil, err
	}
	r.rules, r.doubt = wanted, len(unreached) > 0
	return unreached, nil
}

// remember takes what a former agent has stored: connections of Pods that have another Egress by now end, as if it had changed now.
func (r *realizer) remember(stored *world, podNetworks []netip.Prefix) {
	r.former = decide(stored, podNetworks, func(netip.Addr) (uint8, error) { return 0, nil }).pods
}

// setPods changes the flows of interfaces.
func (r *realizer) setPods(w *world, p *plan) (failed map[string]error) {
	failed = map[string]error{}
	names := sets.KeySet(p.pods).Union(sets.KeySet(r.pods)).Union(sets.KeySet(r.former))
	for name := range names {
		former, remembered := r.former[name]
		if !remembered {
			former = r.pods[name]
		}
		if err := r.setPod(name, p); err != nil {
			failed[name] = err
			continue
		}
		delete(r.former, name)
		if now := r.pods[name]; !slices.Equal(former.sources, now.sources) {
			r.connections.change(w.interfaces[name].addrs, former.sources, now.sources, r.isSeparate, r.now())
		}
	}
	return failed
}

// endExceptions ends connections of Pods with an Egress that have another source, to destinations that only a former agent left alone: its flows may have made
// them until now. TCP connections stay.
func (r *realizer) endExceptions(w *world, former, present []netip.Prefix) {
	e := exceptions{former: former, present: present, sources: map[netip.Addr]netip.Addr{}, until: r.now().Add(markRest)}
	for name, flows := range r.pods {
		for _, addr := range w.interfaces[name].addrs {
			if source := sourceFor(addr, flows.sources); source.IsValid() {
				e.sources[addr] = source
			}
		}
	}
	r.connections.excepted = e
}

// isSeparate reports whether packets with the source leave by another subnet than the Nodes'.
func (r *realizer) isSeparate(source netip.Addr) bool {
	for _, meaning := range r.rules {
		if meaning.Addr == source {
			return meaning.Subnet.IsSeparate()
		}
	}
	return false
}

// endConnections ends connections with sources that are not in force any more. again is the time after which it has to be called again.
func (r *realizer) endConnections(w *world) (again time.Duration, err error) {
	given := func(addr netip.Addr) bool { return r.tunnel[addr] }
	if again, err = r.connections.look(r.now(), given, w.local); err != nil {
		return again, fmt.Errorf("end connections with former sources: %w", err)
	}
	return again, nil
}

// setPod changes the flows of one interface.
func (r *realizer) setPod(name string, p *plan) error {
	has, installed := r.pods[name]
	flows, wanted := p.pods[name]
	switch {
	case wanted && installed && has.equal(flows):
	case wanted:
		if err := r.flows.InstallPodSNATFlows(name, flows.ofPort, flows.sources); err != nil {
			return err
		}
		r.pods[name] = flows
	case installed:
		if err := r.flows.UninstallPodSNATFlows(name); err != nil {
			return err
		}
		delete(r.pods, name)
	}
	return nil
}

// cleanUp removes the sources that the plan does not need.
func (r *realizer) cleanUp(ctx context.Context, p *plan) error {
	var errs []error
	for addr := range r.tunnel {
		if p.marks[addr] != 0 {
			continue
		}
		if err := r.flows.UninstallSNATMarkFlows(addr); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(r.tunnel, addr)
	}
	if err := errors.Join(append(errs, r.shaper.retain(p))...); err != nil {
		return err
	}
	wanted := map[uint8]config.EgressMark{}
	for addr, mark := range p.marks {
		wanted[mark] = p.meaning(addr)
	}
	kept := sets.New[netip.Addr]()
	for mark, meaning := range r.rules {
		if _, refused := p.refused[meaning.Addr]; refused && meaning.Subnet.IsSeparate() {
			wanted[mark] = meaning // its connections go nowhere until they end
			kept.Insert(meaning.Addr)
		}
	}
	former := r.rules
	if _, err := r.setRules(ctx, wanted); err != nil {
		return err
	}
	for _, meaning := range former {
		if p.marks[meaning.Addr] == 0 && !r.kept.Has(meaning.Addr) {
			r.connections.leave(meaning.Addr, meaning.Subnet.IsSeparate(), r.now())
		}
	}
	r.kept = kept
	for addr := range maps.Clone(r.marks.byAddr) {
		if p.marks[addr] == 0 && p.refused[addr] == nil {
			r.marks.giveUp(addr, r.now())
		}
	}
	return nil
}
