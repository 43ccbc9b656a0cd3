// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Direction of a flow entry as the local Pod sees it.
type Direction string

const (
	DirectionEgress  Direction = "egress"
	DirectionIngress Direction = "ingress"
)

// Flow is one entry of the cache: one direction of a connection.
type Flow struct {
	Direction Direction
	// Source and Destination are the addresses of a packet before Open vSwitch: as the Pod sends it, or as it arrives in the tunnel.
	Source      netip.AddrPort
	Destination netip.AddrPort
	// Translated is the destination behind Open vSwitch: the Endpoint of a Service; or, if SourceTranslated is set, the source: the
	// Service. It is the zero AddrPort if both stay as they are.
	Translated       netip.AddrPort
	SourceTranslated bool
	Protocol         uint8
	EndpointSlot     int
	NodeSlot         int
	// Local is set for a flow between two Pods of this Node. Both directions are egress entries then, PeerSlot is the slot of the
	// Pod that receives, and NodeSlot is -1.
	Local    bool
	PeerSlot int
	// Direct is set for a flow to or from a Node that is reached without the tunnel.
	Direct bool
	// Rewritten is set in an egress entry whose packets are rewritten instead of encapsulated, where nothing else speaks against it.
	Rewritten        bool
	Packets, Bytes   uint64
	Created          uint64 // when the entry was made, in ns of CLOCK_MONOTONIC_COARSE
	Age              time.Duration
	LeaseLeft        time.Duration // negative: the next packet takes the slow path
	Seen             Seen
	OwnProved        bool
	OtherProved      bool
	CurrentEndpoint  bool // generations still match
	CurrentNode      bool // generation of the Node, or of the local Pod that receives
	CurrentEverybody bool
}

// Seen is the last packet of a direction, on either path.
type Seen struct {
	// At is the time of the packet in kernel ticks, Ago its age.
	At  uint32
	Ago time.Duration
	// End and Ack are for TCP: the sequence number after the last segment, and the highest acknowledgment.
	End, Ack uint32
	// ZeroWindow is set when the last segment's window was 0, Data when it carried data.
	ZeroWindow, Data bool
}

// oppositeDirection returns the direction of the entry of the connection's other half.
func (f *Flow) oppositeDirection() Direction {
	if f.Direction == DirectionEgress && !f.Local {
		return DirectionIngress
	}
	return DirectionEgress
}

// Proved reports whether Open vSwitch has been seen to pass the flow: for UDP this direction, for TCP both.
func (f *Flow) Proved() bool {
	return f.OwnProved && (f.OtherProved || f.Protocol == unix.IPPROTO_UDP)
}

// Sent returns source and destination of the connection's packets as the local Pod sends them, for an entry of either direction;
// between two local Pods, the Pod of the entry. Conntrack knows the connection by these.
func (f *Flow) Sent() (source, destination netip.AddrPort) {
	if f.Direction == DirectionEgress {
		return f.Source, f.Destination
	}
	return f.answer()
}

// Received returns source and destination of the connection's packets to the local Pod before Open vSwitch: as they arrive in the
// tunnel, or as another Pod of the Node sends them.
func (f *Flow) Received() (source, destination netip.AddrPort) {
	if f.Direction == DirectionIngress {
		return f.Source, f.Destination
	}
	return f.answer()
}

// answer returns source and destination of the connection's other half.
func (f *Flow) answer() (source, destination netip.AddrPort) {
	switch {
	case !f.Translated.IsValid():
		return f.Destination, f.Source
	case f.SourceTranslated:
		return f.Destination, f.Translated
	}
	return f.Translated, f.Source
}

// Active reports whether the next packet of the flow would take the fast path, as far as the entry decides.
func (f *Flow) Active() bool {
	return f.Proved() && f.CurrentEndpoint && f.CurrentNode && f.CurrentEverybody && f.LeaseLeft >= 0
}

// localPeer is LOCAL_PEER of bpf/oncache/types.h, directPeer is DIRECT_PEER.
const localPeer, directPeer = 0x8000, 0x4000

