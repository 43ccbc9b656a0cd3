// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

const (
	// labelWidth is the width of the first column, numberWidth of the numeric columns.
	labelWidth, numberWidth = 18, 12
	// maxSparkline is the width of a sparkline if there is room.
	maxSparkline = 60
)

// Line is one line of the screen.
type Line struct {
	Text string
	// Strong lines are headings, or say that something is wrong.
	Strong bool
}

// Screen returns at most height lines of at most width characters.
func (w *Watch) Screen(width, height int) []Line {
	s := screen{width: width}
	w.head(&s)
	switch {
	case w.latest == nil:
	case w.latest.Status.State == api.StateUnavailable:
		s.add("All traffic of this Node takes the slow path until its agent is restarted.")
	case w.now == nil:
		s.add("The first rates are here after %s.", w.Interval)
	default:
		w.rates(&s)
		w.sparklines(&s)
		w.flows(&s, height)
	}
	return s.lines[:min(len(s.lines), height)]
}

type screen struct {
	width int
	lines []Line
}

func (s *screen) add(format string, args ...any) { s.addLine(false, fmt.Sprintf(format, args...)) }

func (s *screen) strong(format string, args ...any) { s.addLine(true, fmt.Sprintf(format, args...)) }

func (s *screen) addLine(strong bool, text string) {
	s.lines = append(s.lines, Line{cut(strings.TrimRight(text, " "), s.width), strong})
}

// cut shortens text to a number of characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width)])
}

// head says what the cache is doing, and for how long it has been watched.
func (w *Watch) head(s *screen) {
	if w.latest == nil {
		s.strong("ONCache: no answer from the agent yet")
		if w.err != nil {
			s.add("%v", w.err)
		}
		return
	}
	st := &w.latest.Status
	clock := fmt.Sprintf("%s  every %s, for %s", w.latest.Time.Format(time.TimeOnly), w.Interval, w.latest.Time.Sub(w.began).Round(time.Second))
	state := "ONCache: " + st.State
	if st.Mode != "" {
		state += ", mode " + st.Mode
	}
	s.strong("%s%s", pad(state, max(s.width-len(clock), len(state)+2)), clock)
	if st.Reason != "" {
		s.strong("%s", st.Reason)
	}
	if w.err != nil {
		s.strong("No answer since %s: %v", w.since.Format(time.TimeOnly), w.err)
	}
	if st.State == api.StateUnavailable {
		return
	}
	if st.OpenVSwitchAway != nil {
		s.strong("Open vSwitch is %s", st.OpenVSwitchAway)
	}
	pods := fmt.Sprintf("local Pods %d", st.Endpoints)
	if st.PodsOnOVS > 0 {
		pods += fmt.Sprintf(" (and %d kept on Open vSwitch)", st.PodsOnOVS)
	}
	s.add("%s  remote Nodes %d  uplink %s  tunnel %s  lease %ds  memory %.1f MiB", pods, st.Nodes, st.Uplink, st.Tunnel, st.LeaseSeconds,
		float64(st.MemoryBytes)/(1<<20))
	s.add("")
}

