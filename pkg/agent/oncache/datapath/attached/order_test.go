// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/equality/rig"
)

var orderSeed = flag.Uint64("order.seed", 0, "the seed of TestOrderInBursts; 0: another one each time")

// TestOrderInBursts: in which order a Pod gets what has arrived at once, while hits are handed to it and other packets take the slow path
// (docs/design/oncache-leases.md, "Reordering"). Of each flow,
//
//   - hits keep their order,
//   - packets of the slow path keep theirs, and overtake no hit,
//   - a packet of the slow path is overtaken at most by the hits that the device passes to the stack in the same turn and in the next one.
//     It waits twice, at the tunnel device and between the two sides of the Pod's pair, and the kernel serves these queues in between.
func TestOrderInBursts(t *testing.T) {
	for _, c := range []struct {
		name    string
		family  harness.Family
		rewrite bool
	}{
		{name: "encapsulated IPv4"},
		{name: "rewritten IPv4", rewrite: true},
		{name: "rewritten IPv6", rewrite: true, family: harness.Family{Inner6: true, Outer6: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOrdering(t, c.family, c.rewrite)
			t.Run("probes among hits", func(t *testing.T) { o.in(t).testProbes() })
			t.Run("hits behind misses", func(t *testing.T) { o.in(t).testMisses() })
			if !c.rewrite { // no packet is rewritten so early in a connection
				t.Run("data behind a handshake", func(t *testing.T) { o.in(t).testHandshakes() })
			}
		})
	}
}

// ordering compares the order of packets in a Pod with that in which they were sent.
type ordering struct {
	t          *testing.T
	world      *harness.World
	node, peer *routerNode
	rewrite    bool
	bursts     *bursts
	// pod has what arrives in the Pod, tunnel the packets of these that take the slow path, answered what arrives in the peer's Pod.
	pod, tunnel, answered *arrivals
	// inPod sends as the Pod does, onWire gets what the peer receives.
	inPod, onWire *afpacket.Socket
	// inside is the Node's cache if it rewrites, keys are the keys that it has told.
	inside *harness.Inside
	keys   []uint16
	seed   uint64
	random *rand.Rand
	port   uint16
	total  tally
}

// sending is a packet to send. ipAt is the offset of the IP header that the Pod gets.
type sending struct {
	flow  int
	frame []byte
	ipAt  int
}

func newOrdering(t *testing.T, f harness.Family, rewrite bool) *ordering {
	r := (&routers{family: f, rewrite: rewrite}).start(t)
	o := &ordering{t: t, world: &harness.World{Family: f}, node: r.nodes[0], peer: r.nodes[1], rewrite: rewrite, port: 1000}
	if rewrite {
		o.inside = harness.Look(t, o.node.pins)
		t.Cleanup(func() { require.NoError(t, o.inside.Close()) })
	}
	for _, n := range r.nodes {
		// Short, for many probes. While a flow of datagrams is young, there is one in each sixteenth of a lease.
		n.SetLease(256 * time.Millisecond)
		n.SetMode(datapath.ModeEnforce)
	}
	o.bursts = newBursts(t, o.peer, o.node)
	o.pod = recordArrivals(t, o.node.Pod, nodepair.InPod, f.Inner6)
	o.tunnel = recordArrivals(t, o.node.Host, nodepair.Tunnel, f.Inner6)
	o.answered = recordArrivals(t, o.peer.Pod, nodepair.InPod, f.Inner6)
	o.inPod = rig.Place{Space: o.node.Pod, Device: nodepair.InPod}.Open(t)
	o.onWire = rig.Place{Space: o.peer.Host, Device: nodepair.Uplink}.Open(t)
	return o
}

// in returns o for a subtest.
func (o *ordering) in(t *testing.T) *ordering {
	own := *o
	own.t, own.total, own.seed = t, tally{}, *orderSeed
	if own.seed == 0 {
		own.seed = rand.Uint64()
	}
	own.random = rand.New(rand.NewPCG(own.seed, 0))
	t.Cleanup(func() {
		o.port = own.port
		t.Logf("seed %#x: %d hits, %d packets of the slow path, of which %d were overtaken, by packets sent at most %d later", own.seed, own.total.hits, own.total.slow, own.total.overtaken, own.total.furthest)
	})
	return &own
}

// newFlow returns packets of a new flow in both directions.
func (o *ordering) newFlow(udp bool) (there, back harness.Packet) {
	o.port++
	there, back = o.world.ToPod(), o.world.FromPod()
	there.DstMAC = o.node.TunnelMAC
	there.UDP, back.UDP = udp, udp
	there.SrcPort, back.DstPort = o.port, o.port
	there.Payload, back.Payload = 32, 32
	return there, back
}

