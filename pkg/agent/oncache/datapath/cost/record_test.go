// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	bench "github.com/antrea-oncache/antrea/test/bench/result"
)

// costTable returns a readable table, with the cost that a million flows add.
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

// thisProcessor returns the maker, family, model and stepping of the CPU.
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
