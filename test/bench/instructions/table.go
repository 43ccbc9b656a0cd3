// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

// row is what runs between the ends.
type row int

const (
	bare row = iota
	hosted
	overlay
	oncache
	oncacheNetkit
	rowCount
)

func (r row) String() string {
	return [...]string{"host to host", "host to host, agent runs", "Pod to Pod, gate off", "Pod to Pod, gate on", "Pod to Pod, gate on, netkit"}[r]
}

// state is the row in the benchmark's terms.
func (r row) state() result.State {
	return [...]result.State{result.Bare, result.Bare, result.Off, result.On, result.On}[r]
}

// counts are instructions per round trip, one of each run.
type counts []uint64

// median is 0 for what was not measured.
func (c counts) median() uint64 {
	if len(c) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(c))[len(c)/2]
}

// medianFirst is in the order of a result file, which pairs the first of each state.
func (c counts) medianFirst() counts {
	if len(c) < 2 {
		return c
	}
	sorted := counts(slices.Sorted(slices.Values(c)))
	median := sorted[len(c)/2]
	return slices.Insert(slices.Delete(sorted, len(c)/2, len(c)/2+1), 0, median)
}

// table is what was counted.
type table [rowCount][protocolCount]counts

// removed is how much of what the overlay adds a row does not have, as a fraction.
func (t *table) removed(r row, p protocol) float64 {
	added := float64(t[overlay][p].median()) - float64(t[bare][p].median())
	if added == 0 {
		return 0
	}
	return (float64(t[overlay][p].median()) - float64(t[r][p].median())) / added
}

// String is the table, and the line that programs read.
func (t *table) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "instructions per round trip\tTCP\tUDP\tremoved: TCP\tUDP\t")
	for r := range rowCount {
		if t[r][tcp].median() == 0 {
			continue
		}
		removed := [protocolCount]string{"-", "-"}
		if r >= oncache {
			for _, p := range protocols {
				removed[p] = fmt.Sprintf("%.1f %%", 100*t.removed(r, p))
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t\n", r, t[r][tcp].median(), t[r][udp].median(), removed[tcp], removed[udp])
	}
	w.Flush()
	text.WriteString("cost:")
	for _, p := range protocols {
		fmt.Fprintf(&text, " %s bare=%d overlay=%d oncache=%d removed=%.1f%%", p, t[bare][p].median(), t[overlay][p].median(), t[oncache][p].median(), 100*t.removed(oncache, p))
	}
	text.WriteString("\n")
	return text.String()
}