// encapsulated is a packet as it comes through the tunnel, with padding behind it.
func (o *ordering) encapsulated(flow int, p harness.Packet, padding ...byte) sending {
	outer := o.world.FromPeer()
	outer.DstPort, outer.Tunnel = nodepair.TunnelPort, vxlanHeader
	inner := append(p.Bytes(o.t), padding...)
	frame := outer.Wrap(o.t, inner)
	return sending{flow, frame, len(frame) - len(inner) + 14}
}

// pause is not a packet: packets behind it are handled later than packets before it.
var pause = sending{flow: -1}

// identified returns the frame with another identification, or flow label, of the packet that the Pod gets.
func (s sending) identified(id uint32) []byte {
	frame := slices.Clone(s.frame)
	ip := frame[s.ipAt:]
	if ip[0]>>4 == 6 {
		binary.BigEndian.PutUint32(ip, binary.BigEndian.Uint32(ip)&^0xfffff|id)
		return frame
	}
	// RFC 1624, equation 3.
	sum := uint32(^binary.BigEndian.Uint16(ip[10:])) + uint32(^binary.BigEndian.Uint16(ip[4:])) + id
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(ip[4:], uint16(id))
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	return frame
}

// identification returns a packet's identification by its place in its burst. GRO merges segments with consecutive identifications.
func identification(place int) uint32 { return uint32(3*place + 1) }

// placeOf is the inverse of identification.
func placeOf(id uint32) int { return int(id-1) / 3 }

// burst sends packets at once, waits until the Pod has them, and checks their order.
func (o *ordering) burst(packets []sending) tally {
	o.t.Helper()
	frames := make([][]byte, len(packets))
	wanted := len(packets)
	for i, p := range packets {
		if p.flow == pause.flow {
			frames[i] = pauseFrame()
			wanted--
		} else {
			frames[i] = p.identified(identification(i))
		}
	}
	before, err := o.node.Counters()
	require.NoError(o.t, err)
	o.pod.clear(o.t)
	o.tunnel.clear(o.t)
	o.keepKeys()
	o.bursts.send(o.t, frames)
	arrived := o.pod.await(o.t, wanted)
	places, slow := make([]int, wanted), make([]bool, len(packets))
	for i, id := range arrived {
		places[i] = placeOf(id)
	}
	toTunnel, err := o.tunnel.identifications()
	require.NoError(o.t, err)
	for _, id := range toTunnel {
		slow[placeOf(id)] = true
	}
	got, fault := judge(packets, places, slow)
	if fault != "" {
		after, err := o.node.Counters()
		require.NoError(o.t, err)
		require.Fail(o.t, "order", "%s\nseed %#x\ncounters of ingress: %s", fault, o.seed, changes(before["ingress"], after["ingress"]))
	}
	o.total.hits, o.total.slow, o.total.overtaken = o.total.hits+got.hits, o.total.slow+got.slow, o.total.overtaken+got.overtaken
	o.total.furthest = max(o.total.furthest, got.furthest)
	return got
}

