// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	bench "github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/sandbox"
)

var (
	costPrint  = flag.Bool("cost.print", false, "print what TestCost measured")
	costRecord = flag.Bool("cost.record", false, "make what TestCost measured the record")
	costRounds = flag.Int("cost.rounds", 1, "measure so many times as many rounds")
)

const (
	costFile = "testdata/cost.txt"
	// costTolerance is how much a ratio may be above the recorded one, in the best of costAttempts measurements.
	costTolerance = 1.15
	costAttempts  = 5
)

// The scenarios differ in where a flow's entry is when its packet comes: in the first-level cache, in the second-level
// cache, in memory. What else runs on the machine decides about the second, so it is no budget.
const (
	oneFlow   = "one flow"
	fewFlows  = "1024 flows"
	manyFlows = "1M flows"
)

var scenarios = map[string]scenario{
	oneFlow:   {flows: 1, batch: 64, warmUp: 8, rounds: 150},
	fewFlows:  {flows: 1 << 10, batch: 2048, warmUp: 1536, rounds: 15},
	manyFlows: {flows: 1 << 20, batch: 256, warmUp: 16, rounds: 30},
}

// TestCost measures what the programs cost and fails when a hit has become dearer, relative to the hash lookup in it, than
// testdata/cost.txt says. `make bench-bpf` prints the measurement.
//
// A run is timed by the kernel (BPF_PROG_TEST_RUN), one packet per system call: a hit changes the packet, so of several
// repetitions on one packet only the first would be a hit. Its time has the kernel's clock in it, and begins with caches
// and branch predictors as a packet that comes along finds them, not as a loop leaves them. What an empty program takes in
// the same way is subtracted. The yardstick is a program that does one LRU lookup of the same key and nothing else; another one
// then has the kernel make or remove the room for the outer header, which no hit can do without. Programs and yardsticks take turns, each run with a flow drawn at random; ratios are taken within a round, in which the machine is
// busy or idle for all of them alike.
//
// How much of it is the lookup's differs between processors: on another one than the record's there is nothing to compare with.
func TestCost(t *testing.T) {
	recorded, processor := readCosts(t)
	if here := thisProcessor(t); here != processor && !*costPrint && !*costRecord {
		t.Skipf("%s is of %s, this is %s", costFile, processor, here)
	}
	var best map[string]cost
	for attempt := range costAttempts {
		measured := measureCosts(t)
		if *costPrint {
			fmt.Print(costTable(measured, recorded))
		}
		if *costRecord {
			writeCosts(t, measured)
			return
		}
		if best == nil {
			best = map[string]cost{}
		}
		var dearer []string
		for _, c := range measured {
			if b, seen := best[c.name]; !seen || c.ratio < b.ratio {
				best[c.name] = c
			}
			r, known := recorded[c.name]
			if limit := r.ratio * costTolerance; c.budget && (!known || best[c.name].ratio > limit) {
				dearer = append(dearer, fmt.Sprintf("%s: %.2f lookups, at most %.2f", c.name, best[c.name].ratio, limit))
			}
		}
		if len(dearer) == 0 {
			return
		}
		t.Logf("attempt %d: %s", attempt+1, strings.Join(dearer, "; "))
		if attempt == costAttempts-1 {
			t.Errorf("dearer than %s allows, in each of %d attempts: %s\nIf that is intended, make the measurement the record with `make bench-bpf COST_ARGS=-cost.record`.",
				costFile, costAttempts, strings.Join(dearer, "; "))
		}
	}
}

// TestCostIsOfHits: what TestCost takes for hits are some, of which costsIn makes sure. TestCost itself wants a quiet machine.
func TestCostIsOfHits(t *testing.T) {
	sandbox.RequireRoot(t)
	require.Len(t, slices.DeleteFunc(costsIn(t, family{}, manyFlows), func(c cost) bool { return !c.hit }), 2)
}

// cost is what a program costs beyond an empty one.
type cost struct {
	name string
	// hit: the program is the fast path; budget: it must not become dearer.
	hit, budget bool
	// ns is the median.
	ns float64
	// ratio is the cost in bare lookups, the median over rounds; low and high are its quartiles. 0 for yardsticks.
	ratio, low, high float64
}

func measureCosts(t *testing.T) (out []cost) {
	six := family{inner6: true, outer6: true}
	for _, f := range []family{{}, six} {
		out = append(out, costsIn(t, f, oneFlow)...)
	}
	return append(append(out, costsIn(t, family{}, fewFlows)...), costsIn(t, family{}, manyFlows)...)
}

