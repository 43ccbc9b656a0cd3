// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Flows is the part of the OpenFlow client that the controller needs.
type Flows = openflow.EgressClient

// Host gives packets their sources by their marks; route.Client implements it.
type Host interface {
	SetEgressMarks(ctx context.Context, marks map[uint8]netip.Addr) error
	FormerEgressMarks() map[uint8]netip.Addr
}

// realizer brings plans into force. It remembers what is.
type realizer struct {
	flows Flows
	host  Host
	now   func() time.Time

	marks *marks
	// rules are the marks that the host knows, or may know if they are in doubt.
	rules map[uint8]netip.Addr
	doubt bool
	// tunnel are the addresses to which other Nodes send, pods the Egresses of interfaces.
	tunnel map[netip.Addr]bool
	pods   map[string]podFlows
}

func newRealizer(flows Flows, host Host, now func() time.Time) *realizer {
	return &realizer{flows: flows, host: host, now: now, tunnel: map[netip.Addr]bool{}, pods: map[string]podFlows{}}
}

// realize decides, and makes the Node do it. A source is there before the packets that need it, and goes after them. A Pod's packets are dropped
// while the source that it should have is refused. The plan is returned as it is in force; failed are the interfaces for which it is not.
func (r *realizer) realize(ctx context.Context, w *world, podNetworks []netip.Prefix) (p *plan, failed map[string]error, err error) {
	if r.marks == nil {
		r.rules = r.host.FormerEgressMarks()
		r.marks = newMarks(r.rules)
	}
	take := func(addr netip.Addr) (uint8, error) { return r.marks.take(addr, r.now()) }
	p = decide(w, podNetworks, take)
	if refused := r.prepare(ctx, p); len(refused) > 0 {
		err = errors.Join(slices.Collect(maps.Values(refused))...)
		p = decide(w, podNetworks, func(addr netip.Addr) (uint8, error) {
			if reason := refused[addr]; reason != nil {
				return 0, reason
			}
			return take(addr)
		})
	}
	if failed = r.setPods(p); len(failed) > 0 {
		return p, failed, errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
	}
	return p, nil, errors.Join(err, r.cleanUp(ctx, p))
}

// prepare makes the sources of a plan, besides those that are there, and returns why some cannot be used.
func (r *realizer) prepare(ctx context.Context, p *plan) (refused map[netip.Addr]error) {
	refused = map[netip.Addr]error{}
	wanted := maps.Clone(r.rules)
	for addr, mark := range p.marks {
		wanted[mark] = addr
	}
	if err := r.setRules(ctx, wanted); err != nil {
		for addr := range p.marks {
			refused[addr] = err
		}
		return refused
	}
	for addr, mark := range p.marks {
		if r.tunnel[addr] {
			continue
		}
		if err := r.flows.InstallSNATMarkFlows(addr, mark); err != nil {
			refused[addr] = err
			continue
		}
		r.tunnel[addr] = true
	}
	return refused
}

func (r *realizer) setRules(ctx context.Context, wanted map[uint8]netip.Addr) error {
	if !r.doubt && maps.Equal(r.rules, wanted) {
		return nil
	}
	if err := r.host.SetEgressMarks(ctx, wanted); err != nil {
		// No mark has two addresses before cleanUp has succeeded.
		r.doubt = true
		maps.Copy(r.rules, wanted)
		return err
	}
	r.rules, r.doubt = wanted, false
	return nil
}

// setPods changes the flows of interfaces.
func (r *realizer) setPods(p *plan) (failed map[string]error) {
	failed = map[string]error{}
	for name, flows := range p.pods {
		if has, ok := r.pods[name]; ok && has.equal(flows) {
			continue
		}
		if err := r.flows.InstallPodSNATFlows(name, flows.ofPort, flows.sources); err != nil {
			failed[name] = err
			continue
		}
		r.pods[name] = flows
	}
	for name := range r.pods {
		if _, wanted := p.pods[name]; wanted {
			continue
		}
		if err := r.flows.UninstallPodSNATFlows(name); err != nil {
			failed[name] = err
			continue
		}
		delete(r.pods, name)
	}
	return failed
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
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	wanted := map[uint8]netip.Addr{}
	for addr, mark := range p.marks {
		wanted[mark] = addr
	}
	if err := r.setRules(ctx, wanted); err != nil {
		return err
	}
	for addr := range maps.Clone(r.marks.byAddr) {
		if p.marks[addr] == 0 && p.refused[addr] == nil {
			r.marks.giveUp(addr, r.now())
		}
	}
	return nil
}
