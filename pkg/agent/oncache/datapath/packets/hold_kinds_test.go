// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// heldKind is a learned flow of one kind.
type heldKind struct {
	*harness.World
	// hit is the reason for its hits, and both pass a packet in each direction and return the reason.
	hit  string
	both [2]func() string
	// ends are the slots of its ends on this Node.
	ends []int
}

func kindsOfFlows() map[string]func(*testing.T, harness.Family) heldKind {
	local := func(t *testing.T, w *harness.World, service bool) heldKind {
		own, peer := w.LocalPeer()
		var e harness.Exchange
		if service {
			e = own.ThroughServiceTo(peer, false)
		} else {
			e.Sent, e.Received = own.To(peer, false)
			e.SentOn, e.ReceivedOn = e.Sent, e.Received
		}
		require.Equal(t, "learned", own.LearnChanged(peer, e.Sent, e.SentOn).Reason)
		require.Equal(t, "learned", peer.LearnChanged(own, e.Received, e.ReceivedOn).Reason)
		return heldKind{
			World: w, hit: "hit_local", ends: []int{own.Slot, peer.Slot},
			both: [2]func() string{
				func() string { return own.Egress(0, e.Sent.Bytes(t)).Reason },
				func() string { return peer.Egress(0, e.Received.Bytes(t)).Reason },
			},
		}
	}
	return map[string]func(*testing.T, harness.Family) heldKind{
		"within the Node": func(t *testing.T, f harness.Family) heldKind { return local(t, harness.NewWorldOf(t, f), false) },
		"within the Node, through a Service": func(t *testing.T, f harness.Family) heldKind {
			return local(t, harness.NewWorldOf(t, f), true)
		},
		"through a Service": func(t *testing.T, f harness.Family) heldKind {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(false)
			w.LearnExchange(e)
			return heldKind{
				World: w, hit: "hit", ends: []int{harness.PodSlot},
				both: [2]func() string{
					func() string { return w.Egress(0, e.Sent.Bytes(t)).Reason },
					func() string { return w.Ingress(0, w.FromPeer().Wrap(t, e.Received.Bytes(t))).Reason },
				},
			}
		},
		"of the host": func(t *testing.T, f harness.Family) heldKind {
			w := harness.NewWorldOf(t, f)
			g := w.AddGateway()
			out, in := g.FromHost(), g.ToHost()
			g.Learn(out, in)
			return heldKind{
				World: w, hit: "hit", ends: []int{harness.GatewaySlot},
				both: [2]func() string{
					func() string { return g.Egress(0, out.Bytes(t)).Reason },
					func() string { return g.Ingress(0, g.FromPeer().Wrap(t, in.Bytes(t))).Reason },
				},
			}
		},
	}
}

func eachKind(t *testing.T, test func(*testing.T, heldKind)) {
	for name, learn := range kindsOfFlows() {
		for family, f := range map[string]harness.Family{"IPv4": {}, "IPv6": {Inner6: true, Outer6: true}} {
			t.Run(name+", "+family, func(t *testing.T) { test(t, learn(t, f)) })
		}
	}
}

// leases sets the end of all leases from now, without a recent probe.
func (k heldKind) leases(left time.Duration) {
	tick := harness.JiffyLength(k.T)
	k.Control().Lease = uint64(time.Hour / tick)
	now := k.Jiffies(k.T)
	k.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
		v.Lease, v.Probed = uint64(int64(now)+int64(left/tick)), uint32(now)-uint32(time.Hour/tick)
	})
}

func (k heldKind) requireBoth(reason, why string) {
	k.T.Helper()
	for _, packet := range k.both {
		require.Equal(k.T, reason, packet(), why)
	}
}

// TestHeldLeasesOfAllKinds: it makes no difference to a hold whose flow it is, and where its other end.
func TestHeldLeasesOfAllKinds(t *testing.T) {
	eachKind(t, func(t *testing.T, k heldKind) {
		k.leases(-9 * time.Minute)
		k.requireBoth("lease", "nothing is held")
		require.NoError(t, k.Hold(10*time.Minute, time.Hour))
		k.leases(-9 * time.Minute)
		for range 3 {
			k.requireBoth(k.hit, "it ran when Open vSwitch was there")
		}
		for _, flow := range k.Entries() {
			require.True(t, flow.Active())
		}
		k.leases(-11 * time.Minute)
		k.requireBoth("lease", "it had ended before")
	})
}

// TestHeldLeasesAreHeldOnce: what Open vSwitch has not confirmed between two absences is not held again.
func TestHeldLeasesAreHeldOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, k heldKind) {
		require.NoError(t, k.Hold(10*time.Minute, time.Hour))
		k.leases(-9 * time.Minute)
		k.requireBoth(k.hit, "held")
		k.Release()
		require.NoError(t, k.Hold(time.Minute, time.Hour))
		k.requireBoth("lease", "its lease had ended when Open vSwitch was last there")
	})
}

// TestHeldEntriesOfAllKindsAreEvicted: by either end.
func TestHeldEntriesOfAllKindsAreEvicted(t *testing.T) {
	for name, end := range map[string]func([]int) int{
		"the one end":   func(ends []int) int { return ends[0] },
		"the other end": func(ends []int) int { return ends[len(ends)-1] },
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, k heldKind) {
				require.NoError(t, k.Hold(time.Hour, time.Hour))
				k.leases(-time.Minute)
				k.requireBoth(k.hit, "held")
				slot := end(k.ends)
				generation, epoch := k.EndpointState(slot)
				k.PublishEndpoint(slot, generation+1, epoch)
				k.requireBoth("stale_endpoint", "evicted")
			})
		})
	}
}
