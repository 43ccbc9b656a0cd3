// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
)

// MaxEpoch is the last epoch; 0 means that nothing may be learned. The upper half of what 10 bits can hold are stamps.
const MaxEpoch = 511

// MaxEndpoints and MaxNodes are the numbers of slots. Node slots also bound the number of Pod networks.
const (
	MaxEndpoints = 1024
	MaxNodes     = 8192
)

// Uplink is the device that carries tunnel packets, and the form of these.
type Uplink struct {
	IfIndex int
	MAC     net.HardwareAddr
	// IPv4 and IPv6 are this Node's transport addresses; the zero Addr when it has none of the family.
	IPv4, IPv6 netip.Addr
	// TunnelPort is the UDP destination port; PortMin (included) and PortMax (excluded) the range of source ports.
	TunnelPort, PortMin, PortMax uint16
	// TunnelHeader is the only tunnel header that is accepted, as on the wire.
	TunnelHeader [8]byte
	// VirtualMAC is the inner destination MAC of everything in the tunnel.
	VirtualMAC net.HardwareAddr
}

// Endpoint is a local Pod's interface.
type Endpoint struct {
	IfIndex int
	// IPv4 and IPv6 are the addresses that the Pod may use the cache with; the zero Addr for none of the family.
	IPv4, IPv6      netip.Addr
	MAC, GatewayMAC net.HardwareAddr
}

// SetUplink writes everything about the uplink, and the lease in ns, of which whole ticks of the kernel count; call it while disabled or
// before BumpAll.
func (d *Datapath) SetUplink(u Uplink, leaseNs uint64) {
	c := &d.control.elements[0]
	atomic.StoreUint64(&c.Lease, leaseNs/uint64(d.jiffy))
	atomic.StoreUint32(&c.UplinkIfindex, uint32(u.IfIndex))
	atomic.StoreUint32(&c.UplinkIp4, wire4(u.IPv4))
	c.UplinkIp6 = wire6(u.IPv6)
	c.TunnelPort = binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, u.TunnelPort))
	c.PortMin, c.PortMax = u.PortMin, u.PortMax
	copy(c.UplinkMac[:], u.MAC)
	copy(c.VirtualMac[:], u.VirtualMAC)
	c.TunnelHeader = u.TunnelHeader
}

// SetLease changes how long leases run that begin from now on.
func (d *Datapath) SetLease(lease time.Duration) {
	atomic.StoreUint64(&d.control.elements[0].Lease, uint64(lease/d.jiffy))
}

// Mode says what the programs do with a hit.
type Mode uint32

const (
	// ModeOff: every packet takes the slow path and nothing is learned.
	ModeOff Mode = iota
	// ModeObserve: entries are learned and hits counted, but every packet takes the slow path.
	ModeObserve
	// ModeEnforce: hits take the fast path.
	ModeEnforce
)

var modeNames = []string{"off", "observe", "enforce"}

// String is the mode's name in the configuration.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint32(m))
}

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	if i := slices.Index(modeNames, name); i >= 0 {
		return Mode(i), nil
	}
	return ModeOff, fmt.Errorf("mode %q does not exist; allowed: %s", name, strings.Join(modeNames, ", "))
}

// SetMode switches all programs at once.
func (d *Datapath) SetMode(m Mode) { atomic.StoreUint32(&d.control.elements[0].Mode, uint32(m)) }

// Mode reports what SetMode has set, possibly in an earlier agent's life.
func (d *Datapath) Mode() Mode { return Mode(atomic.LoadUint32(&d.control.elements[0].Mode)) }

// BumpUplink evicts every flow and the header templates of all Nodes.
func (d *Datapath) BumpUplink() {
	for slot := range d.nodes.elements {
		if d.nodeIP(slot).IsValid() {
			d.BumpNode(slot)
		}
	}
	d.BumpAll()
}

// BumpAll evicts every flow.
func (d *Datapath) BumpAll() uint32 { return atomic.AddUint32(&d.control.elements[0].Generation, 1) }

// EndpointState returns generation and epoch of a slot; generations survive the Pods that used the slot.
func (d *Datapath) EndpointState(slot int) (generation, epoch uint32) {
	w := atomic.LoadUint64(endpointWord(&d.endpoints.elements[slot]))
	return uint32(w), uint32(w >> 32)
}

// PublishEndpoint makes generation and epoch of a slot current in one store: entries of other generations are evicted
// and only packets that carry the epoch can create new ones, from the same instant.
func (d *Datapath) PublishEndpoint(slot int, generation, epoch uint32) {
	atomic.StoreUint64(endpointWord(&d.endpoints.elements[slot]), uint64(epoch)<<32|uint64(generation))
}

// stampValues is how many numbers of changes a stamp tells apart. Those that it cannot tell from 0, which packets of no known
// Pod have, are left out.
const stampValues = 1 << 9

