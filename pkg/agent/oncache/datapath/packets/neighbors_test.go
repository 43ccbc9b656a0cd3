// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// worker is a Pod whose connections and streams send all the time. Open vSwitch passes packets that are not hits.
type worker struct {
	*harness.Pod
	flows      []workingFlow
	sent, hits int
}

// workingFlow has the frames of one flow: from the Pod, as Open vSwitch sends them on, from the tunnel, and as Open vSwitch delivers them.
type workingFlow struct{ out, sent, in, delivered []byte }

func newWorker(t *testing.T, p *harness.Pod) *worker {
	w := &worker{Pod: p}
	for n := range 16 {
		out, in := p.Packets(n, n%2 == 0)
		w.flows = append(w.flows, workingFlow{
			out.Bytes(t), p.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t)),
			p.FromPeer().Wrap(t, in.Bytes(t)), in.BehindOVS(harness.GatewayMAC, p.MAC).Bytes(t),
		})
	}
	return w
}

// work sends one packet of each flow in each direction.
func (w *worker) work() {
	for _, f := range w.flows {
		w.pass(w.Programs.OncacheEgress, w.PodIf, f.out, w.Programs.OncacheEgressInit, w.UplinkIf, f.sent)
		w.pass(w.Programs.OncacheIngress, w.UplinkIf, f.in, w.Programs.OncacheIngressInit, w.PodIf, f.delivered)
	}
}

// pass passes one packet through a program, and if that is no hit, through the one behind Open vSwitch.
func (w *worker) pass(program *ebpf.Program, ifindex int, frame []byte, behind *ebpf.Program, behindIf int, passed []byte) {
	w.sent++
	verdict, mark := runQuietly(w.T, program, ifindex, 0, frame)
	if verdict == harness.Redirect {
		w.hits++
		return
	}
	runQuietly(w.T, behind, behindIf, mark|harness.Epoch<<20, passed)
}

// runQuietly is World.Run without the counted reason, which takes most of its time.
func runQuietly(t testing.TB, program *ebpf.Program, ifindex int, mark uint32, frame []byte) (verdict int, markAfter uint32) {
	run := harness.NewTestRun(program, len(frame)+256)
	run.Context.Ifindex, run.Context.Mark = uint32(ifindex), mark
	require.NoError(t, run.Run(slices.Clone(frame)))
	return run.Verdict(), harness.Unstamped(run.ContextOut.Mark)
}

// pester is the behavior of another Pod: it sends the n-th packet, or has one sent to itself.
type pester func(t *testing.T, p *harness.Pod, victim *harness.Pod, n int)

// sends passes a packet of the Pod through Egress. Open vSwitch drops it, or passes it on to the other Node.
func sends(dropped bool, packet func(p, victim *harness.Pod, n int) harness.Packet) pester {
	return func(t *testing.T, p, victim *harness.Pod, n int) { sendOne(t, p, packet(p, victim, n), dropped) }
}

func sendOne(t *testing.T, p *harness.Pod, out harness.Packet, dropped bool) {
	verdict, mark := runQuietly(t, p.Programs.OncacheEgress, p.PodIf, 0, out.Bytes(t))
	if verdict == harness.Next && !dropped {
		frame := p.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
		runQuietly(t, p.Programs.OncacheEgressInit, p.UplinkIf, mark|harness.Epoch<<20, frame)
	}
}

// receiveOne passes a packet from the other Node to the Pod.
func receiveOne(t *testing.T, p *harness.Pod, in harness.Packet) {
	verdict, mark := runQuietly(t, p.Programs.OncacheIngress, p.UplinkIf, 0, p.FromPeer().Wrap(t, in.Bytes(t)))
	if verdict == harness.Next {
		runQuietly(t, p.Programs.OncacheIngressInit, p.PodIf, mark|harness.Epoch<<20, in.BehindOVS(harness.GatewayMAC, p.MAC).Bytes(t))
	}
}

// ownFlow returns the n-th packet of the Pod's flow number flow, changed.
func ownFlow(udp bool, flow func(n int) int, change func(*harness.Packet)) func(p, victim *harness.Pod, n int) harness.Packet {
	return func(p, _ *harness.Pod, n int) harness.Packet {
		out, _ := p.Packets(1000+flow(n), udp)
		out.Seq, out.ID = uint32(n), uint16(n)
		change(&out)
		return out
	}
}

// forged returns packets with the addresses of the victim's own flows.
func forged(change func(*harness.Packet)) func(p, victim *harness.Pod, n int) harness.Packet {
	return func(_, victim *harness.Pod, n int) harness.Packet {
		out, _ := victim.Packets(n%16, n%2 == 0)
		change(&out)
		return out
	}
}

var (
	one     = func(int) int { return 0 }
	another = func(n int) int { return n }
	as      = func(*harness.Packet) {}
)

