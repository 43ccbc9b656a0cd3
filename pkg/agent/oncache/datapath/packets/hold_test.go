// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// heldFlow is a learned flow with leases in ticks of the kernel so long that the test's own time does not matter.
type heldFlow struct {
	*harness.World
	t       *testing.T
	out, in harness.Packet
	ticks   func(time.Duration) uint64
}

func newHeldFlow(t *testing.T) *heldFlow {
	f := &heldFlow{World: harness.NewWorld(t), t: t, out: harness.FromPod(), in: harness.ToPod()}
	f.ticks = func(d time.Duration) uint64 { return uint64(d / harness.JiffyLength(t)) }
	f.Learn(f.out, f.in)
	f.Control().Lease = f.ticks(time.Hour)
	return f
}

// leases sets the end of both leases from now, without a recent probe.
func (f *heldFlow) leases(left time.Duration) {
	now := f.Jiffies(f.t)
	f.ChangeEntries(func(v *object.BpfOncValidity) {
		v.Lease, v.Probed = now+f.ticks(left), uint32(now-f.ticks(time.Hour))
		if left < 0 {
			v.Lease = now - f.ticks(-left)
		}
	})
}

// requireBoth requires a reason for packets of both directions.
func (f *heldFlow) requireBoth(reason, why string) {
	f.t.Helper()
	require.Equal(f.t, reason, f.Egress(0, f.out.Bytes(f.t)).Reason, "egress: %s", why)
	require.Equal(f.t, reason, f.Ingress(0, harness.FromPeer().Wrap(f.t, f.in.Bytes(f.t))).Reason, "ingress: %s", why)
}

// TestHeldLeases: while leases are held, running leases continue without probes, and leases that had ended stay ended.
func TestHeldLeases(t *testing.T) {
	f := newHeldFlow(t)
	f.leases(time.Minute)
	f.requireBoth("lease", "nothing is held, and it is in its last quarter")

	require.NoError(t, f.Hold(10*time.Minute, time.Hour))
	f.leases(time.Minute)
	for range 3 {
		f.requireBoth("hit", "no probe")
	}
	f.leases(-9 * time.Minute)
	for range 3 {
		f.requireBoth("hit", "it ran when Open vSwitch was there")
	}
	for _, flow := range f.Entries() {
		require.True(t, flow.Active())
		require.Greater(t, flow.LeaseLeft, 50*time.Minute)
	}
	f.leases(-11 * time.Minute)
	f.requireBoth("lease", "it had ended before")
	for _, flow := range f.Entries() {
		require.False(t, flow.Active())
	}

	f.leases(-9 * time.Minute)
	f.Release()
	f.requireBoth("lease", "released")
}

// TestHeldLeasesHaveALimit: no agent is needed to end the hold.
func TestHeldLeasesHaveALimit(t *testing.T) {
	f := newHeldFlow(t)
	require.NoError(t, f.Hold(time.Hour, 0))
	f.leases(-time.Minute)
	f.requireBoth("lease", "the time has ended")
	require.NoError(t, f.Hold(time.Hour, time.Hour))
	f.leases(-time.Minute)
	f.requireBoth("hit", "another hold")
}

// TestHeldEntriesAreEvicted: a change voids entries whether their leases are held or not.
func TestHeldEntriesAreEvicted(t *testing.T) {
	f := newHeldFlow(t)
	require.NoError(t, f.Hold(time.Hour, time.Hour))
	f.leases(-time.Minute)
	f.PublishEndpoint(harness.PodSlot, 99, 0)
	f.requireBoth("stale_endpoint", "a change of the Pod's rules")
}

// TestHeldConnectionEnds: its end is noticed as always.
func TestHeldConnectionEnds(t *testing.T) {
	f := newHeldFlow(t)
	require.NoError(t, f.Hold(time.Hour, time.Hour))
	f.leases(-time.Minute)
	fin := f.out
	fin.Flags = "F"
	require.Equal(t, "tcp_flags", f.Egress(0, fin.Bytes(t)).Reason)
	f.requireBoth("no_entry", "the connection has ended")
}
