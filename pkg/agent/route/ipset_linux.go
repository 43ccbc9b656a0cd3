// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Types of ipsets.
const (
	typeNetworks = "hash:net"
	// typePorts is the type of sets of addresses with protocol and port.
	typePorts = "hash:ip,port"
)

// maxElements is far above what a cluster can need: the kernel takes memory only for what there is.
const maxElements = 1 << 20

// ipset is a set of one family. Its networks are in this file, addresses with ports in nodeports_linux.go. It is maintained through
// netlink and not with the ipset program. A message takes microseconds, whereas starting a program takes tens of milliseconds for each
// Node of the cluster. Errors arrive as numbers and not as text. The image needs no further program.
type ipset struct {
	family   family
	name     string
	typeName string
}

func (f family) podSet() ipset      { return ipset{f, f.podIPSet, typeNetworks} }
func (f family) nodeSet() ipset     { return ipset{f, f.nodeIPSet, typeNetworks} }
func (f family) clusterSet() ipset  { return ipset{f, f.clusterIPSet, typeNetworks} }
func (f family) nodePortSet() ipset { return ipset{f, f.nodePortIPSet, typePorts} }
func (f family) serviceSet() ipset  { return ipset{f, f.serviceIPSet, typePorts} }

// ensure creates the set if it is absent. A set of the same name with another type or family is an error: deleting it could
// break another program's rules.
func (s ipset) ensure() error {
	have, err := s.list()
	if errors.Is(err, unix.ENOENT) {
		err = ipsetCall(func() error {
			return netlink.IpsetCreate(s.name, s.typeName, netlink.IpsetCreateOptions{Family: uint8(s.family.af), MaxElements: maxElements})
		})
		if err != nil {
			return fmt.Errorf("create ipset %s of type %s: %w", s.name, s.typeName, explainIPSet(err))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up ipset %s: %w", s.name, explainIPSet(err))
	}
	if have.TypeName != s.typeName || int(have.Family) != s.family.af {
		return fmt.Errorf("ipset %s has type %s and family %d, want %s and %d: remove it", s.name, have.TypeName, have.Family, s.typeName, s.family.af)
	}
	return nil
}

// sync creates the set if it is absent, and adds missing entries. A refused entry does not stop the others.
func (s ipset) sync(want map[netip.Prefix]bool) error {
	if err := s.ensure(); err != nil {
		return err
	}
	have, err := s.entries()
	if err != nil {
		return err
	}
	var errs []error
	for _, network := range slices.SortedFunc(maps.Keys(want), comparePrefixes) {
		if _, found := slices.BinarySearchFunc(have, network, comparePrefixes); !found {
			errs = append(errs, s.add(network))
		}
	}
	return errors.Join(errs...)
}

// removeOthers removes entries that are not in known.
func (s ipset) removeOthers(known map[netip.Prefix]bool) error {
	have, err := s.entries()
	errs := []error{err}
	for _, network := range have {
		if !known[network] {
			errs = append(errs, s.remove(network))
		}
	}
	return errors.Join(errs...)
}

// add succeeds when the entry already exists.
func (s ipset) add(cidr netip.Prefix) error { return s.addEntry(cidr, s.entry(cidr)) }

func (s ipset) addEntry(what fmt.Stringer, entry *netlink.IPSetEntry) error {
	err := ipsetCall(func() error {
		entry.Replace = true
		return netlink.IpsetAdd(s.name, entry)
	})
	if err != nil {
		return fmt.Errorf("add %s to ipset %s: %w", what, s.name, explainIPSet(err))
	}
	return nil
}

// remove succeeds when the entry does not exist.
func (s ipset) remove(cidr netip.Prefix) error { return s.removeEntry(cidr, s.entry(cidr)) }

func (s ipset) removeEntry(what fmt.Stringer, entry *netlink.IPSetEntry) error {
	err := ipsetCall(func() error {
		entry.Replace = true
		return netlink.IpsetDel(s.name, entry)
	})
	if err != nil {
		return fmt.Errorf("delete %s from ipset %s: %w", what, s.name, explainIPSet(err))
	}
	return nil
}

// entries returns the members in order.
func (s ipset) entries() ([]netip.Prefix, error) {
	result, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("list ipset %s: %w", s.name, explainIPSet(err))
	}
	var cidrs []netip.Prefix
	for _, e := range result.Entries {
		if addr, ok := netip.AddrFromSlice(e.IP); ok {
			cidrs = append(cidrs, netip.PrefixFrom(addr, int(e.CIDR)))
		}
	}
	slices.SortFunc(cidrs, comparePrefixes)
	return cidrs, nil
}

func (s ipset) list() (result *netlink.IPSetResult, err error) {
	err = ipsetCall(func() error {
		result, err = netlink.IpsetList(s.name)
		return err
	})
	return result, err
}

func (s ipset) entry(cidr netip.Prefix) *netlink.IPSetEntry {
	return &netlink.IPSetEntry{IP: cidr.Addr().AsSlice(), CIDR: uint8(cidr.Bits())}
}

// ipsetCall guards against ipsetExecute of vishvananda/netlink 1.3.1, which asserts that every failure is a
// syscall.Errno and panics on others (an interrupted dump, a failing socket).
func ipsetCall(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			assertion, ok := r.(*runtime.TypeAssertionError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("netlink request failed without an error number: %w", assertion)
		}
	}()
	return call()
}

// explainIPSet names the missing kernel module in errors that mean one is missing. nfnetlink returns EINVAL for a subsystem
// that is not registered; EPROTONOSUPPORT means that there is no nfnetlink at all.
func explainIPSet(err error) error {
	switch {
	case errors.Is(err, nl.IPSetError(nl.IPSET_ERR_FIND_TYPE)):
		return fmt.Errorf("%w (needs kernel modules ip_set_hash_net and ip_set_hash_ipport)", err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w (needs kernel module ip_set)", err)
	case errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("%w (needs kernel modules nfnetlink and ip_set)", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (needs CAP_NET_ADMIN)", err)
	}
	return err
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