// costsIn measures all subjects in a world of their own.
func costsIn(t *testing.T, f family, name string) (out []cost) {
	sc := scenarios[name]
	sc.rounds *= *costRounds
	version := "IPv4"
	if f.inner6 {
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

// subjects are yardsticks and hits of both directions and, if others is set, what packets cost that are none of the cache's
// business. The yardsticks of a direction stand before its programs.
func (w *costWorld) subjects(t *testing.T, others bool) []*subject {
	in := newInstrument(t)
	egressFlows, ingressFlows := w.objects.EgressFlows4, w.objects.IngressFlows4
	bytes := int(w.inAddresses - w.outAddresses)
	encap := int64(14<<unix.BPF_ADJ_ROOM_ENCAP_L2_SHIFT | unix.BPF_F_ADJ_ROOM_ENCAP_L2_ETH | unix.BPF_F_ADJ_ROOM_ENCAP_L4_UDP)
	if w.family.outer6 {
		encap |= unix.BPF_F_ADJ_ROOM_ENCAP_L3_IPV6
	} else {
		encap |= unix.BPF_F_ADJ_ROOM_ENCAP_L3_IPV4
	}
	if w.family.inner6 {
		egressFlows, ingressFlows = w.objects.EgressFlows6, w.objects.IngressFlows6
	}
	egress := func(name string, p *ebpf.Program) *subject {
		return in.subject(name, p, w.podIf, w.out, w.outFlow)
	}
	ingress := func(name string, p *ebpf.Program) *subject {
		return in.subject(name, p, w.upIf, w.in, w.inFlow)
	}
	empty := in.empty()
	list := []*subject{
		egress("empty", empty),
		egress("lookup, egress", in.lookup(egressFlows, w.outAddresses, w.keyLength)),
		egress("lookup and room, egress", in.lookup(egressFlows, w.outAddresses, w.keyLength, room(bytes, encap)...)),
		egress("egress hit", w.objects.OncacheEgress),
	}
	if others {
		elsewhere := egress("egress, not to a remote Pod", w.objects.OncacheEgress)
		elsewhere.packet[w.outAddresses+(w.keyLength-4)/2]++ // first byte of the destination address
		list = append(list, elsewhere, egress("egress-init, no ticket", w.objects.OncacheEgressInit))
	}
	list = append(list,
		ingress("empty", empty),
		ingress("lookup, ingress", in.lookup(ingressFlows, w.inAddresses, w.keyLength)),
		ingress("lookup and room, ingress", in.lookup(ingressFlows, w.inAddresses, w.keyLength, room(-bytes, 0)...)),
		ingress("ingress hit", w.objects.OncacheIngress),
	)
	if others {
		elsewhere := ingress("ingress, not a tunnel packet", w.objects.OncacheIngress)
		elsewhere.packet[w.inAddresses-w.outAddresses-14]++ // tunnel port, lower byte
		list = append(list, elsewhere)
	}
	return list
}

// costsOf makes costs of runs.
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

// costTable is a table to be looked at, with what a million flows add.
func costTable(costs []cost, recorded map[string]cost) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s %6s %8s %15s %9s\n", "", "ns", "lookups", "quartiles", "recorded")
	ns := map[string]float64{}
	for _, c := range costs {
		ns[c.name] = c.ns
		fmt.Fprintf(&b, "%-44s %6.0f", c.name, c.ns)
		if c.ratio != 0 {
			fmt.Fprintf(&b, " %8.2f %15s", c.ratio, fmt.Sprintf("%.2f - %.2f", c.low, c.high))
		}
		if r, found := recorded[c.name]; found {
			fmt.Fprintf(&b, " %9.2f", r.ratio)
		}
		b.WriteString("\n")
	}
	for _, direction := range []string{"egress", "ingress"} {
		cold, hot := "IPv4, "+manyFlows+": ", "IPv4, "+oneFlow+": "
		more := ns[cold+direction+" hit"] - ns[hot+direction+" hit"]
		fmt.Fprintf(&b, "%-44s %6.0f %8.2f  of a lookup of one of 1M flows\n", "1M flows instead of one add to "+direction, more, more/ns[cold+"lookup, "+direction])
	}
	return b.String()
}

const costHeader = `# What a hit costs in bare LRU lookups: program, median, quartiles. Written by make bench-bpf COST_ARGS=-cost.record
processor = %s
`

// thisProcessor is the maker, family, model and stepping of the processor.
func thisProcessor(t *testing.T) string {
	machine, err := bench.ThisMachine()
	require.NoError(t, err)
	return machine.Processor
}

func writeCosts(t *testing.T, costs []cost) {
	var b strings.Builder
	fmt.Fprintf(&b, costHeader, thisProcessor(t))
	for _, c := range costs {
		if c.hit {
			fmt.Fprintf(&b, "%s = %.2f %.2f %.2f\n", c.name, c.ratio, c.low, c.high)
		}
	}
	require.NoError(t, os.WriteFile(costFile, []byte(b.String()), 0o644))
}

func readCosts(t *testing.T) (out map[string]cost, processor string) {
	out = map[string]cost{}
	text, err := os.ReadFile(costFile)
	if *costRecord && os.IsNotExist(err) {
		return out, ""
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if name, numbers, found := strings.Cut(strings.TrimSpace(line), " = "); found && name == "processor" {
			processor = numbers
		} else if found {
			c := cost{name: name}
			_, err := fmt.Sscan(numbers, &c.ratio, &c.low, &c.high)
			require.NoError(t, err, line)
			out[name] = c
		}
	}
	return out, processor
}
