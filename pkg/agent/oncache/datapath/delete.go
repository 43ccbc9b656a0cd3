// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
)

// DeleteFlow removes all entries of the connection between two addresses, whichever of them is the local Pod. It is no error
// if there are none.
func (d *Datapath) DeleteFlow(protocol uint8, a, b netip.AddrPort) error {
	var errs []error
	for _, e := range []ends{{a, b, protocol}, {b, a, protocol}} {
		maps, key := []*ebpf.Map{d.objects.EgressFlows6, d.objects.IngressFlows6}, any(e.key6())
		if a.Addr().Is4() && b.Addr().Is4() {
			maps, key = []*ebpf.Map{d.objects.EgressFlows4, d.objects.IngressFlows4}, e.key4()
		}
		for _, m := range maps {
			if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				errs = append(errs, fmt.Errorf("delete the entry from %v to %v of map %v: %w", e.source, e.destination, m, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (e ends) key4() bpfOncFlow4 {
	source, destination := e.source.Addr().As4(), e.destination.Addr().As4()
	return bpfOncFlow4{
		Saddr: binary.NativeEndian.Uint32(source[:]), Daddr: binary.NativeEndian.Uint32(destination[:]),
		Sport: port(e.source.Port()), Dport: port(e.destination.Port()), Proto: e.protocol,
	}
}

func (e ends) key6() bpfOncFlow6 {
	k := bpfOncFlow6{Sport: port(e.source.Port()), Dport: port(e.destination.Port()), Proto: e.protocol}
	source, destination := e.source.Addr().As16(), e.destination.Addr().As16()
	for i := range k.Saddr {
		k.Saddr[i], k.Daddr[i] = binary.NativeEndian.Uint32(source[4*i:]), binary.NativeEndian.Uint32(destination[4*i:])
	}
	return k
}