// changes lists the counters that have changed.
func changes(before, after map[string]uint64) string {
	var out []string
	for reason, n := range after {
		if n != before[reason] {
			out = append(out, fmt.Sprintf("%s %d", reason, n-before[reason]))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// answer sends a packet of the Pod and waits until the peer's Pod has it.
func (o *ordering) answer(back harness.Packet) {
	o.t.Helper()
	o.answered.clear(o.t)
	require.NoError(o.t, o.inPod.Send(afpacket.Frame{Data: back.Bytes(o.t)}))
	o.answered.await(o.t, 1)
}

// stream is a flow of datagrams.
type stream struct {
	back harness.Packet
	// ordinary packets may be hits. If there are two, the second is rewritten. padded ones are never hits.
	ordinary []sending
	padded   sending
}

// newStream makes a flow of datagrams that the Node has learned.
func (o *ordering) newStream(index int) *stream {
	o.t.Helper()
	there, back := o.newFlow(true)
	s := &stream{back: back, ordinary: []sending{o.encapsulated(index, there)}, padded: o.encapsulated(index, there, 0, 0)}
	o.until("the flow is learned", func() bool {
		o.answer(back)
		return o.burst(s.ordinary).hits == 1
	})
	if o.rewrite {
		key := o.key(s)
		o.keys = append(o.keys, key)
		frame := o.world.RewrittenFromPeer(there, key).Bytes(o.t)
		s.ordinary = append(s.ordinary, sending{index, frame, 14})
	}
	return s
}

// until repeats a step until it has the wanted effect.
func (o *ordering) until(effect string, step func() bool) {
	o.t.Helper()
	for deadline := time.Now().Add(time.Minute); !step(); {
		require.True(o.t, time.Now().Before(deadline), effect)
	}
}

// key has the Node tell a key for the flow, and returns it.
func (o *ordering) key(s *stream) (key uint16) {
	o.t.Helper()
	o.until("a key is told", func() bool {
		o.burst(s.ordinary)
		o.answer(s.back)
		for {
			f, ok, err := o.onWire.Receive(0)
			require.NoError(o.t, err)
			if !ok {
				return key != 0
			}
			if flow, ok := harness.FiveTupleIn(f.Data, s.ordinary[0].ipAt); ok && flow.Destination.Port() == s.back.DstPort {
				key, _ = o.world.Told(f.Data)
			}
		}
	})
	return key
}

// keepKeys makes all keys as if they had just been told: on a busy machine the test may take longer than a key lives.
func (o *ordering) keepKeys() {
	o.t.Helper()
	if len(o.keys) == 0 {
		return
	}
	now := o.inside.Jiffies(o.t)
	for _, key := range o.keys {
		o.inside.RestoreAt(key).Told = now
	}
}

// newStreams makes some flows of datagrams.
func (o *ordering) newStreams() []*stream {
	o.t.Helper()
	all := make([]*stream, 4)
	for i := range all {
		all[i] = o.newStream(i)
	}
	return all
}

// pauseIn puts a pause in the place of a packet of the middle turn.
func (o *ordering) pauseIn(packets []sending) {
	packets[pollWeight+o.random.IntN(pollWeight)] = pause
}

// mix is a burst of packets of all flows, with a pause in the middle turn.
func (o *ordering) mix(streams []*stream) []sending {
	packets := make([]sending, maxBurst)
	for i := range packets {
		s := streams[o.random.IntN(len(streams))]
		packets[i] = s.ordinary[o.random.IntN(len(s.ordinary))]
		if o.random.IntN(16) == 0 {
			packets[i] = s.padded
		}
	}
	o.pauseIn(packets)
	return packets
}

// testProbes sends flows whose leases end, and packets that are never hits.
func (o *ordering) testProbes() {
	const probes, hits = 24, 2000
	streams := o.newStreams()
	before, rewritten := o.counted("lease"), o.counted("hit_rewritten")
	o.until("there are probes among hits", func() bool {
		for range 4 {
			o.burst(o.mix(streams))
		}
		for _, s := range streams {
			o.answer(s.back)
		}
		return o.counted("lease") >= before+probes && o.total.hits >= hits
	})
	require.Positive(o.t, o.total.slow)
	require.Equal(o.t, o.rewrite, o.counted("hit_rewritten") > rewritten, "rewritten packets are hits")
}

// counted returns the number of packets that Ingress has counted under a reason.
func (o *ordering) counted(reason string) uint64 {
	o.t.Helper()
	c, err := o.node.Counters()
	require.NoError(o.t, err)
	return c["ingress"][reason]
}

// testMisses sends flows that are learned while their packets arrive.
func (o *ordering) testMisses() {
	streams := o.newStreams()
	both := 0 // bursts of which a part missed
	o.until("packets of a burst hit behind others that have missed", func() bool {
		o.node.BumpAll()
		got := o.burst(o.mix(streams))
		if got.hits > 0 && got.slow > maxBurst/8 {
			both++
		}
		for _, s := range streams {
			o.answer(s.back)
		}
		return both >= 10
	})
}

// testHandshakes sends the end of a handshake with data right behind it.
func (o *ordering) testHandshakes() {
	const connections, rounds = 4, 10
	for range rounds {
		var opens, packets []sending
		var answers []harness.Packet
		var next [connections]harness.Packet
		for i := range connections {
			open, answer := o.newFlow(false)
			open.Payload, answer.Payload = 0, 0
			end := open
			open.Flags, answer.Flags, end.Flags = "S-", "S", ""
			open.Seq, answer.Seq, answer.Ack = 1000, 5000, 1001
			end.Seq, end.Ack = answer.Ack, answer.Seq+1
			opens, answers, packets = append(opens, o.encapsulated(i, open)), append(answers, answer), append(packets, o.encapsulated(i, end))
			next[i] = end
			next[i].Flags, next[i].Payload = "P", 32
		}
		o.burst(opens)
		for _, a := range answers {
			o.answer(a)
		}
		for len(packets) < maxBurst {
			i := o.random.IntN(connections)
			packets = append(packets, o.encapsulated(i, next[i]))
			next[i].Seq += uint32(next[i].Payload)
		}
		o.pauseIn(packets)
		o.burst(packets)
	}
	require.Positive(o.t, o.total.hits)
	require.Positive(o.t, o.total.slow)
}
