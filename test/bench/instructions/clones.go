// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// copyArrivals makes each packet that arrives at a Node one of its own, as a NIC delivers it. Without that, a TCP
// segment that a Node receives shares its memory with the sender's copy for retransmission, because both Nodes are on
// one machine: whoever changes its headers has to copy them before. An XDP program does it by being there: for the
// generic kind that does not accept fragments, the kernel copies packets that are clones, in several pieces or without
// room for more headers (netif_skb_check_for_xdp in net/core/dev.c, which calls pskb_expand_head and skb_linearize). It
// does so in all states, so all numbers include its cost. The function that it returns removes the programs.
func copyArrivals(nodes []*cluster.Node) (end func() error, err error) {
	const pass = 2 // XDP_PASS
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "pass", Type: ebpf.XDP, License: "Dual BSD/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()}})
	if err != nil {
		return nil, fmt.Errorf("load the XDP program that passes all packets: %w", err)
	}
	defer program.Close()
	var links []link.Link
	end = func() (err error) {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	for _, n := range nodes {
		err := n.Do(func() error {
			device, err := net.InterfaceByName(cluster.Uplink)
			if err != nil {
				return err
			}
			l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: device.Index, Flags: link.XDPGenericMode})
			if err == nil {
				links = append(links, l)
			}
			return err
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("attach an XDP program to %s of %s: %w", cluster.Uplink, n.Name, err), end())
		}
	}
	return end, nil
}