// flowBatch is the number of entries per system call.
const flowBatch = 4096

// Flows calls yield for every entry until it returns false. It may miss entries that are added or removed during the walk.
func (d *Datapath) Flows(yield func(Flow) bool) (err error) {
	now, err := d.now()
	if err != nil {
		return err
	}
	more := true
	walk := func(walk func() (bool, error)) {
		if more && err == nil {
			more, err = walk()
		}
	}
	walk(func() (bool, error) {
		return each(d.objects.EgressFlows4, func(k object.BpfOncFlow4, v object.BpfOncEgress4) bool {
			return yield(d.egressFlow(now, ends4(k), egress6(v)))
		})
	})
	walk(func() (bool, error) {
		return each(d.objects.EgressFlows6, func(k object.BpfOncFlow6, v object.BpfOncEgress) bool { return yield(d.egressFlow(now, ends6(k), v)) })
	})
	walk(func() (bool, error) {
		return each(d.objects.IngressFlows4, func(k object.BpfOncFlow4, v object.BpfOncIngress4) bool {
			return yield(d.ingressFlow(now, ends4(k), ingress6(v)))
		})
	})
	walk(func() (bool, error) {
		return each(d.objects.IngressFlows6, func(k object.BpfOncFlow6, v object.BpfOncIngress) bool { return yield(d.ingressFlow(now, ends6(k), v)) })
	})
	return err
}

// Flow returns one entry of the cache, or nil if there is none.
func (d *Datapath) Flow(direction Direction, protocol uint8, source, destination netip.AddrPort) (*Flow, error) {
	now, err := d.now()
	if err != nil {
		return nil, err
	}
	return d.entry(now, flowMapOf(direction, source, destination), ends{source, destination, protocol}, (*ebpf.Map).Lookup)
}

func flowMapOf(direction Direction, source, destination netip.AddrPort) object.FlowMap {
	egress, four := direction == DirectionEgress, source.Addr().Is4() && destination.Addr().Is4()
	switch {
	case egress && four:
		return object.Egress4
	case egress:
		return object.Egress6
	case four:
		return object.Ingress4
	}
	return object.Ingress6
}

// mapRead is Lookup or LookupAndDelete of a map.
type mapRead func(m *ebpf.Map, key, value any) error

// entry returns the entry found by read, or nil if there is none. Without now its ages mean nothing.
func (d *Datapath) entry(now moment, m object.FlowMap, e ends, read mapRead) (*Flow, error) {
	switch m {
	case object.Egress4:
		return readFlow(d.objectOf(m), e.key4(), read, func(v object.BpfOncEgress4) Flow { return d.egressFlow(now, e, egress6(v)) })
	case object.Ingress4:
		return readFlow(d.objectOf(m), e.key4(), read, func(v object.BpfOncIngress4) Flow { return d.ingressFlow(now, e, ingress6(v)) })
	case object.Egress6:
		return readFlow(d.objectOf(m), e.key6(), read, func(v object.BpfOncEgress) Flow { return d.egressFlow(now, e, v) })
	}
	return readFlow(d.objectOf(m), e.key6(), read, func(v object.BpfOncIngress) Flow { return d.ingressFlow(now, e, v) })
}

// Opposite returns the entry of the other direction of the flow's connection, or nil if there is none.
func (d *Datapath) Opposite(f *Flow) (*Flow, error) {
	source, destination := f.answer()
	return d.Flow(f.oppositeDirection(), f.Protocol, source, destination)
}

// egress6 and ingress6 convert the value of an IPv4 map, which equals the beginning of an IPv6 map's, to the latter. The address of a
// translation is in its first word.
func egress6(v object.BpfOncEgress4) object.BpfOncEgress {
	return object.BpfOncEgress{
		V: v.V, Seen: v.Seen, Packets: v.Packets, Bytes: v.Bytes, Created: v.Created, Keys: v.Keys,
		To: object.BpfOncTranslation{Port: v.To.Port, Source: v.To.Source, Addr: [4]uint32{v.To.Addr}},
	}
}

