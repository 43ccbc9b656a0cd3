// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// summedBits is the width of ip_summed in struct sk_buff.
const summedBits = 2

// FindSummed tells the programs of spec where the running kernel keeps what a packet's checksum field contains, and whether the packet has
// inner headers (bpf/oncache/rewriting/summed.h). It leaves them as they are, with helpers that look for themselves, on kernels before Linux 6.2 and
// without type information.
func FindSummed(spec *ebpf.CollectionSpec) error {
	kernel, err := btf.LoadKernelSpec()
	if errors.Is(err, ebpf.ErrNotSupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the kernel's type information: %w", err)
	}
	var cast *btf.Func
	var skb *btf.Struct
	for name, to := range map[string]any{"bpf_cast_to_kern_ctx": &cast, "sk_buff": &skb} {
		if err := kernel.TypeByName(name, to); errors.Is(err, btf.ErrNotFound) {
			return nil
		} else if err != nil {
			return fmt.Errorf("find %s in the kernel's type information: %w", name, err)
		}
	}
	at, ok := bitField(skb.Members, "ip_summed", summedBits)
	if !ok {
		return nil
	}
	err = errors.Join(spec.Variables[BpfVarSummedAt].Set(at/8), spec.Variables[BpfVarSummedShift].Set(at%8))
	if at, ok := bitField(skb.Members, "encapsulation", 1); ok {
		err = errors.Join(err, spec.Variables[BpfVarNestedAt].Set(at/8), spec.Variables[BpfVarNestedBit].Set(uint32(1)<<(at%8)))
	}
	return err
}

// bitField finds a bit field of this size, within one byte, among the members of a struct and of its anonymous members. It returns the
// number of bits in front of it.
func bitField(members []btf.Member, name string, bits btf.Bits) (uint32, bool) {
	for _, m := range members {
		if m.Name == name {
			return uint32(m.Offset), m.BitfieldSize == bits && m.Offset%8+bits <= 8
		}
		var inner []btf.Member
		switch t := m.Type.(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if m.Name != "" {
			continue
		}
		if at, ok := bitField(inner, name, bits); ok {
			return uint32(m.Offset) + at, true
		}
	}
	return 0, false
}