// NextChange is the number of a change. It must be asked for after Open vSwitch has answered the change's barrier.
func (d *Datapath) NextChange() uint32 {
	n := d.changes.Add(1)
	for n%stampValues == 0 {
		n = d.changes.Add(1)
	}
	return n
}

// StampEndpoint gives packets of the Pod the stamp of a change: they meet no megaflow from before it.
func (d *Datapath) StampEndpoint(slot int, change uint32) {
	atomic.StoreUint32(&d.endpoints.elements[slot].Changed, change)
}

// lastChange is the number of the last change that an earlier agent has counted, for megaflows outlive the agent. New maps have
// none: what was counted in those of another version is not known, so the count begins anywhere.
func (d *Datapath) lastChange() (last uint32) {
	for slot := range d.endpoints.elements {
		if n := d.endpoints.elements[slot].Changed; n != 0 && (last == 0 || int32(n-last) > 0) {
			last = n
		}
	}
	if last == 0 {
		return rand.Uint32N(stampValues)
	}
	return last
}

func endpointWord(e *bpfOncEndpoint) *uint64 { return (*uint64)(unsafe.Pointer(&e.Generation)) }

// SetEndpoint fills a slot. The slot must have a generation that no entry uses (PublishEndpoint first), with epoch 0.
func (d *Datapath) SetEndpoint(slot int, e Endpoint) error {
	s := &d.endpoints.elements[slot]
	atomic.StoreUint32(&s.Ip4, wire4(e.IPv4))
	s.Ip6 = wire6(e.IPv6)
	copy(s.Mac[:], e.MAC)
	copy(s.GatewayMac[:], e.GatewayMAC)
	atomic.StoreUint32(&s.Ifindex, uint32(e.IfIndex))
	if err := d.objects.EndpointSlots.Put(uint32(e.IfIndex), uint32(slot)); err != nil {
		return fmt.Errorf("announce endpoint on interface index %d: %w", e.IfIndex, err)
	}
	for _, ip := range s.addresses() {
		if err := d.objects.EndpointIps.Put(addressKey(ip), uint32(slot)); err != nil {
			return fmt.Errorf("announce address %v of the endpoint on interface index %d: %w", ip, e.IfIndex, err)
		}
	}
	return nil
}

// addresses are those that the slot was last filled with.
func (s *bpfOncEndpoint) addresses() (out []netip.Addr) {
	if s.Ip4 != 0 {
		out = append(out, addr4(s.Ip4))
	}
	if s.Ip6 != [4]uint32{} {
		out = append(out, addr6(s.Ip6))
	}
	return out
}

// addressKey is the key of endpoint_ips.
func addressKey(ip netip.Addr) bpfOncAddress {
	return bpfOncAddress{Addr: wire6(netip.AddrFrom16(ip.As16()))}
}

// NoteEpoch remembers, for an agent that starts after this one, the last epoch that Open vSwitch may write for the slot's
// Pod. It is called before Open vSwitch is told.
func (d *Datapath) NoteEpoch(slot int, epoch uint32) {
	atomic.StoreUint32(&d.endpoints.elements[slot].LastEpoch, epoch)
}

// FormerEpochs returns what NoteEpoch has noted, by Pod address, for present Pods and for removed ones whose slot was not
// used again.
func (d *Datapath) FormerEpochs() map[netip.Addr]uint32 {
	out := map[netip.Addr]uint32{}
	for slot := range d.endpoints.elements {
		s := &d.endpoints.elements[slot]
		if s.LastEpoch == 0 {
			continue
		}
		for _, ip := range s.addresses() {
			out[ip] = s.LastEpoch
		}
	}
	return out
}

// ClearEndpoint withdraws a slot's Pod. Its generation must have been moved on by PublishEndpoint, with epoch 0, before.
// The address stays for FormerEpochs.
func (d *Datapath) ClearEndpoint(slot int) error {
	s := &d.endpoints.elements[slot]
	ifindex := atomic.SwapUint32(&s.Ifindex, 0)
	if ifindex == 0 {
		return nil
	}
	var errs []error
	if err := d.objects.EndpointSlots.Delete(ifindex); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		errs = append(errs, fmt.Errorf("withdraw endpoint on interface index %d: %w", ifindex, err))
	}
	for _, ip := range s.addresses() {
		errs = append(errs, d.withdrawAddress(ip, slot))
	}
	return errors.Join(errs...)
}

// withdrawAddress forgets whose address it is, unless another slot has it by now.
func (d *Datapath) withdrawAddress(ip netip.Addr, slot int) error {
	var owner uint32
	err := d.objects.EndpointIps.Lookup(addressKey(ip), &owner)
	if err == nil && owner == uint32(slot) {
		err = d.objects.EndpointIps.Delete(addressKey(ip))
	}
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("withdraw endpoint address %v: %w", ip, err)
	}
	return nil
}

