// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// fuzzCase is one packet at one hook, and the state of the maps.
type fuzzCase struct {
	ingress bool
	// rewritten is set for a packet that arrives without tunnel headers.
	rewritten bool
	// packetType is skb->pkt_type, 0 (PACKET_HOST) to 3 (PACKET_OTHERHOST).
	packetType uint8
	mark       uint32
	packet     oracle.Packet
	state      oracle.State
}

// fuzzWorld runs cases through the programs and the oracle.
type fuzzWorld struct {
	*harness.World
	egressRun, egressInitRun, ingressRun, ingressInitRun *harness.TestRun
	gatewayEgressRun, gatewayIngressInitRun              *harness.TestRun

	bases [16]fuzzCase
	stats *fuzzStats
	given uint16 // the key of the last case
}

func newFuzzWorld(t testing.TB) *fuzzWorld { return newFuzzWorldOf(t, harness.NewWorld(t)) }

func newFuzzWorldOf(t testing.TB, world *harness.World) *fuzzWorld {
	w := &fuzzWorld{World: world, stats: newFuzzStats(t)}
	jumps, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 6})
	require.NoError(t, err)
	t.Cleanup(func() { jumps.Close() })
	w.egressRun = fuzzRun(t, jumps, 0, w.Programs.OncacheEgress)
	w.egressInitRun = fuzzRun(t, jumps, 1, w.Programs.OncacheEgressInit)
	w.ingressRun = fuzzRun(t, jumps, 2, w.Programs.OncacheIngress)
	w.ingressInitRun = fuzzRun(t, jumps, 3, w.Programs.OncacheIngressInit)
	w.gatewayEgressRun = fuzzRun(t, jumps, 4, w.Programs.OncacheGatewayEgress)
	w.gatewayIngressInitRun = fuzzRun(t, jumps, 5, w.Programs.OncacheGatewayIngressInit)
	for kind := range w.bases {
		w.bases[kind] = w.base(kind)
	}
	return w
}

// The values that the prelude of a fuzzed program reads from skb->cb.
const (
	cbHash = iota
	cbVLAN
	cbPacketType
)

// fuzzRun runs p after a prelude that sets the fields that BPF_PROG_TEST_RUN cannot: flow hash, VLAN tag outside the frame, packet type.
func fuzzRun(t testing.TB, jumps *ebpf.Map, n uint32, p *ebpf.Program) *harness.TestRun {
	require.NoError(t, jumps.Put(n, p))
	const cb = 48 // of struct __sk_buff
	prelude, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "prelude", Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, cb+4*cbHash, asm.Word),
		asm.FnSetHash.Call(),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMem(asm.R2, asm.R6, cb+4*cbPacketType, asm.Word),
		asm.FnSkbChangeType.Call(),
		asm.LoadMem(asm.R3, asm.R6, cb+4*cbVLAN, asm.Word),
		asm.JEq.Imm(asm.R3, 0, "untagged"),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, 0x0081), // ETH_P_8021Q in network byte order
		asm.FnSkbVlanPush.Call(),
		asm.Mov.Reg(asm.R1, asm.R6).WithSymbol("untagged"),
		asm.LoadMapPtr(asm.R2, jumps.FD()),
		asm.Mov.Imm(asm.R3, int32(n)),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { prelude.Close() })
	return harness.NewTestRun(prelude, 1<<16)
}

