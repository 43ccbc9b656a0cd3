// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// takeRejections takes the answers of agents to rejected packets out of what has arrived, and enters them into the trials. They may be answers
// to packets of an earlier exchange.
func (f *fabric) takeRejections(trials map[uint32]*trial, arrived map[uint32][]switchpair.Arrival) {
	for id, arrivals := range arrived {
		if t := trials[id]; t != nil {
			arrived[id] = slices.DeleteFunc(arrivals, func(a switchpair.Arrival) bool { return f.takeRejection(t, a) })
		}
	}
}

// takeRejection reports whether a frame is an answer to a rejected packet.
func (f *fabric) takeRejection(t *trial, a switchpair.Arrival) bool {
	h, err := wire.Read(a.Frame)
	if err != nil || !h.Prohibition {
		return false
	}
	source, destination := ends(t.Probe)
	if t.Protocol == policy.ICMP {
		source, destination = netip.AddrPortFrom(source.Addr(), 0), netip.AddrPortFrom(destination.Addr(), 0)
	}
	if _, server := t.Addresses(); t.forgotten && h.Source == netip.AddrPortFrom(server, t.Port) {
		destination = h.Source
	}
	if t.forgotten && t.Dialed != "" {
		source, destination = h.Destination, h.Source // of the Node that has dialed for the client
	}
	switch at := f.source(t); {
	case a.At != at:
		t.stray = fmt.Sprintf("an answer that it is rejected has arrived at %s", a.At.Name)
	case h.Source != destination || h.Destination != source:
		t.stray = fmt.Sprintf("the answer that it is rejected is from %v to %v", h.Source, h.Destination)
	case !bytes.Equal(a.Frame[:len(at.MAC)], at.MAC):
		t.stray = fmt.Sprintf("the answer that it is rejected has the MAC address %x", a.Frame[:len(at.MAC)])
	case t.rejected:
		t.stray = "it was rejected twice"
	}
	t.rejected = true
	return true
}
