// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// nodePortEntry is an entry of the set of NodePorts.
type nodePortEntry struct {
	address  netip.Addr
	protocol uint8
	port     uint16
}

func (e nodePortEntry) compare(f nodePortEntry) int {
	return cmp.Or(e.address.Compare(f.address), cmp.Compare(e.protocol, f.protocol), cmp.Compare(e.port, f.port))
}

func (e nodePortEntry) String() string {
	return fmt.Sprintf("%s, IP protocol %d", netip.AddrPortFrom(e.address, e.port), e.protocol)
}

func (e nodePortEntry) entry() *netlink.IPSetEntry {
	return &netlink.IPSetEntry{IP: e.address.AsSlice(), Protocol: &e.protocol, Port: &e.port}
}

func (s ipset) addNodePort(e nodePortEntry) error    { return s.addEntry(e, e.entry()) }
func (s ipset) removeNodePort(e nodePortEntry) error { return s.removeEntry(e, e.entry()) }

func (s ipset) nodePorts() (map[nodePortEntry]bool, error) {
	result, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("list ipset %s: %w", s.name, explainIPSet(err))
	}
	entries := map[nodePortEntry]bool{}
	for _, e := range result.Entries {
		if addr, ok := netip.AddrFromSlice(e.IP); ok && e.Protocol != nil && e.Port != nil {
			entries[nodePortEntry{addr, *e.Protocol, *e.Port}] = true
		}
	}
	return entries, nil
}
