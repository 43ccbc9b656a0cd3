// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// entry is a possible place of one entry of a connection.
type entry struct {
	in object.FlowMap
	ends
}

// entriesOf returns the possible places of all entries of a connection that client has opened to the address dialed, and that leads to
// server, which differs from dialed for a Service. Client or server may be the local Pod.
func entriesOf(protocol uint8, client, dialed, server netip.AddrPort) []entry {
	egress, ingress := object.Egress6, object.Ingress6
	if client.Addr().Is4() && server.Addr().Is4() {
		egress, ingress = object.Egress4, object.Ingress4
	}
	return []entry{
		{egress, ends{client, dialed, protocol}}, {ingress, ends{server, client, protocol}}, // on the client's Node
		{ingress, ends{client, server, protocol}}, {egress, ends{server, client, protocol}}, // on the server's Node
	}
}

// DeleteFlow removes all entries of a connection. It has the parameters of entriesOf. Absent entries are not an error.
func (d *Datapath) DeleteFlow(protocol uint8, client, dialed, server netip.AddrPort) error {
	var errs []error
	for _, e := range entriesOf(protocol, client, dialed, server) {
		_, err := d.deleteEntry(e.in, e.ends)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// deleteEntry removes one entry and reports whether it was there. The caller corrects the programs' counts. Reading and removing are
// one operation (bpf_map_lookup_and_delete_elem): packets between two would not be counted.
func (d *Datapath) deleteEntry(m object.FlowMap, e ends) (found bool, err error) {
	f, err := d.entry(moment{}, m, e, (*ebpf.Map).LookupAndDelete)
	if err != nil {
		return false, fmt.Errorf("delete the entry from %v to %v: %w", e.source, e.destination, err)
	}
	if f == nil {
		return false, nil
	}
	d.reportRemoved(f)
	return true, nil
}

func (e ends) key4() object.BpfOncFlow4 {
	source, destination := e.source.Addr().As4(), e.destination.Addr().As4()
	return object.BpfOncFlow4{
		Saddr: binary.NativeEndian.Uint32(source[:]), Daddr: binary.NativeEndian.Uint32(destination[:]),
		Sport: object.Port(e.source.Port()), Dport: object.Port(e.destination.Port()), Proto: e.protocol,
	}
}

func (e ends) key6() object.BpfOncFlow6 {
	k := object.BpfOncFlow6{Sport: object.Port(e.source.Port()), Dport: object.Port(e.destination.Port()), Proto: e.protocol}
	source, destination := e.source.Addr().As16(), e.destination.Addr().As16()
	for i := range k.Saddr {
		k.Saddr[i], k.Daddr[i] = binary.NativeEndian.Uint32(source[4*i:]), binary.NativeEndian.Uint32(destination[4*i:])
	}
	return k
}
