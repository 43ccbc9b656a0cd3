// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Uplink is the device that carries tunnel packets, and their format.
type Uplink struct {
	IfIndex int
	MAC     net.HardwareAddr
	// IPv4 and IPv6 are this Node's transport addresses; the zero Addr when it has none of the family.
	IPv4, IPv6 netip.Addr
	// TunnelPort is the UDP destination port; PortFirst and PortCount are the range of source ports.
	TunnelPort, PortFirst, PortCount uint16
	// TunnelHeader is the only tunnel header that is accepted, as on the wire.
	TunnelHeader [8]byte
	// RewritePort is the destination port of rewritten packets, of TCP and UDP.
	RewritePort uint16
	// VirtualMAC is the inner destination MAC of all tunnel packets.
	VirtualMAC net.HardwareAddr
}

// SetUplink writes everything about the uplink, and the lease in ns, rounded down to whole jiffies. It must be called while
// the mode is off or before BumpAll.
func (d *Datapath) SetUplink(u Uplink, leaseNs uint64) {
	c := &d.control.Elements[0]
	atomic.StoreUint64(&c.Lease, leaseNs/uint64(d.jiffy))
	atomic.StoreUint32(&c.UplinkIfindex, uint32(u.IfIndex))
	atomic.StoreUint32(&c.UplinkIp4, object.Wire4(u.IPv4))
	c.UplinkIp6 = object.Wire6(u.IPv6)
	c.TunnelPort = object.WirePort(u.TunnelPort)
	c.PortFirst, c.PortCount = u.PortFirst, u.PortCount
	c.RewritePort = object.WirePort(u.RewritePort)
	atomic.StoreUint32(&c.KeyLife, uint32(keyLife/d.jiffy))
	copy(c.UplinkMac[:], u.MAC)
	copy(c.VirtualMac[:], u.VirtualMAC)
	c.TunnelHeader = u.TunnelHeader
}

// SetLease changes the length of leases that begin from now on.
func (d *Datapath) SetLease(lease time.Duration) {
	atomic.StoreUint64(&d.control.Elements[0].Lease, uint64(lease/d.jiffy))
}

// BumpUplink evicts every flow and the header templates of all Nodes.
func (d *Datapath) BumpUplink() {
	for slot := range d.nodes.Elements {
		if d.nodeIP(slot).IsValid() {
			d.BumpNode(slot)
		}
	}
	d.BumpAll()
}

// BumpAll evicts every flow.
func (d *Datapath) BumpAll() uint32 { return atomic.AddUint32(&d.control.Elements[0].Generation, 1) }
