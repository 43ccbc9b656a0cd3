// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// cost is the cost of a program, less an empty program's.
type cost struct {
	name string
	// hit: the program is the fast path; budget: its cost must not grow.
	hit, budget bool
	// ns is the median.
	ns float64
	// ratio is the cost in bare lookups, the median over rounds; low and high are its quartiles. 0 for yardsticks.
	ratio, low, high float64
}

func measureCosts(t *testing.T) (out []cost) {
	six := harness.Family{Inner6: true, Outer6: true}
	for _, f := range []harness.Family{{}, six} {
		out = append(out, costsIn(t, f, oneFlow)...)
	}
	return append(append(out, costsIn(t, harness.Family{}, fewFlows)...), costsIn(t, harness.Family{}, manyFlows)...)
}

// costsIn measures all subjects in a world of their own.
func costsIn(t *testing.T, f harness.Family, name string) (out []cost) {
	sc := scenarios[name]
	sc.rounds *= *costRounds
	version := "IPv4"
	if f.Inner6 {
		version = "IPv6"
	}
	title := fmt.Sprintf("%s, %s", version, name)
	require.True(t, t.Run(title, func(t *testing.T) {
		w := newCostWorld(t, f, sc.flows)
		subjects := w.subjects(t, name == oneFlow)
		before, err := w.Counters()
		require.NoError(t, err)
		sc.measure(t, subjects)
		after, err := w.Counters()
		require.NoError(t, err)
		for _, program := range []string{"egress", "ingress"} {
			require.EqualValues(t, sc.rounds*sc.batch, after[program]["hit"]-before[program]["hit"], "%s: hits", program)
		}
		out = costsOf(subjects, title+": ", name != fewFlows)
	}))
	return out
}

// subjects returns yardsticks and hits of both directions and, if others is set, programs with packets that do not concern the
// cache. The yardsticks of a direction precede its programs.
func (w *costWorld) subjects(t *testing.T, others bool) []*subject {
	in := newInstrument(t)
	egressFlows, ingressFlows := w.Maps.EgressFlows4, w.Maps.IngressFlows4
	bytes := int(w.inAddresses - w.outAddresses)
	encap := int64(14<<unix.BPF_ADJ_ROOM_ENCAP_L2_SHIFT | unix.BPF_F_ADJ_ROOM_ENCAP_L2_ETH | unix.BPF_F_ADJ_ROOM_ENCAP_L4_UDP)
	if w.Family.Outer6 {
		encap |= unix.BPF_F_ADJ_ROOM_ENCAP_L3_IPV6
	} else {
		encap |= unix.BPF_F_ADJ_ROOM_ENCAP_L3_IPV4
	}
	if w.Family.Inner6 {
		egressFlows, ingressFlows = w.Maps.EgressFlows6, w.Maps.IngressFlows6
	}
	egress := func(name string, p *ebpf.Program) *subject {
		return in.subject(name, p, w.PodIf, w.out, w.outFlow)
	}
	ingress := func(name string, p *ebpf.Program) *subject {
		return in.subject(name, p, w.UplinkIf, w.in, w.inFlow)
	}
	empty := in.empty()
	list := []*subject{
		egress("empty", empty),
		egress("lookup, egress", in.lookup(egressFlows, w.outAddresses, w.keyLength)),
		egress("lookup and room, egress", in.lookup(egressFlows, w.outAddresses, w.keyLength, room(bytes, encap)...)),
		egress("egress hit", w.Programs.OncacheEgress),
	}
	if others {
		elsewhere := egress("egress, not to a remote Pod", w.Programs.OncacheEgress)
		elsewhere.packet[w.outAddresses+(w.keyLength-4)/2]++ // first byte of the destination address
		list = append(list, elsewhere, egress("egress-init, no ticket", w.Programs.OncacheEgressInit))
	}
	list = append(list,
		ingress("empty", empty),
		ingress("lookup, ingress", in.lookup(ingressFlows, w.inAddresses, w.keyLength)),
		ingress("lookup and room, ingress", in.lookup(ingressFlows, w.inAddresses, w.keyLength, room(-bytes, 0)...)),
		ingress("ingress hit", w.Programs.OncacheIngress),
	)
	if others {
		elsewhere := ingress("ingress, not a tunnel packet", w.Programs.OncacheIngress)
		elsewhere.packet[w.inAddresses-w.outAddresses-14]++ // tunnel port, lower byte
		list = append(list, elsewhere)
	}
	return list
}

// costsOf computes costs from runs.
func costsOf(subjects []*subject, prefix string, budget bool) (out []cost) {
	var empty, lookup *subject
	for _, s := range subjects {
		kind, _, _ := strings.Cut(s.name, ",")
		switch kind {
		case "empty":
			empty = s
			continue
		case "lookup":
			lookup = s
		}
		c := cost{name: prefix + s.name, hit: strings.HasSuffix(s.name, " hit")}
		c.budget = budget && c.hit
		ns, ratios := make([]float64, len(s.runs)), make([]float64, len(s.runs))
		for i := range s.runs {
			ns[i] = s.runs[i] - empty.runs[i]
			ratios[i] = ns[i] / max(1, lookup.runs[i]-empty.runs[i])
		}
		c.ns = median(ns)
		if s != lookup {
			c.ratio, c.low, c.high = median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)
		}
		out = append(out, c)
	}
	return out
}
