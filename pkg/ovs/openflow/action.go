// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net"
	"net/netip"
)

// Action is one of the concrete action types of this package, by value. Names such as NXAST_REG_LOAD are from OVS's
// nicira-ext.h, names such as OFPAT_GROUP from OpenFlow 1.3, section 7.2.5; ovs-actions(7) describes the actions.
type Action interface{ isAction() }

type (
	// LoadField writes Value into the bits Range of Field (NXAST_REG_LOAD; in OpenFlow 1.5 OFPAT_SET_FIELD under a mask).
	LoadField struct {
		Field Field
		Range Range
		Value uint64
	}
	// MoveField copies bits from Src to Dst (NXAST_REG_MOVE; in OpenFlow 1.5 OFPAT_COPY_FIELD); the ranges are equally long.
	MoveField struct {
		Src      Field
		SrcRange Range
		Dst      Field
		DstRange Range
	}
	// SetField writes Value, which is big endian and as long as the field, into the bits of Field that are set in Mask; a nil Mask
	// means all bits (OFPAT_SET_FIELD; under a mask NXAST_REG_LOAD2).
	SetField struct {
		Field       Field
		Value, Mask []byte
	}
	SetEthSrc struct{ MAC net.HardwareAddr }
	SetEthDst struct{ MAC net.HardwareAddr }
	// SetTunnelDst sets tun_dst or tun_ipv6_dst, by the address's family.
	SetTunnelDst struct{ IP netip.Addr }
	// PushVLAN adds a VLAN header with the given EtherType, 0x8100 or 0x88a8 (OFPAT_PUSH_VLAN).
	PushVLAN struct{ EthType uint16 }
	// PopVLAN removes the outermost VLAN header (OFPAT_POP_VLAN).
	PopVLAN struct{}
	// SetQueue chooses the queue of the port that the packet leaves through (OFPAT_SET_QUEUE). With the kernel's datapath it sets
	// skb->priority to 0x10000 + Queue + 1, whether the port has queues or not (OVS, dpif_netlink_queue_to_priority); Queue must be
	// below 0xf000.
	SetQueue struct{ Queue uint32 }
	DecTTL   struct{}
	Output   struct{ Port uint32 }
	// OutputField sends to the port whose number is in Field[Range] (NXAST_OUTPUT_REG).
	OutputField struct {
		Field Field
		Range Range
	}
	// OutputInPort sends the packet back to the port that it came from.
	OutputInPort struct{}
	// Normal forwards the packet as a MAC-learning switch does.
	Normal struct{}
	// Resubmit looks the packet up in Table, then continues with the next action (NXAST_RESUBMIT_TABLE).
	Resubmit struct{ Table uint8 }
	// ResubmitFrom looks the packet up in Table as if it had arrived at Port, then continues with the next action
	// (NXAST_RESUBMIT_TABLE, or NXAST_RESUBMIT_TABLE_CT if CT).
	ResubmitFrom struct {
		// Port is PortInPort for the packet's own port, else below 0xff00 or one of the reserved ports.
		Port uint32
		// Table 255 is the flow's own table.
		Table uint8
		// With CT the lookup uses the addresses and ports of the connection's original direction, which conntrack knows. The flow must
		// match packets that conntrack knows, such as CTState("+trk-inv").
		CT bool
	}
	GotoTable struct{ Table uint8 }
	// Group hands the packet to a group, which must exist (OFPAT_GROUP). A group that is deleted takes its flows with it.
	Group struct{ ID uint32 }
	// Meter drops the packet if it is above the rate of a meter, which must exist. It must be the first action of a flow
	// (OFPIT_METER; in OpenFlow 1.5 OFPAT_METER).
	Meter struct{ ID uint32 }
	// Controller sends the packet to the clients that subscribed with the id Controller (NXAST_CONTROLLER2).
	Controller struct {
		ID uint16
		// MaxLen is the number of bytes of the packet to send; 0 stands for all, as does 0xffff. OVS 3.1 ignores it and sends the whole
		// packet, because it does not keep packets that could be fetched later.
		MaxLen uint16
		// UserData is returned in the PacketIn.
		UserData []byte
		// Pause ends the processing of the packet until Resume is called with the PacketIn.
		Pause bool
		// Meter limits the rate of the messages, not of the packets; 0 stands for none. It needs OVS 2.15.
		Meter uint32
	}
	// CT sends the packet through conntrack (NXAST_CT).
	CT struct {
		Commit bool
		// Force makes a new connection if the packet is of the reply direction of an existing one; with Commit only.
		Force bool
		Zone  uint16
		// ZoneField[ZoneRange], if set, holds the zone, in 16 bits; Zone must then be 0.
		ZoneField Field
		ZoneRange Range
		// Table receives the packet with ct_state set (recirculation); 0 means none.
		Table uint8
		// NAT applies the NAT of an existing connection ("nat" without arguments).
		NAT bool
		// NATTo says how a new connection is translated; with Commit only, and instead of NAT.
		NATTo *NATTo
		// Exec are LoadField, MoveField and SetField actions on ct_mark and ct_label; with Commit only.
		Exec []Action
	}
	// Conjunction makes the flow clause Clause (1-based) of NClauses of conjunction ID (NXAST_CONJUNCTION).
	Conjunction struct {
		ID       uint32
		Clause   uint8
		NClauses uint8
	}
	// Clone executes Actions on a copy of the packet; what they do to registers is undone (NXAST_CLONE). Open vSwitch makes no copy if it
	// can undo all of Actions by itself; a resubmit counts as one of these, also to a table with a Meter, which then drops the packet. A CT
	// among Actions makes it copy.
	Clone struct{ Actions []Action }
	// Note does nothing; it keeps Data in the flow (NXAST_NOTE). OVS pads it with zeros to 6, 14, 22, ... bytes.
	Note struct{ Data []byte }
)

// NATTo is the translation of new connections (NXAST_NAT).
type NATTo struct {
	// Source selects the translation of the source; otherwise the destination is translated.
	Source bool
	// First and Last are a range of addresses, both ends included. An invalid Last means First only. With an invalid First the
	// kernel translates only what collides with another connection; the other fields must be unset then.
	First, Last netip.Addr
	// FirstPort and LastPort are a range of ports, both ends included. LastPort 0 means FirstPort only, FirstPort 0 any port.
	FirstPort, LastPort uint16
	// Persistent keeps the choice across restarts; Hash and Random say how a port is chosen, at most one of them.
	Persistent, Hash, Random bool
}

func (LoadField) isAction()    {}
func (MoveField) isAction()    {}
func (SetField) isAction()     {}
func (SetEthSrc) isAction()    {}
func (SetEthDst) isAction()    {}
func (SetTunnelDst) isAction() {}
func (PushVLAN) isAction()     {}
func (PopVLAN) isAction()      {}
func (SetQueue) isAction()     {}
func (DecTTL) isAction()       {}
func (Output) isAction()       {}
func (OutputField) isAction()  {}
func (OutputInPort) isAction() {}
func (Normal) isAction()       {}
func (Resubmit) isAction()     {}
func (ResubmitFrom) isAction() {}
func (GotoTable) isAction()    {}
func (Group) isAction()        {}
func (Meter) isAction()        {}
func (Controller) isAction()   {}
func (CT) isAction()           {}
func (Conjunction) isAction()  {}
func (Learn) isAction()        {}
func (Clone) isAction()        {}
func (Note) isAction()         {}
