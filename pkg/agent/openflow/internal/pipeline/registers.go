// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"

// Registers are the registers of a packet that has come to the agent.
type Registers struct{ Packet *of.PacketIn }

// Value returns a field's value, shifted to bit 0.
func (r Registers) Value(f BitField) uint32 {
	return r.Packet.Reg(uint8(f.Field-of.FieldReg0)) & f.Mask() >> f.Bits.From
}

// Holds reports whether the field has the value.
func (r Registers) Holds(v FieldValue) bool { return r.Value(v.BitField) == v.Value }

// AnsweredPod is the sender of answers of DNS: the Pod that they go to, which has asked for them.
func AnsweredPod(p *of.PacketIn) uint64 { return uint64(Registers{p}.Value(TargetOFPortField)) }

// ReportedPod is the sender of packets that policies have decided about: the local Pod that has sent them, as one sender, or the local Pod that
// they go to from elsewhere, as another. It has a meter for each.
func ReportedPod(p *of.PacketIn) uint64 {
	const fromElsewhere = 1 << 32
	if r := (Registers{p}); !r.Holds(FromPod) {
		return fromElsewhere | uint64(r.Value(TargetOFPortField))
	}
	return SendingPort(p)
}

// SendingPort is the port at which a packet has arrived.
func SendingPort(p *of.PacketIn) uint64 { return uint64(p.InPort()) }
