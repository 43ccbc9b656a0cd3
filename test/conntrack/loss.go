// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/antrea-oncache/antrea/test/env/nodepair"
)

// lostTTL is the TTL with which the Pod sends packets that the wire loses. On the wire it is up to two less. Its last two bits are set.
const lostTTL = 35

// lossyWire drops packets before any part of the Node sees them, by the Pod's TTL or hop limit. (Generic XDP would let
// redirected packets pass, and those are the packets of the fast path.) Packets with another TTL than the flow's are not rewritten, and those
// that are have zeros there, or end before.
func lossyWire(n *nodepair.Node, o nodepair.Options) (l link.Link, err error) {
	// Outer Ethernet, IPv4, UDP and VXLAN, inner Ethernet, and the bytes before the TTL.
	offset := int32(14 + 20 + 8 + 8 + 14 + 8)
	switch {
	case o.Direct:
		offset = 14 + 8
	case o.Outer6:
		offset += 20
	}
	if o.Inner6 {
		offset--
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // its end
		asm.Mov.Imm(asm.R0, 2),                   // XDP_PASS
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, offset+1),
		asm.JGT.Reg(asm.R4, asm.R3, "end"),
		asm.LoadMem(asm.R5, asm.R2, int16(offset), asm.Byte),
		asm.Or.Imm(asm.R5, 3),
		asm.JNE.Imm(asm.R5, lostTTL, "end"),
		asm.Mov.Imm(asm.R0, 1), // XDP_DROP
		asm.Return().WithSymbol("end"),
	}})
	if err != nil {
		return nil, fmt.Errorf("load the program that loses packets: %w", err)
	}
	defer program.Close()
	err = n.Host.Do(func() error {
		uplink, err := net.InterfaceByName(nodepair.Uplink)
		if err != nil {
			return err
		}
		l, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: uplink.Index, Flags: link.XDPDriverMode})
		return err
	})
	return l, err
}
