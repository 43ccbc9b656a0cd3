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
	// maxShown is the number of differing packets after which a test gives up.
	maxShown = 40
	// rounds is the number of times that a differing packet is sent in both modes. A packet may differ because Open
	// vSwitch handles it in user space once and in the kernel the next time; an error of the cache shows each time.
	// From the second round on each packet is rehearsed, so that the kernel has a megaflow for it.
	rounds = 3
)

// RequireSame sends the cases in both modes and compares. ready, if not nil, waits until the cache has everything that it needs.
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
			text := faults[i] + more[i] + strings.Join(b.World.Compare(&c, off[i], b.encapsulated(off[i], on[i])), "\n")
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

// encapsulated is the observation with the cache on, with the packets on the wire of the one with the cache off in place of rewritten ones,
// and without keys in tunnel headers.
func (b *Rig) encapsulated(off, on equality.Observation) equality.Observation {
	if len(off[equality.Wire]) != len(on[equality.Wire]) {
		return on
	}
	on[equality.Wire] = slices.Clone(on[equality.Wire])
	for i, f := range on[equality.Wire] {
		_, _, length, ok := parseIP(f.Data)
		switch {
		case b.RewritePort == 0 || !ok:
		case b.isRewritten(f.Data, length):
			b.Rewritten++
			on[equality.Wire][i] = off[equality.Wire][i]
		default:
			const vni = udpAndTunnel - 4 // offset behind the IP header
			f.Data = slices.Clone(f.Data)
			clear(f.Data[length+vni : length+vni+3])
			on[equality.Wire][i] = f
		}
	}
	return on
}

// observe sends the cases one after the other and returns the observation and the faults of each. off are the observations with the
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
			if on && b.RewritePort != 0 {
				b.tellKeys(t, c.Flow)
			}
		}
		if on && c.Path == equality.Slow {
			c.Arrivals = off[i].Arrivals()
		}
		b.late = nil
		fault := ""
		observed[i], fault = b.sendCase(t, c, on)
		if i > 0 && len(b.late) > 0 {
			faults[i-1] += fmt.Sprintf("cache on: %t: arrived late, or belongs to %s: %s\n", on, c.Name, strings.Join(b.late, "\n"))
		}
		switch {
		case fault == "":
		case !on && c.Path == equality.Slow:
			t.Logf("%s: the slow path treats the packet differently than expected: %s", c.Name, fault)
		default:
			faults[i] += fmt.Sprintf("cache on: %t: %s\n", on, fault)
			wrong++
			require.Less(t, wrong, maxShown, "packets that are treated differently than expected, the last: %s: %s", c.Name, fault)
		}
	}
	return observed, faults
}

// tries limits the times that a packet is sent. A packet of a flow whose lease has ended takes the slow path, and Open
// vSwitch may handle a packet without a megaflow differently, in user space: it segments super-packets and reassembles
// fragments.
const tries = 4

// sendCase sends one packet until it is treated as expected. fault describes the difference if it never is.
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
			seen[equality.Wire] = nil // the packet that was sent there
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

// pathFault describes the path that was taken if it is not the right one.
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

// transmitter returns the device or socket to which a case is sent.
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