// base returns a packet that takes the fast path. The bits of kind: IPv6 inside, IPv6 outside, UDP, Ingress.
func (w *fuzzWorld) base(kind int) fuzzCase {
	f := harness.Family{Inner6: kind&1 != 0, Outer6: kind&2 != 0}
	of := harness.World{T: w.T, Family: f}
	c := fuzzCase{ingress: kind&8 != 0}
	p := of.FromPod()
	c.packet = oracle.Packet{ForHost: true, Hash: 0x12345678, Interface: uint32(w.PodIf)}
	if c.ingress {
		p, c.packet.Interface = of.ToPod(), uint32(w.UplinkIf)
	}
	p.UDP = kind&4 != 0
	c.packet.Frame = p.Bytes(w.T)
	if c.ingress {
		c.packet.Frame = of.FromPeer().Wrap(w.T, c.packet.Frame)
	}
	o := of.ToPeer()
	o.SrcPort = 0
	header := o.Wrap(w.T, append(append([]byte{}, harness.VirtualMAC...), harness.GatewayMAC...))
	header = append(header, 0, 0) // EtherType
	ip := header[14:]
	if f.Outer6 {
		clear(ip[4:6])
		clear(ip[44:46])
	} else {
		clear(ip[2:6])
		clear(ip[10:12])
		clear(ip[24:26])
	}
	c.state = oracle.State{
		Mode: oracle.Enforce, Generation: 3,
		Uplink: oracle.Uplink{IPv4: harness.NodeIP, IPv6: harness.NodeIP6, Port: 6081, RewritePort: harness.RewritePort, PortFirst: 1, PortCount: 65534,
			MAC: [6]byte(harness.UplinkMAC), VirtualMAC: [6]byte(harness.VirtualMAC), TunnelHeader: o.Tunnel},
		Endpoint: oracle.Endpoint{Generation: 4, Changed: 6, Interface: uint32(w.PodIf), MAC: [6]byte(harness.PodMAC), GatewayMAC: [6]byte(harness.GatewayMAC),
			IPv4: harness.PodIP, IPv6: harness.PodIP6, FoundBy: uint32(w.PodIf), FoundAt: []netip.Addr{harness.PodIP, harness.PodIP6}},
		Node: oracle.Node{Generation: 5, Address: o.Dst, MTU: 1500, Header: header},
		Entry: &oracle.Entry{Intact: true, Own: true, Other: true, Running: true, Everything: 3, Endpoint: 4, Node: 5,
			MACs: [12]byte(append(append([]byte{}, harness.PodMAC...), harness.GatewayMAC...))},
	}
	c.follow()
	return c
}

// innerOffset is the offset of the inner IP header in an unmodified packet.
func (c *fuzzCase) innerOffset() int {
	if c.ingress && !c.rewritten {
		return len(c.state.Node.Header)
	}
	return 14
}

// follow makes the entry match the packet, if the packet has something like a 5-tuple.
func (c *fuzzCase) follow() {
	e := c.state.Entry
	if flow, ok := harness.FiveTupleIn(c.packet.Frame, c.innerOffset()); ok && e != nil {
		e.Flow = oracle.Flow(flow)
		if e.Translated.IsValid() && e.Translated.Addr().Is6() != flow.Source.Addr().Is6() {
			e.Translated = netip.AddrPort{}
		}
	}
}

// clone returns a copy that can be changed.
func (c *fuzzCase) clone() *fuzzCase {
	d := *c
	d.packet.Frame = bytes.Clone(c.packet.Frame)
	d.state.Node.Header = bytes.Clone(c.state.Node.Header)
	entry := *c.state.Entry
	d.state.Entry = &entry
	if c.state.Heard != nil {
		heard := *c.state.Heard
		d.state.Heard = &heard
	}
	if c.state.Given != nil {
		given := *c.state.Given
		d.state.Given = &given
	}
	return &d
}

// check runs a case through the program and the oracle, and fails if they do not agree.
func (w *fuzzWorld) check(t *testing.T, c *fuzzCase) {
	remove := w.install(t, c)
	defer remove()
	w.Note(t, c.packet.Frame, c.innerOffset())
	r := w.pass(t, c)
	hit := r.Verdict() == harness.Redirect
	w.stats.note(hit)
	want, refused := c.judge(hit, r.Packet())
	switch {
	case hit && refused != nil:
		t.Fatalf("let through, but the design refuses it: %v\n%s", refused, c)
	case hit:
		if !bytes.Equal(want, r.Packet()) {
			t.Fatalf("let through, but changed differently than the design says (- want, + got):\n%s\n%s", cmp.Diff(want, r.Packet()), c)
		}
		if wantMark := c.markOfHit(); r.ContextOut.Mark != wantMark {
			t.Fatalf("mark %#x, want %#x\n%s", r.ContextOut.Mark, wantMark, c)
		}
	default:
		frame, mark := r.Packet(), r.ContextOut.Mark // a second run would overwrite them
		if refused == nil {
			frame = bytes.Clone(frame)
			if reason := w.reason(t, c, r); reason != "offload" || !kernelCannot(t, c) {
				t.Fatalf("refused (%s), but the design lets it through\n%s", reason, c)
			}
		}
		c.requirePassedOn(t, r.Verdict(), mark, frame, refused)
	}
}

// markOfHit is the mark of the packet after a hit: the border of a Pod's namespace clears it.
func (c *fuzzCase) markOfHit() uint32 {
	switch {
	case !c.ingress && !c.state.Entry.Local:
		return c.mark
	case c.state.Endpoint.Gateway:
		return c.mark &^ harness.OwnBits
	}
	return 0
}