// rates has one row for each number, with a column for each direction.
func (w *Watch) rates(s *screen) {
	st, now := &w.latest.Status, w.now
	row := func(label, egress, ingress string) {
		s.add("%s%*s%*s", pad(label, labelWidth), numberWidth, egress, numberWidth, ingress)
	}
	s.strong("%s%*s%*s", pad("", labelWidth), numberWidth, "EGRESS", numberWidth, "INGRESS")
	row("packets fast", perSecond(now.egress.fast), perSecond(now.ingress.fast))
	if now.egress.wouldBeFast+now.ingress.wouldBeFast > 0 {
		row("would be fast", perSecond(now.egress.wouldBeFast), perSecond(now.ingress.wouldBeFast))
	}
	row("packets missed", perSecond(now.egress.missed), perSecond(now.ingress.missed))
	row("hit rate", now.egress.hitRate(), now.ingress.hitRate())
	row("flows active", fmt.Sprint(st.Egress.Active), fmt.Sprint(st.Ingress.Active))
	row("flows cached", fmt.Sprint(st.Egress.Entries), fmt.Sprint(st.Ingress.Entries))
	row("entries learned", perSecond(now.egress.learned), perSecond(now.ingress.learned))
	row("leases renewed", perSecond(now.egress.renewed), perSecond(now.ingress.renewed))
	s.add("%s%s", pad("missed", labelWidth), reasons(sum(now.egress.missReasons, now.ingress.missReasons)))
	s.add("%s%s", pad("not cacheable", labelWidth), reasons(sum(now.egress.uncacheable, now.ingress.uncacheable)))
	s.addLine(now.evictions != api.Evictions{}, fmt.Sprintf("%spod %s, node %s, all %s", pad("evictions", labelWidth),
		grown(st.Evictions.Endpoint, now.evictions.Endpoint), grown(st.Evictions.Node, now.evictions.Node), grown(st.Evictions.All, now.evictions.All)))
	if now.failed > 0 {
		s.strong("%s%s: see docs/design/oncache-conntrack.md", pad("conntrack failed", labelWidth), perSecond(now.failed))
	}
	s.add("")
}

// grown is a total and what the last interval has added to it.
func grown(total, added uint64) string {
	if added == 0 {
		return fmt.Sprint(total)
	}
	return fmt.Sprintf("%d (+%d)", total, added)
}

func (d *direction) hitRate() string { return percent(d.fast+d.wouldBeFast, d.missed) }

// sparklines show the fast packets of each direction over time.
func (w *Watch) sparklines(s *screen) {
	length := min(maxSparkline, maxHistory, s.width-labelWidth-numberWidth-16)
	if length < 10 {
		return
	}
	for _, d := range []struct {
		name string
		of   func(interval) float64
	}{
		{"egress fast", func(i interval) float64 { return i.egress.fast + i.egress.wouldBeFast }},
		{"ingress fast", func(i interval) float64 { return i.ingress.fast + i.ingress.wouldBeFast }},
	} {
		values := make([]float64, len(w.history))
		for i := range w.history {
			values[i] = d.of(w.history[i])
		}
		drawn, highest := sparkline(values, length, w.ASCII)
		s.add("%s%*s |%s| max %s", pad(d.name, labelWidth), numberWidth, perSecond(values[len(values)-1]), drawn, perSecond(highest))
	}
	s.add("")
}

// flows is a table of the busiest flows, as many as there is room for.
func (w *Watch) flows(s *screen, height int) {
	if w.latest.Status.Egress.Entries+w.latest.Status.Ingress.Entries == 0 {
		s.add("No flow is in the cache.")
		return
	}
	rows := [][]string{{"PACKETS", "BYTES", "DIRECTION", "PROTO", "SOURCE", "DESTINATION", "LOCAL-POD", "REMOTE-NODE", "STATE"}}
	for _, f := range w.now.flows[:min(len(w.now.flows), max(0, height-len(s.lines)-1))] {
		destination, source := f.Destination, f.Source
		if f.Translated != "" && f.Direction == "egress" {
			destination += " > " + f.Translated
		} else if f.Translated != "" {
			source += " > " + f.Translated
		}
		rows = append(rows, []string{perSecond(f.packets), perSecond(f.bytes), f.Direction, f.Protocol, source, destination, f.Pod, f.Node, f.State})
	}
	if len(rows) == 1 {
		s.add("No flow takes the fast path at the moment.")
		return
	}
	for i, line := range aligned(rows) {
		s.addLine(i == 0, line)
	}
}

// aligned joins the cells of each row, in columns as wide as their widest cell.
func aligned(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		for column, cell := range row {
			lines[i] += pad(cell, widths[column]+1)
		}
	}
	return lines
}

// pad fills text up to a number of characters.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
