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
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// MaxNodes is the number of slots for remote Nodes. It also bounds the number of Pod networks.
const MaxNodes = 8192

// nodeDirect is NODE_DIRECT of bpf/oncache/types.h.
const nodeDirect = 2

// NodeState is the present content of a remote Node's slot.
type NodeState struct {
	Slot int
	IP   netip.Addr
	MTU  int
	// Confirmed and Contradicted are the times at which Open vSwitch last sent to the Node with the cached header, and with another
	// header.
	Confirmed, Contradicted time.Duration
}

// Nodes lists the slots in use. It does not lock: a slot that is being changed may be missed or seen twice.
func (d *Datapath) Nodes() []NodeState {
	var out []NodeState
	for slot := range d.nodes.Elements {
		if ip := d.nodeIP(slot); ip.IsValid() {
			n := &d.nodes.Elements[slot]
			out = append(out, NodeState{
				Slot: slot, IP: ip, MTU: int(atomic.LoadUint32(&n.Mtu)),
				Confirmed:    time.Duration(atomic.LoadUint64(&n.Confirmed)),
				Contradicted: time.Duration(atomic.LoadUint64(&n.Contradicted)),
			})
		}
	}
	return out
}

// nodeIP returns the zero Addr for a slot that is not in use.
func (d *Datapath) nodeIP(slot int) netip.Addr {
	n := &d.nodes.Elements[slot]
	if ip := atomic.LoadUint32(&n.Ip4); ip != 0 {
		return object.Addr4(ip)
	}
	if n.Ip6 != [4]uint32{} {
		return object.Addr6(n.Ip6)
	}
	return netip.Addr{}
}

// SetNodeMTU sets the size of the largest packet to the Node, encapsulation included. A new slot has 0: nothing fits.
func (d *Datapath) SetNodeMTU(slot, mtu int) {
	atomic.StoreUint32(&d.nodes.Elements[slot].Mtu, uint32(mtu))
}

// SetNode assigns slot to the Node at ip behind the tunnel, with a new generation, which evicts the flows and the header template.
func (d *Datapath) SetNode(slot int, ip netip.Addr) { d.setNode(slot, ip, 0) }

// SetDirectNode is SetNode for a Node to whose Pods the host routes packets as they are.
func (d *Datapath) SetDirectNode(slot int, ip netip.Addr) { d.setNode(slot, ip, nodeDirect) }

func (d *Datapath) setNode(slot int, ip netip.Addr, flags uint32) {
	if d.nodeIP(slot).IsValid() {
		d.ClearNode(slot)
	}
	d.fillNode(slot, ip, flags)
}

// ClearNode forgets a Node and evicts its flows. It waits for running programs, some milliseconds.
// Measured under hits in a loop: with the fields cleared first, 5 to 12 % of the packets had the length of the other IP version; with the
// generation first and no wait, 10 to 37 in some 350,000 removals; with the wait (14 ms), none in 130.
func (d *Datapath) ClearNode(slot int) { d.clearNodes(slot) }

// clearNodes is ClearNode for several slots with a single wait.
//
// A hit compares the Node's generation once, and reads the Node's address, MTU and header afterward. (The presence of an IPv4 address
// selects the outer header: reached_by_ip6 in node.h.) No order of stores is therefore enough for a program that has already compared
// when the first of them is made. So the generation ends first; when those programs have finished, the fields are unused and can
// change. Nothing is learned under the generation in between: a caller that clears a slot has withdrawn its Pod networks and published
// new epochs. Were something learned nevertheless, the generation that fillNode sets last would make it stale.
func (d *Datapath) clearNodes(slots ...int) {
	if len(slots) == 0 {
		return
	}
	for _, slot := range slots {
		d.BumpNode(slot)
	}
	if err := waitForPrograms(); err != nil {
		klog.ErrorS(err, "Not waiting for the packets of removed Nodes: one that is just being sent may be lost")
	}
	for _, slot := range slots {
		d.fillNode(slot, netip.Addr{}, 0)
	}
}

// fillNode writes the fields, and then the generation by which entries refer to them. No entry of the slot may exist.
func (d *Datapath) fillNode(slot int, ip netip.Addr, flags uint32) {
	n := &d.nodes.Elements[slot]
	if err := d.replaceNodeAddress(slot, d.nodeIP(slot), ip); err != nil {
		klog.ErrorS(err, "Packets with unknown keys from a Node reach the host", "slot", slot, "address", ip)
	}
	atomic.StoreUint32(&n.Mtu, 0)
	atomic.AddUint32(&d.control.Elements[0].Direct, direct(flags)-direct(atomic.LoadUint32(&n.Flags)))
	atomic.StoreUint32(&n.Flags, flags)
	n.Ip6 = object.Wire6(ip)
	atomic.StoreUint32(&n.Ip4, object.Wire4(ip))
	d.BumpNode(slot)
}

// direct returns the number, 1 or 0, of directly reached Nodes that a slot with these flags has.
func direct(flags uint32) uint32 {
	if flags&nodeDirect != 0 {
		return 1
	}
	return 0
}

// replaceNodeAddress replaces a slot's address. The zero Addr means none.
func (d *Datapath) replaceNodeAddress(slot int, former, ip netip.Addr) error {
	if former.IsValid() {
		if err := d.withdrawNodeAddress(slot, former); err != nil {
			return fmt.Errorf("withdraw the address %v of a Node: %w", former, err)
		}
	}
	if !ip.IsValid() {
		return nil
	}
	if err := d.objects.NodeIps.Put(addressKey(ip), uint32(slot)); err != nil {
		return fmt.Errorf("announce the address %v of a Node: %w", ip, err)
	}
	return nil
}

// withdrawNodeAddress takes an address from a slot. While one Node replaces another, both may have it.
func (d *Datapath) withdrawNodeAddress(slot int, ip netip.Addr) error {
	for other := range d.nodes.Elements {
		if other != slot && d.nodeIP(other) == ip {
			return d.objects.NodeIps.Put(addressKey(ip), uint32(other))
		}
	}
	if err := d.objects.NodeIps.Delete(addressKey(ip)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return err
	}
	return nil
}

// BumpNode evicts the flows and the header template of a Node.
func (d *Datapath) BumpNode(slot int) {
	n := &d.nodes.Elements[slot]
	if atomic.AddUint32(&n.Generation, 1) == 0 {
		atomic.AddUint32(&n.Generation, 1) // 0 means never used
	}
}

// waitForPrograms returns when every program run that was under way at the call has ended. An update of a map of maps waits for that,
// so that user space can rely on the former map being unused (kernel/bpf/syscall.c, maybe_wait_bpf_programs). It takes milliseconds.
func waitForPrograms() error {
	content := &ebpf.MapSpec{Name: "wait_content", Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	inner, err := ebpf.NewMap(content)
	if err != nil {
		return fmt.Errorf("make a map to wait for running programs by: %w", err)
	}
	defer inner.Close()
	outer, err := ebpf.NewMap(&ebpf.MapSpec{Name: "wait", Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: content})
	if err != nil {
		return fmt.Errorf("make a map of maps to wait for running programs by: %w", err)
	}
	defer outer.Close()
	if err := outer.Put(uint32(0), inner); err != nil {
		return fmt.Errorf("wait for running programs: %w", err)
	}
	return nil
}
