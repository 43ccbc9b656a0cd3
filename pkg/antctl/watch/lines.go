// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"strings"
	"time"
)

// lineColumns are the headings of a log of lines, each as wide as its column.
var lineColumns = []string{"TIME    ", "STATE      ", "EGRESS-FAST", "INGRESS-FAST", "EGRESS-MISSED", "INGRESS-MISSED", "HIT-RATE ", "ACTIVE ", "LEARNED", "EVICTED", "BUSIEST"}

// Heading is the line above the lines of Row.
func Heading() string { return strings.TrimRight(strings.Join(lineColumns, " "), " ") }

// Row returns one line about the last interval, for a log or a terminal that cannot be redrawn.
func (w *Watch) Row() string {
	if w.err != nil || w.latest == nil {
		return fmt.Sprintf("no answer since %s: %v", w.since.Format(time.TimeOnly), w.err)
	}
	st := &w.latest.Status
	cells := []string{w.latest.Time.Format(time.TimeOnly), st.State, "-", "-", "-", "-", "-", fmt.Sprint(st.Egress.Active + st.Ingress.Active), "-", "-", "-"}
	if now := w.now; now != nil {
		both := direction{
			fast: now.egress.fast + now.ingress.fast, wouldBeFast: now.egress.wouldBeFast + now.ingress.wouldBeFast,
			missed: now.egress.missed + now.ingress.missed,
		}
		copy(cells[2:], []string{
			perSecond(now.egress.fast + now.egress.wouldBeFast), perSecond(now.ingress.fast + now.ingress.wouldBeFast),
			perSecond(now.egress.missed), perSecond(now.ingress.missed), both.hitRate(),
		})
		copy(cells[8:], []string{
			perSecond(now.egress.learned + now.ingress.learned), fmt.Sprint(now.evictions.Endpoint + now.evictions.Node + now.evictions.All), w.busiest(),
		})
	}
	if st.Reason != "" {
		cells[len(cells)-1] = st.Reason
	}
	for i := range cells[:len(cells)-1] {
		cells[i] = pad(cells[i], len(lineColumns[i]))
	}
	return strings.TrimRight(strings.Join(cells, " "), " ")
}

func (w *Watch) busiest() string {
	if len(w.now.flows) == 0 {
		return "-"
	}
	f := w.now.flows[0]
	return fmt.Sprintf("%s %s %s %s to %s %s", f.Pod, f.Direction, f.Protocol, f.Source, f.Destination, perSecond(f.packets))
}
