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

// row is the configuration between the two ends.
type row int

const (
	bare row = iota
	hosted
	overlay
	oncache
	oncacheNetkit
	rewrite
	rewriteNetkit
	serviceOff
	serviceOn
	sameNodeOff
	sameNodeOn
	fromNodeOff
	fromNodeOn
	plainOff
	plainOn
	encryptedHosts
	encryptedOff
	encryptedOn
	rowCount
)

func (r row) String() string {
	return [...]string{
		"host to host", "host to host, agent runs", "Pod to Pod, gate off", "Pod to Pod, gate on", "Pod to Pod, gate on, netkit",
		"Pod to Pod, rewriting", "Pod to Pod, rewriting, netkit",
		"ClusterIP, gate off", "ClusterIP, gate on", "same Node, gate off", "same Node, gate on", "Node to Pod, gate off", "Node to Pod, gate on",
		"noEncap, gate off", "noEncap, gate on", "host to host, WireGuard", "WireGuard, gate off", "WireGuard, gate on",
	}[r]
}

// state is the row in the benchmark's terms.
func (r row) state() result.State {
	switch r {
	case bare, hosted, encryptedHosts:
		return result.Bare
	case overlay, serviceOff, sameNodeOff, fromNodeOff, plainOff, encryptedOff:
		return result.Off
	case rewrite, rewriteNetkit:
		return result.Rewrite
	}
	return result.On
}

// variant is a way of carrying hits between Pods of two Nodes, on one kind of device.
type variant struct {
	tunnel, device string
	row            row
}

// variants are all of them, in the order in which they are printed.
var variants = []variant{{"encap", "veth", oncache}, {"encap", "netkit", oncacheNetkit}, {"rewrite", "veth", rewrite}, {"rewrite", "netkit", rewriteNetkit}}

// without returns the two rows that tell what the overlay adds without the cache: between hosts, and with the gate off. Other ways have no host
// to host.
func (r row) without() (hosts, off row, known bool) {
	if slices.ContainsFunc(variants, func(v variant) bool { return v.row == r }) {
		return bare, overlay, true
	}
	if i := slices.IndexFunc(modes, func(m mode) bool { return m.on == r }); i >= 0 {
		return modes[i].bare, modes[i].off, true
	}
	return 0, 0, false
}

// way is another way between two ends than from Pod to Pod on two Nodes, measured with the gate off and on, and with veth devices.
type way struct {
	// condition is its name in results.
	condition string
	off, on   row
	// fast: with the gate on it must take the fast path. Otherwise it may.
	fast bool
}

// ways are the other ways. The conditions are also in the targets of package report.
var ways = []way{
	{"ClusterIP", serviceOff, serviceOn, true},
	{"same Node", sameNodeOff, sameNodeOn, false},
	{"Node to Pod", fromNodeOff, fromNodeOn, true},
}

// table has instructions per round trip, or per connection with one request; 0 where nothing was measured.
type table [rowCount][protocolCount]uint64

// removed returns the fraction of the overlay's overhead that a row removes.
func (t *table) removed(r row, p protocol) float64 {
	hosts, off, _ := r.without()
	added := float64(t[off][p]) - float64(t[hosts][p])
	if added == 0 {
		return 0
	}
	return (float64(t[off][p]) - float64(t[r][p])) / added
}

// String formats the table, and the line for programs.
func (t *table) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "instructions per round trip\tTCP\tUDP\tremoved: TCP\tUDP\tper connection\t")
	for r := range rowCount {
		if t[r][tcp] == 0 {
			continue
		}
		removed := [...]string{tcp: "-", udp: "-"}
		if _, _, known := r.without(); known {
			for _, p := range protocols {
				removed[p] = fmt.Sprintf("%.1f %%", 100*t.removed(r, p))
			}
		}
		connection := "-"
		if n := t[r][crr]; n != 0 {
			connection = fmt.Sprint(n)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t\n", r, t[r][tcp], t[r][udp], removed[tcp], removed[udp], connection)
	}
	w.Flush()
	text.WriteString(t.connections())
	for _, w := range ways {
		if t[w.on][tcp] == 0 {
			continue
		}
		fmt.Fprintf(&text, "cost: %s, gate on:", w.condition)
		for _, p := range protocols {
			fmt.Fprintf(&text, " %s %s of gate off, %s of Pod to Pod (%+d)", p, t.ratio(w.on, w.off, p), t.ratio(w.on, oncache, p), int64(t[w.on][p])-int64(t[oncache][p]))
		}
		text.WriteString("\n")
	}
	for _, v := range variants {
		if t[v.row][tcp] == 0 {
			continue
		}
		text.WriteString(t.line(v.tunnel+" "+v.device, v.row))
	}
	text.WriteString(t.modes())
	return text.String()
}

// line is the line for programs about a row with the gate on.
func (t *table) line(name string, r row) string {
	var text strings.Builder
	hosts, off, _ := r.without()
	fmt.Fprintf(&text, "cost: %s", name)
	for _, p := range protocols {
		fmt.Fprintf(&text, " %s bare=%d overlay=%d oncache=%d removed=%.1f%%", p, t[hosts][p], t[off][p], t[r][p], 100*t.removed(r, p))
	}
	text.WriteString("\n")
	return text.String()
}

// connections is the line for connections with one request.
func (t *table) connections() string {
	if t[oncache][crr] == 0 {
		return ""
	}
	return fmt.Sprintf("cost: a connection for each request, gate on: %s of gate off\n", t.ratio(oncache, overlay, crr))
}

// connectionTolerance is for what two measurements of connections differ by: a difference of 6 % was seen.
const connectionTolerance = 1.05

// checkConnections fails if a connection with one request takes more with the gate on.
func (t *table) checkConnections() error {
	on, off := t[oncache][crr], t[overlay][crr]
	if float64(on) <= connectionTolerance*float64(off) {
		return nil
	}
	return fmt.Errorf("a connection for each request takes %d instructions with the gate on, and %d with it off: it must take at most %.2f of that", on, off, connectionTolerance)
}

// ratio is the ratio of two rows.
func (t *table) ratio(a, b row, p protocol) string {
	return fmt.Sprintf("%.3f", float64(t[a][p])/float64(t[b][p]))
}
