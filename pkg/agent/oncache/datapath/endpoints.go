// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// MaxEpoch is the last epoch; 0 means that nothing may be learned. Stamps are the upper half of the 10-bit range.
const MaxEpoch = 511

// MaxEndpoints is the number of slots for local Pods.
const MaxEndpoints = 1024

// Endpoint is a local Pod's interface, or the gateway's.
type Endpoint struct {
	IfIndex int
	// Gateway is set for the gateway's interface.
	Gateway bool
	// IPv4 and IPv6 are the addresses for which the Pod may use the cache; the zero Addr where it has none of the family.
	IPv4, IPv6 netip.Addr
	// MAC and GatewayMAC are source and destination of the frames that it sends.
	MAC, GatewayMAC net.HardwareAddr
	// Netkit is set when the Pod's programs are attached as RoleNetkitPod.
	Netkit bool
}

// EndpointState returns generation and epoch of a slot. Generations continue from one Pod in the slot to the next.
func (d *Datapath) EndpointState(slot int) (generation, epoch uint32) {
	w := atomic.LoadUint64(endpointWord(&d.endpoints.Elements[slot]))
	return uint32(w), uint32(w >> 32)
}

// PublishEndpoint makes generation and epoch of a slot current in one store. From that instant entries of other generations
// are evicted, and only packets that carry the epoch can create new ones.
func (d *Datapath) PublishEndpoint(slot int, generation, epoch uint32) {
	atomic.StoreUint64(endpointWord(&d.endpoints.Elements[slot]), uint64(epoch)<<32|uint64(generation))
}

func endpointWord(e *object.BpfOncEndpoint) *uint64 { return (*uint64)(unsafe.Pointer(&e.Generation)) }

// SetEndpoint fills a slot. The slot must have a generation that no entry uses (PublishEndpoint first), with epoch 0.
func (d *Datapath) SetEndpoint(slot int, e Endpoint) error {
	s := &d.endpoints.Elements[slot]
	atomic.StoreUint32(&s.Ip4, object.Wire4(e.IPv4))
	s.Ip6 = object.Wire6(e.IPv6)
	copy(s.Mac[:], e.MAC)
	copy(s.GatewayMac[:], e.GatewayMAC)
	atomic.StoreUint32(&s.Flags, e.flags())
	atomic.StoreUint32(&s.Ifindex, uint32(e.IfIndex))
	if err := d.objects.EndpointSlots.Put(uint32(e.IfIndex), uint32(slot)); err != nil {
		return fmt.Errorf("announce endpoint on interface index %d: %w", e.IfIndex, err)
	}
	for _, ip := range addresses(s) {
		d.forgetFormer(ip)
		if err := d.objects.EndpointIps.Put(addressKey(ip), uint32(slot)); err != nil {
			return fmt.Errorf("announce address %v of the endpoint on interface index %d: %w", ip, e.IfIndex, err)
		}
	}
	return nil
}

// ENDPOINT_NETKIT and ENDPOINT_GATEWAY of bpf/oncache/types.h.
const endpointNetkit, endpointGateway = 1, 2

func (e *Endpoint) flags() (flags uint32) {
	if e.Netkit {
		flags |= endpointNetkit
	}
	if e.Gateway {
		flags |= endpointGateway
	}
	return flags
}

// addresses returns the addresses with which a slot was last filled.
func addresses(s *object.BpfOncEndpoint) (out []netip.Addr) {
	if s.Ip4 != 0 {
		out = append(out, object.Addr4(s.Ip4))
	}
	if s.Ip6 != [4]uint32{} {
		out = append(out, object.Addr6(s.Ip6))
	}
	return out
}

// addressKey is the key of endpoint_ips.
func addressKey(ip netip.Addr) object.BpfOncAddress {
	return object.BpfOncAddress{Addr: object.Wire6(netip.AddrFrom16(ip.As16()))}
}

// NoteEpoch stores the last epoch that Open vSwitch may write for the slot's Pod, for a later agent. It is called before
// Open vSwitch is told.
func (d *Datapath) NoteEpoch(slot int, epoch uint32) {
	atomic.StoreUint32(&d.endpoints.Elements[slot].LastEpoch, epoch)
}

// FormerEpochs returns the epochs stored by NoteEpoch, by Pod address: for present Pods, and for removed Pods whose slot was not
// reused.
func (d *Datapath) FormerEpochs() map[netip.Addr]uint32 {
	out := map[netip.Addr]uint32{}
	for slot := range d.endpoints.Elements {
		s := &d.endpoints.Elements[slot]
		if s.LastEpoch == 0 {
			continue
		}
		for _, ip := range addresses(s) {
			out[ip] = s.LastEpoch
		}
	}
	return out
}

// forgetFormer takes an address out of all slots without a Pod: the epochs of the Pod that has it now continue from theirs. One Pod at
// a time has it.
func (d *Datapath) forgetFormer(ip netip.Addr) {
	for slot := range d.endpoints.Elements {
		if s := &d.endpoints.Elements[slot]; atomic.LoadUint32(&s.Ifindex) == 0 {
			forget(s, ip)
		}
	}
}

func forget(s *object.BpfOncEndpoint, ip netip.Addr) {
	switch {
	case !slices.Contains(addresses(s), ip):
	case ip.Is4():
		atomic.StoreUint32(&s.Ip4, 0)
	default:
		s.Ip6 = [4]uint32{}
	}
}

// ClearEndpoint withdraws a slot's Pod. PublishEndpoint must have advanced its generation before, with epoch 0. The address
// stays for FormerEpochs, unless it belongs to another slot by now.
func (d *Datapath) ClearEndpoint(slot int) error {
	s := &d.endpoints.Elements[slot]
	ifindex := atomic.SwapUint32(&s.Ifindex, 0)
	if ifindex == 0 {
		return nil
	}
	var errs []error
	if err := d.objects.EndpointSlots.Delete(ifindex); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		errs = append(errs, fmt.Errorf("withdraw endpoint on interface index %d: %w", ifindex, err))
	}
	for _, ip := range addresses(s) {
		errs = append(errs, d.withdrawAddress(ip, slot))
	}
	return errors.Join(errs...)
}

// withdrawAddress removes an address, unless it belongs to another slot by now, whose record counts then.
func (d *Datapath) withdrawAddress(ip netip.Addr, slot int) error {
	var owner uint32
	err := d.objects.EndpointIps.Lookup(addressKey(ip), &owner)
	switch {
	case err == nil && owner == uint32(slot):
		err = d.objects.EndpointIps.Delete(addressKey(ip))
	case err == nil:
		forget(&d.endpoints.Elements[slot], ip)
	}
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("withdraw endpoint address %v: %w", ip, err)
	}
	return nil
}