// NodeState is what a remote Node's slot holds at the moment.
type NodeState struct {
	Slot int
	IP   netip.Addr
	MTU  int
	// Confirmed and Contradicted say when Open vSwitch last sent to the Node with the cached header, and with another one.
	Confirmed, Contradicted time.Duration
}

// Nodes lists the slots in use. It takes no lock: a slot that is being changed may be missed or seen twice.
func (d *Datapath) Nodes() []NodeState {
	var out []NodeState
	for slot := range d.nodes.elements {
		if ip := d.nodeIP(slot); ip.IsValid() {
			n := &d.nodes.elements[slot]
			out = append(out, NodeState{
				Slot: slot, IP: ip, MTU: int(atomic.LoadUint32(&n.Mtu)),
				Confirmed:    time.Duration(atomic.LoadUint64(&n.Confirmed)),
				Contradicted: time.Duration(atomic.LoadUint64(&n.Contradicted)),
			})
		}
	}
	return out
}

// nodeIP is the zero Addr for a slot that is not in use.
func (d *Datapath) nodeIP(slot int) netip.Addr {
	n := &d.nodes.elements[slot]
	if ip := atomic.LoadUint32(&n.Ip4); ip != 0 {
		return addr4(ip)
	}
	if n.Ip6 != [4]uint32{} {
		return addr6(n.Ip6)
	}
	return netip.Addr{}
}

// SetNodeMTU says how large a packet to the Node may be, encapsulation included. A new slot has 0: nothing fits.
func (d *Datapath) SetNodeMTU(slot, mtu int) {
	atomic.StoreUint32(&d.nodes.elements[slot].Mtu, uint32(mtu))
}

// podNetworks is the map for the family of p, and its key.
func (d *Datapath) podNetworks(p netip.Prefix) (*ebpf.Map, any) {
	length := uint32(p.Bits())
	if p.Addr().Is4() {
		return d.objects.PodNetworks4, bpfOncPrefix4{Length: length, Addr: wire4(p.Masked().Addr())}
	}
	return d.objects.PodNetworks6, bpfOncPrefix6{Length: length, Addr: wire6(p.Masked().Addr())}
}

// AddPodNetwork says that the Node in slot owns a Pod network.
func (d *Datapath) AddPodNetwork(p netip.Prefix, slot int) error {
	networks, key := d.podNetworks(p)
	if err := networks.Put(key, uint32(slot)); err != nil {
		return fmt.Errorf("announce Pod network %v: %w", p, err)
	}
	return nil
}

// RemovePodNetwork undoes AddPodNetwork; an absent network is no error.
func (d *Datapath) RemovePodNetwork(p netip.Prefix) error {
	networks, key := d.podNetworks(p)
	if err := networks.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("withdraw Pod network %v: %w", p, err)
	}
	return nil
}

// Reset withdraws all endpoints, Nodes and Pod networks of an earlier agent and evicts all flows. Generations go on.
func (d *Datapath) Reset() error {
	d.BumpAll()
	for slot := range d.endpoints.elements {
		s := &d.endpoints.elements[slot]
		if generation, epoch := d.EndpointState(slot); s.Ifindex != 0 || epoch != 0 {
			d.PublishEndpoint(slot, generation+1, 0)
			if err := d.ClearEndpoint(slot); err != nil {
				return err
			}
		}
	}
	var used []int
	for slot := range d.nodes.elements {
		if d.nodeIP(slot).IsValid() {
			used = append(used, slot)
		}
	}
	d.clearNodes(used...)
	return errors.Join(
		removeKeys[uint32](d.objects.EndpointSlots), removeKeys[bpfOncAddress](d.objects.EndpointIps), // what an agent left that was killed
		removeKeys[bpfOncPrefix4](d.objects.PodNetworks4), removeKeys[bpfOncPrefix6](d.objects.PodNetworks6),
	)
}

func removeKeys[K any](m *ebpf.Map) error {
	var key K
	for m.NextKey(nil, &key) == nil {
		if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("empty map %v: %w", m, err)
		}
	}
	return nil
}

// wire4 is an IPv4 address as a __be32 field: in memory, not in value, it is big endian.
func wire4(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

// wire6 is an IPv6 address as a __be32[4] field.
func wire6(a netip.Addr) (out [4]uint32) {
	if a.Is6() {
		b := a.As16()
		for i := range out {
			out[i] = binary.NativeEndian.Uint32(b[4*i:])
		}
	}
	return out
}

func addr6(v [4]uint32) netip.Addr {
	var b [16]byte
	for i := range v {
		binary.NativeEndian.PutUint32(b[4*i:], v[i])
	}
	return netip.AddrFrom16(b)
}

func addr4(v uint32) netip.Addr {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], v)
	return netip.AddrFrom4(b)
}

func port(v uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], v)
	return binary.BigEndian.Uint16(b[:])
}
