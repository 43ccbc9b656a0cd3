// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// deliveries sends hits to a Pod.
type deliveries struct {
	*harness.World
	podIf int
	// send sends a packet and waits until the Pod has got it.
	send func()
}

// queued sends a hit, and tells whether it has left through the Pod's host-side device, as packets of the slow path do. A packet that is
// handed straight to the Pod's side is not counted there.
func (d *deliveries) queued() bool {
	d.T.Helper()
	sent := func() uint64 {
		l, err := netlink.LinkByIndex(d.podIf)
		require.NoError(d.T, err)
		return l.Attrs().Statistics.TxPackets
	}
	before := sent()
	d.send()
	return sent() > before
}

// probed makes a packet have gone to Open vSwitch so many jiffies ago, for all entries.
func (d *deliveries) probed(ago uint32) {
	d.ChangeEntries(func(v *object.BpfOncValidity) { v.Probed = uint32(d.Jiffies(d.T)) - ago })
}

// made makes all entries so old.
func (d *deliveries) made(ago time.Duration) {
	d.T.Helper()
	var now unix.Timespec
	require.NoError(d.T, unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &now))
	var key object.BpfOncFlow4
	var egress object.BpfOncEgress4
	for it := d.Maps.EgressFlows4.Iterate(); it.Next(&key, &egress); {
		egress.Created = uint64(now.Nano()) - uint64(ago)
		require.NoError(d.T, d.Maps.EgressFlows4.Put(key, egress))
	}
	var ingress object.BpfOncIngress4
	for it := d.Maps.IngressFlows4.Iterate(); it.Next(&key, &ingress); {
		ingress.Created = uint64(now.Nano()) - uint64(ago)
		require.NoError(d.T, d.Maps.IngressFlows4.Put(key, ingress))
	}
}

// requireOrder checks that a hit waits in the queue of the slow path as long as a packet may still be there that came before it.
func (d *deliveries) requireOrder() {
	d.T.Helper()
	d.requireQueued()
	for _, ago := range []uint32{100, 1 << 31, 1<<32 - 1000} {
		d.made(0)
		d.probed(ago)
		require.False(d.T, d.queued(), "%d jiffies behind it", ago)
	}
	for range 10 {
		d.made(50 * time.Millisecond)
		d.probed(0)
		require.False(d.T, d.queued(), "hits behind a probe go on as those before it")
	}
}

func (d *deliveries) requireQueued() {
	d.T.Helper()
	require.Eventually(d.T, func() bool {
		d.made(0)
		d.probed(0)
		return d.queued()
	}, time.Minute, time.Millisecond, "a hit right behind a packet of the slow path takes another way")
}

// TestOrderBehindTheSlowPath: the first request of a connection does not overtake the end of the handshake.
func TestOrderBehindTheSlowPath(t *testing.T) {
	out := harness.FromPod()
	super := superPacket{gsoType: virtioGSOTCP4, segment: 1000, transport: 34, checksumAt: 16, headerBytes: 54}
	t.Run("between Nodes", func(t *testing.T) {
		w, pod, _ := newLiveWorld(t)
		w.Learn(out, harness.ToPod())
		receiver := receiveToo(w, out)
		index := linkIndex(t, "pod1")
		sender := func(sent []byte, length int) func() {
			return func() {
				require.NoError(t, unix.Send(pod, sent, 0))
				receiveSuperPacket(t, receiver, length)
			}
		}
		frame := out.Bytes(t)
		d := &deliveries{w, index, sender(append(make([]byte, virtioHeader), frame...), len(frame))}
		d.requireOrder()

		large := out
		large.Payload = 3000
		super.frame = large.Bytes(t)
		d.send = sender(super.bytes(), len(super.frame))
		for range 10 {
			d.made(0)
			d.probed(0)
			require.False(t, d.queued(), "the Pod's device could not divide a super-packet of the tunnel")
		}
	})
	t.Run("within a Node", func(t *testing.T) {
		hooks(t, func(t *testing.T, hook datapath.Hook) {
			w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: hook})
			w.Control().Lease = 1 << 32
			own, peer := w.LocalPeer()
			pod := socketInPod(t, "pod0p")
			require.NoError(t, waitUp(w.PodIf))
			receiver := localReceiver(t, peer)
			there, back := own.To(peer, false)
			own.LearnTo(peer, there)
			peer.LearnTo(own, back)
			require.NoError(t, w.Attach(own.PodIf, datapath.RolePod))
			require.NoError(t, w.Attach(peer.PodIf, datapath.RolePod))
			frame := there.Bytes(t)
			d := &deliveries{w, peer.PodIf, func() {
				require.NoError(t, unix.Send(pod, append(make([]byte, virtioHeader), frame...), 0))
				requireDelivered(t, receiver, frame)
			}}
			d.requireOrder()

			large := there
			large.Payload = 3000
			super.frame = large.Bytes(t)
			d.send = func() {
				require.NoError(t, unix.Send(pod, super.bytes(), 0))
				requireDelivered(t, receiver, super.frame)
			}
			d.requireQueued()
		})
	})
}

func linkIndex(t *testing.T, name string) int {
	t.Helper()
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	return l.Attrs().Index
}
