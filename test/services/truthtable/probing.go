// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/services"
)

// trial is a probe with its connections.
type trial struct {
	*services.Probe
	verdict     services.Verdict
	connections []*connection
	reached     map[netip.AddrPort]bool
	// wrong says what is wrong, about culprit if that is one connection.
	wrong   string
	culprit *connection
}

// triesPerEndpoint is the number of connections for each Endpoint that are tried until each Endpoint has got one. With
// 7 Endpoints that choose among themselves at random, one of 10^16 trials fails.
const triesPerEndpoint = 40

// next is the number of connections to try next; 0: the trial is done.
func (t *trial) next() int {
	tried, endpoints := len(t.connections), len(t.verdict.Endpoints)
	switch {
	case t.wrong != "":
		return 0
	case t.Protocol == corev1.ProtocolSCTP && t.mayReachItself():
		return 0 // without ports, both directions of the connection are one to conntrack in user space
	case t.Protocol == corev1.ProtocolSCTP:
		return max(0, 2-tried) // conntrack in user space has room for one at a time
	case t.verdict.Outcome != services.Served || t.verdict.Open:
		return max(0, 1-tried)
	case !t.spreads() && !t.verdict.Affinity:
		return max(0, min(2, endpoints)-tried)
	case t.verdict.Affinity && tried > 0:
		return max(0, 4-tried)
	case t.verdict.Affinity:
		return 1
	case tried == 0:
		return 2*endpoints - 1
	case len(t.reached) == endpoints || tried >= triesPerEndpoint*endpoints:
		return 0
	}
	return min(4*endpoints, mostAtOnce)
}

// mayReachItself reports whether the client is one of the Endpoints.
func (t *trial) mayReachItself() bool {
	return slices.ContainsFunc(t.verdict.Endpoints, func(e services.Endpoint) bool { return e.Address.Addr() == t.Client.IP })
}

// spreads reports whether connections of one client spread over the Endpoints here. UDP connections do not: Open
// vSwitch's datapath in user space leaves ports of UDP out of the hash that chooses (flow_hash_symmetric_l4), unlike
// the kernel's.
func (t *trial) spreads() bool { return t.Protocol == corev1.ProtocolTCP }

// probe tries the probes and returns the trials.
func (b *bench) probe(w *services.World, probes []*services.Probe) ([]*trial, error) {
	for _, n := range b.pair.Nodes {
		n.ForgetConnections()
	}
	b.silent = nil
	var sctp, others []*trial
	for _, p := range probes {
		t := &trial{Probe: p, verdict: w.Verdict(p), reached: map[netip.AddrPort]bool{}}
		if p.Protocol == corev1.ProtocolSCTP {
			sctp = append(sctp, t)
		} else {
			others = append(others, t)
		}
	}
	if err := b.probeSCTP(w, sctp); err != nil {
		return nil, err
	}
	if err := b.probeOthers(w, others); err != nil {
		return nil, err
	}
	for _, t := range others {
		t.judgeAll()
	}
	return append(sctp, others...), nil
}

// probeOthers opens connections in waves, each of which meets what the one before has taught the switch. The first
// connections of clients with affinity are a wave of their own: the switch learns from them, so its megaflows change
// between the waves, not always for the better (see switchpair.Node.ForgetMegaflows).
func (b *bench) probeOthers(w *services.World, trials []*trial) error {
	first := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return !t.verdict.Affinity })
	some, err := b.probeOnce(w, first)
	if some && err == nil {
		for _, n := range b.pair.Nodes {
			n.OVS.Appctl("revalidator/wait") // about half a second
		}
	}
	for some = true; some && err == nil; {
		some, err = b.probeOnce(w, trials)
	}
	return err
}

// probeOnce opens the next connections of the trials, and says whether there are any.
func (b *bench) probeOnce(w *services.World, trials []*trial) (some bool, err error) {
	var wave []*connection
	of := map[*connection]*trial{}
	for _, t := range trials {
		for range t.next() {
			c := b.newConnection(t.Probe)
			of[c], wave = t, append(wave, c)
		}
	}
	if len(wave) == 0 {
		return false, nil
	}
	return true, b.wave(w, wave, of)
}

// probeSCTP opens connections one after the other: to conntrack in user space, which knows no ports of SCTP, all of them between two
// addresses are one, whoever has opened them.
func (b *bench) probeSCTP(w *services.World, trials []*trial) error {
	for _, t := range trials {
		for t.next() > 0 {
			for _, n := range b.pair.Nodes {
				n.ForgetConnections()
			}
			c := b.newConnection(t.Probe)
			if err := b.wave(w, []*connection{c}, map[*connection]*trial{c: t}); err != nil {
				return err
			}
		}
	}
	for _, n := range b.pair.Nodes {
		n.ForgetConnections()
	}
	return nil
}

// wave opens connections and judges them.
func (b *bench) wave(w *services.World, wave []*connection, of map[*connection]*trial) error {
	for _, n := range b.pair.Nodes {
		n.ForgetMegaflows()
	}
	if err := b.open(wave, func(c *connection) bool { return of[c].verdict.Outcome == services.Rejected }); err != nil {
		return err
	}
	for _, c := range wave {
		t := of[c]
		t.connections = append(t.connections, c)
		if wrong := b.judge(w, c, &t.verdict); wrong != "" && t.wrong == "" {
			t.wrong, t.culprit = wrong, c
		}
		if endpoint := c.endpoint(); endpoint.IsValid() {
			t.reached[endpoint] = true
		}
		if t.verdict.Outcome == services.Dropped {
			b.silent = append(b.silent, c)
		}
	}
	return nil
}

// judgeAll judges the connections of a probe together.
func (t *trial) judgeAll() {
	switch {
	case t.wrong != "":
	case slices.ContainsFunc(t.connections, func(c *connection) bool { return c.stray != "" }):
		i := slices.IndexFunc(t.connections, func(c *connection) bool { return c.stray != "" })
		t.wrong, t.culprit = t.connections[i].stray, t.connections[i]
	case t.verdict.Outcome != services.Served || t.verdict.Open:
	case t.verdict.Affinity && len(t.reached) > 1:
		t.wrong = "the client must get the same Endpoint each time"
	case !t.verdict.Affinity && t.spreads() && len(t.reached) < len(t.verdict.Endpoints):
		t.wrong = fmt.Sprintf("%d connections have reached only %d Endpoints", len(t.connections), len(t.reached))
	}
}