// pass runs the case's program on its packet.
func (w *fuzzWorld) pass(t *testing.T, c *fuzzCase) *harness.TestRun {
	r, _ := w.runsOf(c.ingress, c.state.Endpoint.Gateway)
	r.Context = harness.SKB{Ifindex: c.packet.Interface, Mark: c.mark, GSOSize: uint32(c.packet.Segment)}
	if c.packet.Segment > 0 {
		r.Context.GSOSegs = 2
	}
	r.Context.CB[cbHash], r.Context.CB[cbPacketType] = c.packet.Hash, uint32(c.packetType)
	if c.packet.VLAN {
		r.Context.CB[cbVLAN] = 1
	}
	if err := r.Run(c.packet.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	return r
}

// runsOf returns the programs before and behind Open vSwitch for a direction, of Pods or of the gateway.
func (w *fuzzWorld) runsOf(ingress, gateway bool) (run, init *harness.TestRun) {
	switch {
	case ingress && gateway:
		return w.ingressRun, w.gatewayIngressInitRun
	case ingress:
		return w.ingressRun, w.ingressInitRun
	case gateway:
		return w.gatewayEgressRun, w.egressInitRun
	}
	return w.egressRun, w.egressInitRun
}

// judge asks the oracle for the resulting frame, or for the reason why the packet is not a hit. The program chooses the outer
// identification, so judge takes it from the result of a hit.
func (c *fuzzCase) judge(hit bool, out []byte) (want []byte, refused error) {
	c.packet.Mark = c.mark
	if c.ingress {
		return oracle.Ingress(&c.state, &c.packet)
	}
	var identification uint16
	if hit && len(out) > 20 {
		identification = binary.BigEndian.Uint16(out[14+4:])
	}
	return oracle.Egress(&c.state, &c.packet, identification)
}

// requirePassedOn fails unless a packet that is not a hit reaches Open vSwitch untouched, with the right mark.
func (c *fuzzCase) requirePassedOn(t *testing.T, verdict int, mark uint32, frame []byte, refused error) {
	t.Helper()
	stampOf := oracle.EgressStamp
	if c.ingress {
		stampOf = oracle.IngressStamp
	}
	wantMark, foreign := c.mark, ^uint32(harness.TicketBits)
	if stamp, ok := stampOf(&c.state, &c.packet); ok {
		wantMark = wantMark&^harness.EpochBits | stamp<<20
	} else if mark&harness.TicketBits != 0 || c.ingress {
		foreign = ^uint32(harness.OwnBits) // a new ticket, or Ingress, clears the epoch
	}
	if verdict != harness.Next || !bytes.Equal(frame, c.packet.Frame) || mark&foreign != wantMark&foreign {
		t.Fatalf("not a hit (%v), but not passed on untouched: verdict %d, mark %#x, want %#x\n%s\n%s",
			refused, verdict, mark, wantMark, cmp.Diff(c.packet.Frame, frame), c)
	}
}

// kernelCannot lists the only packets that a program may refuse although the oracle lets them through. A super-packet made by
// BPF_PROG_TEST_RUN has a segment size but no type, and the kernel does not change the room in such a packet. Before Linux 6.3 one IP
// version is not decapsulated from the other.
func kernelCannot(t *testing.T, c *fuzzCase) bool {
	f := harness.Family{Inner6: c.state.Entry.Flow.Source.Addr().Is6(), Outer6: c.state.Node.Address.Is6()}
	return c.packet.Segment > 0 || c.ingress && harness.Decapsulated(t, f) == "offload"
}

// reason runs a case again to see which reason the program counts.
func (w *fuzzWorld) reason(t *testing.T, c *fuzzCase, r *harness.TestRun) string {
	return w.Counted(t, func() { require.NoError(t, r.Run(c.packet.Frame)) })
}

// counts checks a case and the reason under which it is counted.
func (w *fuzzWorld) counts(t *testing.T, c *fuzzCase, reason string) {
	t.Helper()
	require.Equal(t, reason, w.Counted(t, func() { w.check(t, c) }))
}

func (c *fuzzCase) String() string {
	entry := "none"
	if c.state.Entry != nil {
		entry = fmt.Sprintf("%+v", *c.state.Entry)
	}
	return fmt.Sprintf("ingress %v, interface %d, VLAN %v, packet type %d, segment %d, hash %#x, mark %#x\nframe %x\nstate %+v\nentry %s",
		c.ingress, c.packet.Interface, c.packet.VLAN, c.packetType, c.packet.Segment, c.packet.Hash, c.mark, c.packet.Frame, c.state, entry)
}
