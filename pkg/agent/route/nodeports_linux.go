// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
)

// portEntry is an entry of a set of addresses with protocol and port. The "port" of ICMP is an error's type and code, see icmpErrors.
type portEntry struct {
	address  netip.Addr
	protocol uint8
	port     uint16
}

func (e portEntry) compare(f portEntry) int {
	return cmp.Or(e.address.Compare(f.address), cmp.Compare(e.protocol, f.protocol), cmp.Compare(e.port, f.port))
}

func (e portEntry) String() string {
	return fmt.Sprintf("%s, IP protocol %d", netip.AddrPortFrom(e.address, e.port), e.protocol)
}

func (e portEntry) entry() *netlink.IPSetEntry {
	return &netlink.IPSetEntry{IP: e.address.AsSlice(), Protocol: &e.protocol, Port: &e.port}
}

func (s ipset) addPort(e portEntry) error    { return s.addEntry(e, e.entry()) }
func (s ipset) removePort(e portEntry) error { return s.removeEntry(e, e.entry()) }

// syncPorts creates the set if it is absent, adds missing entries, and removes those that are too many if superfluous says so.
func (s ipset) syncPorts(want map[portEntry]bool, superfluous func(portEntry) bool) error {
	if err := s.ensure(); err != nil {
		return err
	}
	have, err := s.ports()
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range slices.SortedFunc(maps.Keys(want), portEntry.compare) {
		if !have[e] {
			errs = append(errs, s.addPort(e))
		}
	}
	for _, e := range slices.SortedFunc(maps.Keys(have), portEntry.compare) {
		if !want[e] && superfluous(e) {
			errs = append(errs, s.removePort(e))
		}
	}
	return errors.Join(errs...)
}

func (s ipset) ports() (map[portEntry]bool, error) {
	result, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("list ipset %s: %w", s.name, explainIPSet(err))
	}
	entries := map[portEntry]bool{}
	for _, e := range result.Entries {
		if addr, ok := netip.AddrFromSlice(e.IP); ok && e.Protocol != nil && e.Port != nil {
			entries[portEntry{addr, *e.Protocol, *e.Port}] = true
		}
	}
	return entries, nil
}
