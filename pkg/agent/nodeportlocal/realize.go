// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// Host leads ports of the Node to Pods; route.Client implements it.
type Host interface {
	SetPodPorts(ctx context.Context, ports []route.PodPort) error
	FormerPodPorts() []route.PodPort
}

// retired is the host without the feature: Initialize has removed the rules.
type retired struct{ Host }

func (retired) SetPodPorts(context.Context, []route.PodPort) error { return nil }

// realizer brings plans into force. It remembers what is.
type realizer struct {
	host  Host
	ports *ports
	end   func(gone, begun map[route.PodPort]bool) error

	// rules are in force, or may be if they are in doubt, with the Pods that they are for; rules of a former agent are for the Pods that had the
	// addresses at the start.
	rules map[route.PodPort]types.NamespacedName
	doubt bool
	// gone are the rules whose connections have to end, begun the new ones, for whose ports there may be older flows.
	gone, begun map[route.PodPort]bool
	// planned is set when a plan has been in force.
	planned bool
}

func newRealizer(host Host, from *ports, end func(gone, begun map[route.PodPort]bool) error, holders map[netip.Addr]types.NamespacedName) *realizer {
	r := &realizer{host: host, ports: from, end: end, rules: map[route.PodPort]types.NamespacedName{}, gone: map[route.PodPort]bool{}, begun: map[route.PodPort]bool{}}
	for _, rule := range host.FormerPodPorts() {
		r.rules[rule] = holders[rule.Pod.Addr()]
	}
	return r
}

// realize decides, and makes the Node do it. Ports that lead nowhere any more are given up after their rules.
func (r *realizer) realize(ctx context.Context, w *world) (*plan, error) {
	if !r.planned {
		restore(w, r.ports, slices.Collect(maps.Keys(r.rules)))
	}
	p := decide(w, r.ports)
	wanted := map[route.PodPort]types.NamespacedName{}
	for _, rule := range p.rules {
		wanted[rule] = w.holders[rule.Pod.Addr()]
	}
	if err := r.set(ctx, wanted); err != nil {
		return p, err
	}
	r.planned = true
	r.ports.keep(p.owners)
	return p, nil
}

// arrives makes sure that no rule, and no connection by a former rule, leads to addresses of another Pod that the Pod has got.
func (r *realizer) arrives(ctx context.Context, pod types.NamespacedName, addresses []netip.Addr) error {
	stale := func(rule route.PodPort) bool { return slices.Contains(addresses, rule.Pod.Addr()) }
	kept := maps.Clone(r.rules)
	maps.DeleteFunc(kept, func(rule route.PodPort, holder types.NamespacedName) bool { return stale(rule) && holder != pod })
	for rule := range r.gone {
		if stale(rule) {
			return r.set(ctx, kept)
		}
	}
	if len(kept) == len(r.rules) {
		return nil
	}
	return r.set(ctx, kept)
}

// set replaces the rules, and then ends the connections of those that are gone.
func (r *realizer) set(ctx context.Context, wanted map[route.PodPort]types.NamespacedName) error {
	for rule, holder := range r.rules {
		if now, stays := wanted[rule]; !stays || now != holder {
			r.gone[rule] = true
		}
	}
	for rule := range wanted {
		if _, there := r.rules[rule]; !there {
			r.begun[rule] = true
		}
	}
	if r.doubt || !sameRules(r.rules, wanted) {
		if err := r.host.SetPodPorts(ctx, slices.Collect(maps.Keys(wanted))); err != nil {
			r.doubt = true
			maps.Copy(r.rules, wanted)
			return err
		}
		r.doubt = false
	}
	r.rules = wanted
	return r.endGone()
}

func (r *realizer) endGone() error {
	if len(r.gone)+len(r.begun) == 0 {
		return nil
	}
	if err := r.end(r.gone, r.begun); err != nil {
		return err
	}
	clear(r.gone)
	clear(r.begun)
	return nil
}

func sameRules(a, b map[route.PodPort]types.NamespacedName) bool {
	return maps.EqualFunc(a, b, func(types.NamespacedName, types.NamespacedName) bool { return true })
}
