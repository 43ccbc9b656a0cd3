// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"k8s.io/klog/v2"
)

// SetNode makes slot the Node at ip with a new generation, which evicts its flows and its header template.
func (d *Datapath) SetNode(slot int, ip netip.Addr) {
	if d.nodeIP(slot).IsValid() {
		d.ClearNode(slot)
	}
	d.fillNode(slot, ip)
}

// ClearNode forgets a Node and evicts its flows. It waits for running programs, some milliseconds.
func (d *Datapath) ClearNode(slot int) { d.clearNodes(slot) }

// clearNodes is ClearNode for several slots, with one time of waiting.
//
// A hit compares the Node's generation once, and reads the Node's address, MTU and header after that: whether there is an IPv4
// address decides what it puts in front (reached_by_ip6 in node.h). So no order of stores is enough for a program that has compared
// already when the first of them is made. The generation ends first; when those programs have come to their end nobody uses
// the fields, and they can change. Nothing is learned under the generation in between: who clears a slot has withdrawn
// its Pod networks and published new epochs. Should it be, the generation that fillNode ends with makes it stale.
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
		d.fillNode(slot, netip.Addr{})
	}
}

// fillNode writes the fields and then the generation that entries refer to them by. Nobody must have an entry of the slot.
func (d *Datapath) fillNode(slot int, ip netip.Addr) {
	n := &d.nodes.elements[slot]
	atomic.StoreUint32(&n.Mtu, 0)
	n.Ip6 = wire6(ip)
	atomic.StoreUint32(&n.Ip4, wire4(ip))
	d.BumpNode(slot)
}

// BumpNode evicts the flows and the header template of a Node.
func (d *Datapath) BumpNode(slot int) {
	n := &d.nodes.elements[slot]
	if atomic.AddUint32(&n.Generation, 1) == 0 {
		atomic.AddUint32(&n.Generation, 1) // 0 means never used
	}
}

// waitForPrograms returns when every run of a program that was under way when it was called has ended. An update of a map of
// maps waits for that, so that user space can rely on the former map not being used any more (kernel/bpf/syscall.c,
// maybe_wait_bpf_programs). It takes milliseconds.
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
