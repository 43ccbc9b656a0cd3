// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/equality"
)

const (
	// maxShown is how many packets may differ before a test gives up.
	maxShown = 40
	// rounds is how often a packet that differs is sent again in both modes: what Open vSwitch handles in user space at one time,
	// and in the kernel at another, may differ, whatever the cache does. What the cache does wrong it does each time. From the
	// second round on each packet is rehearsed, so that the kernel knows what to do with it.
	rounds = 3
)

// RequireSame sends the cases in both modes and compares. ready, if not nil, waits until the cache knows all that it needs.
func (b *Rig) RequireSame(t *testing.T, cases []equality.Case, ready func(t *testing.T)) {
	t.Helper()
	all := cases
	for round := range rounds {
		b.settle(t)
		b.SwitchCache(t, false)
		b.rehearse = round > 0
		off, faults := b.observe(t, cases, false, nil)
		b.SwitchCache(t, true)
		if ready != nil {
			ready(t)
		}
		on, more := b.observe(t, cases, true, off)
		var again []equality.Case
		for i, c := range cases {
			text := faults[i] + more[i] + strings.Join(equality.Compare(&c, off[i], on[i]), "\n")
			if text == "" {
				continue
			}
			again = append(again, c)
			if round < rounds-1 || len(again) > maxShown {
				continue
			}
			dir := filepath.Join(b.Captures, t.Name())
			for prefix, o := range map[string]equality.Observation{"off": off[i], "on": on[i]} {
				require.NoError(t, o.WriteCaptures(dir, fmt.Sprintf("%d-%s", i, prefix)))
			}
			t.Errorf("%s: not the same packet (captures: %s/%d-*.pcap)\n%s", c.Name, dir, i, text)
		}
		if cases = again; len(cases) == 0 {
			return
		}
		t.Logf("round %d: %d packets differ", round+1, len(cases))
	}
	require.Empty(t, cases, "of %d packets", len(all))
}

// observe sends the cases one after the other, and says what is wrong with what came of each. off is what was observed with the
// cache off.
func (b *Rig) observe(t *testing.T, cases []equality.Case, on bool, off []equality.Observation) ([]equality.Observation, []string) {
	t.Helper()
	b.Forget(t)
	established := map[equality.Flow]bool{}
	observed, faults := make([]equality.Observation, len(cases)), make([]string, len(cases))
	wrong := 0
	for i, c := range cases {
		if !established[c.Flow] {
			b.establish(t, c.Flow)
			established[c.Flow] = true
		}
		if on && c.Path == equality.Slow {
			c.Arrivals = off[i].Arrivals()
		}
		b.late = nil
		fault := ""
		observed[i], fault = b.sendCase(t, c, on)
		if i > 0 && len(b.late) > 0 {
			faults[i-1] += fmt.Sprintf("cache on: %t: came late, or of %s: %s\n", on, c.Name, strings.Join(b.late, "\n"))
		}
		switch {
		case fault == "":
		case !on && c.Path == equality.Slow:
			t.Logf("%s: the slow path does something else than expected: %s", c.Name, fault)
		default:
			faults[i] += fmt.Sprintf("cache on: %t: %s\n", on, fault)
			wrong++
			require.Less(t, wrong, maxShown, "packets that become something else than expected, the last: %s: %s", c.Name, fault)
		}
	}
	return observed, faults
}

// tries is how often a packet is sent: one of a flow whose lease is over takes the slow path, and what Open vSwitch has not seen
// before it may handle in another way, in user space: it segments super-packets, and puts fragments together.
const tries = 4

// sendCase sends one packet until it becomes what it should, and says what is wrong with it if it does not.
func (b *Rig) sendCase(t *testing.T, c equality.Case, on bool) (seen equality.Observation, fault string) {
	t.Helper()
	b.setFence(c.Flow)
	expected := c.Expected(on)
	if b.rehearse {
		b.Send(t, b.transmitter(t, c), expected, append(slices.Clone(c.Before), c.Frame)...)
		b.settle(t)
	}
	for try := range tries {
		if try > 0 {
			b.settle(t)
			if on && c.Path != equality.Slow {
				b.Warm(t, c.Flow)
			}
		}
		seen = b.Send(t, b.transmitter(t, c), expected, append(slices.Clone(c.Before), c.Frame)...)
		if c.From == equality.Wire {
			seen[equality.Wire] = nil // itself
		}
		fault = pathFault(c, seen, on)
		for point, n := range seen.Arrivals() {
			if n != expected[point] {
				fault += fmt.Sprintf("%d frames at %s, expected %d; ", n, point, expected[point])
			}
		}
		if fault == "" {
			break
		}
	}
	return seen, fault
}

// pathFault says which path was taken, if it is not the right one.
func pathFault(c equality.Case, seen equality.Observation, on bool) (fault string) {
	expected := c.Expected(on)
	slow := map[equality.Point]bool{equality.SendingTunnel: true, equality.ReceivingTunnel: true}
	if on && c.Path != equality.Slow {
		slow = map[equality.Point]bool{
			equality.SendingTunnel: c.Path == equality.SlowThenFast, equality.ReceivingTunnel: c.Path == equality.FastThenSlow,
		}
	}
	for point, wanted := range slow {
		arrives := point == equality.SendingTunnel && expected[equality.Wire] > 0 ||
			point == equality.ReceivingTunnel && expected[equality.Receiver] > 0
		if arrives && wanted != (len(seen[point]) > 0) {
			fault += fmt.Sprintf("%d frames at %s; ", len(seen[point]), point)
		}
	}
	return fault
}

// transmitter is where a case is sent.
func (b *Rig) transmitter(t *testing.T, c equality.Case) Transmitter {
	t.Helper()
	switch {
	case c.From == equality.Wire:
		return b.wire
	case c.Device == "":
		return b.sockets[equality.Sender]
	}
	require.Contains(t, b.Devices, c.Device)
	return b.Devices[c.Device]
}