func ingress6(v object.BpfOncIngress4) object.BpfOncIngress {
	return object.BpfOncIngress{
		V: v.V, Seen: v.Seen, Packets: v.Packets, Bytes: v.Bytes, Created: v.Created, Macs: v.Macs,
		To: object.BpfOncTranslation{Port: v.To.Port, Addr: [4]uint32{v.To.Addr}},
	}
}

// translated is the address and the port of a translation.
func (e ends) translated(to object.BpfOncTranslation) netip.AddrPort {
	switch {
	case to.Port == 0:
		return netip.AddrPort{}
	case e.source.Addr().Is4():
		return netip.AddrPortFrom(object.Addr4(to.Addr[0]), object.Port(to.Port))
	}
	return netip.AddrPortFrom(object.Addr6(to.Addr), object.Port(to.Port))
}

func readFlow[V any](m *ebpf.Map, key any, read mapRead, flow func(V) Flow) (*Flow, error) {
	var value V
	if err := read(m, key, &value); errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read an entry of map %v: %w", m, err)
	}
	f := flow(value)
	return &f, nil
}

// moment is a point in time on both clocks of the programs.
type moment struct {
	monotonic uint64 // ns of CLOCK_MONOTONIC_COARSE
	jiffies   uint64
}

// now reads both clocks. User space cannot read the programs' clock, so a program is run to read it.
func (d *Datapath) now() (m moment, err error) {
	if m.monotonic, err = Uptime(); err != nil {
		return m, err
	}
	frame := make([]byte, 14) // the shortest frame that a program can be run with
	if _, err := d.objects.OncacheJiffies.Run(&ebpf.RunOptions{Data: frame}); err != nil {
		return m, fmt.Errorf("read jiffies: %w", err)
	}
	m.jiffies = atomic.LoadUint64(&d.control.Elements[0].Now)
	return m, nil
}

// Uptime returns the present time as Flow.Created has it.
func Uptime() (uint64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &ts); err != nil {
		return 0, fmt.Errorf("read CLOCK_MONOTONIC_COARSE: %w", err)
	}
	return uint64(ts.Nano()), nil
}

// ends is a flow key of either family.
type ends struct {
	source, destination netip.AddrPort
	protocol            uint8
}

func ends4(k object.BpfOncFlow4) ends {
	return ends{netip.AddrPortFrom(object.Addr4(k.Saddr), object.Port(k.Sport)), netip.AddrPortFrom(object.Addr4(k.Daddr), object.Port(k.Dport)), k.Proto}
}

func ends6(k object.BpfOncFlow6) ends {
	return ends{netip.AddrPortFrom(object.Addr6(k.Saddr), object.Port(k.Sport)), netip.AddrPortFrom(object.Addr6(k.Daddr), object.Port(k.Dport)), k.Proto}
}

func (d *Datapath) egressFlow(now moment, e ends, v object.BpfOncEgress) Flow {
	f := d.flow(now, e, v.V, v.Seen)
	f.Translated = e.translated(v.To)
	f.SourceTranslated = v.To.Source != 0
	f.Direction, f.Packets, f.Bytes = DirectionEgress, v.Packets, v.Bytes
	f.Rewritten = rewritten(now, &v.Keys)
	f.Created, f.Age = v.Created, time.Duration(now.monotonic-v.Created)
	return f
}

func (d *Datapath) ingressFlow(now moment, e ends, v object.BpfOncIngress) Flow {
	f := d.flow(now, e, v.V, v.Seen)
	f.Translated = e.translated(v.To)
	f.SourceTranslated = f.Translated.IsValid()
	f.Direction, f.Packets, f.Bytes = DirectionIngress, v.Packets, v.Bytes
	f.Created, f.Age = v.Created, time.Duration(now.monotonic-v.Created)
	return f
}

