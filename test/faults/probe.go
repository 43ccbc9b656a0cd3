// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// subjectProbe opens connections to a Pod that policies close and open; see policy-forbids-or-allows. All others are forbidden all the time.
const subjectProbe = "subject to target"

// startProbes starts what policies forbid: to a port of a server, from Pods that have no business with it, from a Pod that may send nothing;
// within the Node, between Nodes and through a Service.
func (t *traffic) startProbes() error {
	w := t.w
	rate := func(r float64) string { return fmt.Sprint("--rate=", max(1, r*w.load)) }
	udp := func(to netip.Addr, port int) []string {
		return []string{"udp-ping", fmt.Sprintf("--to=%s:%d", to, port), rate(20)}
	}
	tcp := func(to netip.Addr, port int) []string {
		return []string{"crr", fmt.Sprintf("--to=%s:%d", to, port), "--duration=0", "--tolerant", "--timeout=500ms", rate(10)}
	}
	for _, probe := range []struct {
		name string
		from *cluster.Pod
		args []string
	}{
		{"client to a closed port between Nodes", w.client, udp(w.far.IP, forbiddenPort)},
		{"client to a closed port within the Node", w.client, udp(w.near.IP, forbiddenPort)},
		{"client to a closed port through a Service", w.client, udp(w.farService, forbiddenPort+serviceShift)},
		{"unrelated Pod to an open port between Nodes", w.strangers[1], udp(w.near.IP, echoPort)},
		{"unrelated Pod to an open port within the Node", w.strangers[0], udp(w.near.IP, echoPort)},
		{"unrelated Pod's connections between Nodes", w.strangers[0], tcp(w.far.IP, shortPort)},
		{"unrelated Pod's connections through a Service", w.strangers[0], tcp(w.farService, shortPort+serviceShift)},
		{"mute to target", w.mute, tcp(w.target.IP, shortPort)},
		{subjectProbe, w.subject, tcp(w.target.IP, shortPort)},
	} {
		process, err := t.run(probe.from.Space, append(probe.args, fmt.Sprint("--progress=", watchInterval))...)
		if err != nil {
			return err
		}
		t.probes[probe.name] = &program{process: process}
	}
	return nil
}

// verdicts returns what policies say about each probe, outside of the event that changes it.
func (t *traffic) verdicts() map[string]verdict {
	verdicts := map[string]verdict{}
	for name := range t.probes {
		verdicts[name] = forbidden
	}
	if !t.w.targetForbidden {
		verdicts[subjectProbe] = allowed
	}
	return verdicts
}