func flags(f string) func(*harness.Packet) { return func(p *harness.Packet) { p.Flags = f } }
func protocol(n layers.IPProtocol) func(*harness.Packet) {
	return func(p *harness.Packet) { p.Protocol = n }
}
func payload(n int) func(*harness.Packet)                { return func(p *harness.Packet) { p.Payload = n } }
func answered(t *testing.T, p, _ *harness.Pod, n int)    { exchangeOnce(t, p, 1000+n, true) }
func neverClosed(t *testing.T, p, _ *harness.Pod, n int) { exchangeOnce(t, p, 1000+n, false) }
func synFrom(t *testing.T, p, _ *harness.Pod, n int)     { acceptOne(t, p, 1000+n) }
func fragmentOf(p *harness.Packet)                       { p.MF = true }
func withOptions(p *harness.Packet)                      { p.Options = true }
func tagged(p *harness.Packet)                           { p.VLAN = true }
func tunnelPort(p *harness.Packet)                       { p.SrcPort, p.DstPort = 6081, 6081 }

// exchangeOnce is one packet in each direction.
func exchangeOnce(t *testing.T, p *harness.Pod, n int, udp bool) {
	out, in := p.Packets(n, udp)
	sendOne(t, p, out, false)
	receiveOne(t, p, in)
}

// acceptOne is a SYN from the other Node, which the Pod answers.
func acceptOne(t *testing.T, p *harness.Pod, n int) {
	out, in := p.Packets(n, false)
	in.Flags, out.Flags = "S-", "S"
	receiveOne(t, p, in)
	sendOne(t, p, out, false)
}

// pesters are the kinds of packets of docs/operate/limits.md, by the names that these have there.
var pesters = map[string]pester{
	"quiet":                 func(*testing.T, *harness.Pod, *harness.Pod, int) {},
	"SYN to many ports":     sends(false, ownFlow(false, another, flags("S-"))),
	"SYN that are answered": synFrom,
	"datagrams to unused addresses, many flows": sends(true, ownFlow(true, another, as)),
	"datagrams to unused addresses, one flow":   sends(true, ownFlow(true, one, as)),
	"segments that a policy drops":              sends(true, ownFlow(false, one, as)),
	"exchanges of one datagram":                 answered,
	"connections that never close":              neverClosed,
	"FIN and RST":                               sends(false, ownFlow(false, another, flags("FR"))),
	"ICMP":                                      sends(false, ownFlow(false, one, protocol(layers.IPProtocolICMPv4))),
	"SCTP":                                      sends(false, ownFlow(false, one, protocol(layers.IPProtocolSCTP))),
	"fragments":                                 sends(false, ownFlow(true, another, fragmentOf)),
	"IPv4 options":                              sends(false, ownFlow(false, another, withOptions)),
	"VLAN tags":                                 sends(true, ownFlow(false, another, tagged)),
	"segments of one byte":                      sends(false, ownFlow(false, one, payload(1))),
	"packets longer than the MTU":               sends(false, ownFlow(true, one, payload(2000))),
	"to the port of the tunnel":                 sends(true, ownFlow(true, another, tunnelPort)),
	"forged: another Pod's flows":               sends(true, forged(as)),
	"forged: RST of another Pod's flows":        sends(true, forged(flags("R"))),
	"forged: FIN of another Pod's flows":        sends(true, forged(flags("F"))),
	"forged: fragments of another's flows":      sends(true, forged(fragmentOf)),
}

// pesters6 contains the cases that differ with IPv6, and some others.
var pesters6 = map[string]pester{
	"datagrams to unused addresses, many flows": pesters["datagrams to unused addresses, many flows"],
	"exchanges of one datagram":                 pesters["exchanges of one datagram"],
	"extension headers":                         sends(false, ownFlow(true, another, extended)),
	"neighbor discovery":                        sends(true, ownFlow(true, one, protocol(layers.IPProtocolICMPv6))),
	"forged: another Pod's flows":               pesters["forged: another Pod's flows"],
	"forged: RST of another's flows":            pesters["forged: RST of another Pod's flows"],
}

func extended(p *harness.Packet) { p.Extended, p.Extension = true, layers.IPProtocolIPv6Destination }

// TestNeighborsKeepTheFastPath: whatever packets a Pod sends, or gets, the flows of another Pod of its Node remain hits, and are renewed at the first
// try. In each round all leases end, which happens once in five seconds otherwise.
func TestNeighborsKeepTheFastPath(t *testing.T) {
	for name, pester := range pesters {
		t.Run(name, func(t *testing.T) { testPester(t, harness.Family{}, pester) })
	}
	for name, pester := range pesters6 {
		t.Run("IPv6, "+name, func(t *testing.T) { testPester(t, harness.Family{Inner6: true, Outer6: true}, pester) })
	}
}

func testPester(t *testing.T, f harness.Family, pester pester) {
	const rounds, between = 40, 25
	world := harness.NewWorldOf(t, f)
	limit(world, 400, 200) // a small cache, which a Pod can fill
	victim, neighbor := newWorker(t, world.Pod()), world.Neighbor(1)
	n := 0
	work := func() (hits int) {
		for range between {
			pester(t, neighbor, victim.Pod, n)
			n++
		}
		victim.sent, victim.hits = 0, 0
		victim.work()
		return victim.hits
	}
	for range 4 {
		victim.work() // learns
	}
	hits := 0
	for range rounds {
		world.EndLeases()
		work()
		hits += work()
	}
	share := 100 * float64(hits) / float64(rounds*victim.sent)
	t.Logf("%.1f %% of %d packets were hits beside %d packets of another Pod", share, rounds*victim.sent, n)
	require.Greater(t, share, 95.0)
	require.Equal(t, [2]int64{16, 16}, victim.Counts(), "no entry was lost")
}