func (d *Datapath) flow(now moment, e ends, v object.BpfOncValidity, s object.BpfOncSeen) Flow {
	f := Flow{
		Source:           e.source,
		Destination:      e.destination,
		Protocol:         e.protocol,
		EndpointSlot:     int(v.Endpoint),
		NodeSlot:         int(v.Node &^ directPeer),
		LeaseLeft:        time.Duration(d.leaseLeft(now, &v)) * d.jiffy,
		OwnProved:        v.Proved&1 != 0,
		OtherProved:      v.Proved&2 != 0,
		CurrentEverybody: v.AllGen == d.control.Elements[0].Generation,
		Seen: Seen{
			At: s.At,
			// A packet may have passed since the clock was read.
			Ago: time.Duration(max(0, int32(uint32(now.jiffies)-s.At))) * d.jiffy,
			End: s.End, Ack: s.Ack, ZeroWindow: s.Window == 0, Data: s.Length > 0,
		},
	}
	if e.protocol != unix.IPPROTO_TCP {
		f.Seen = Seen{At: f.Seen.At, Ago: f.Seen.Ago}
	}
	if v.Node&localPeer != 0 {
		f.Local, f.NodeSlot, f.PeerSlot = true, -1, int(v.Node&^localPeer)
		if f.EndpointSlot < MaxEndpoints && f.PeerSlot < MaxEndpoints {
			sender, _ := d.EndpointState(f.EndpointSlot)
			receiver, _ := d.EndpointState(f.PeerSlot)
			f.CurrentEndpoint, f.CurrentNode = v.EndpointGen == sender, v.NodeGen == receiver
		}
		return f
	}
	f.Direct = v.Node&directPeer != 0
	if f.EndpointSlot < MaxEndpoints && f.NodeSlot < MaxNodes {
		generation, _ := d.EndpointState(f.EndpointSlot)
		f.CurrentEndpoint = v.EndpointGen == generation
		f.CurrentNode = v.NodeGen == d.nodes.Elements[f.NodeSlot].Generation
	}
	return f
}

// each walks a hash map in batches. With one system call per entry, a million would take seconds.
func each[K, V any](m *ebpf.Map, yield func(K, V) bool) (more bool, err error) {
	keys, values := make([]K, flowBatch), make([]V, flowBatch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		for i := range n {
			if !yield(keys[i], values[i]) {
				return false, nil
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("read map %v: %w", m, err)
		}
	}
}

// MapStat is the size of one map.
type MapStat struct {
	Name       string
	MaxEntries uint32
	// Bytes is the memory as the kernel accounts for it; 0 before Linux 6.4 for maps that are not preallocated.
	Bytes uint64
}

// MapStats lists all maps with their memory.
func (d *Datapath) MapStats() ([]MapStat, error) {
	var out []MapStat
	for _, m := range d.maps() {
		info, err := m.Info()
		if err != nil {
			return nil, fmt.Errorf("read info of map %v: %w", m, err)
		}
		memory, _ := info.Memlock()
		out = append(out, MapStat{Name: info.Name, MaxEntries: m.MaxEntries(), Bytes: memory})
	}
	return out, nil
}

func (d *Datapath) maps() []*ebpf.Map {
	return []*ebpf.Map{
		d.objects.EgressFlows4, d.objects.IngressFlows4, d.objects.EgressFlows6, d.objects.IngressFlows6,
		d.objects.Endpoints, d.objects.EndpointSlots, d.objects.EndpointIps, d.objects.ServiceIps, d.objects.NodeIps, d.objects.Nodes, d.objects.Restores, d.objects.PodNetworks4, d.objects.PodNetworks6,
		d.objects.Openings, d.objects.Untracked, d.objects.UntrackedPods, d.objects.Bars, d.objects.Subjects, d.objects.Tickets, d.objects.Candidates,
		d.objects.Passed, d.objects.Retired, d.objects.Counters, d.objects.Control, d.objects.FlowCounts, d.objects.FlowLimits,
	}
}
