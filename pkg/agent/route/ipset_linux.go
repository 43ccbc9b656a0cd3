// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const podSetType = "hash:net"

// podSet is the ipset of all Pod CIDRs. It is kept through netlink and not with the ipset program: one message takes
// microseconds where starting a program takes tens of milliseconds, once per Node of the cluster; errors arrive as numbers
// and not as text; and the image needs no further program.
type podSet struct {
	family family
}

// ensure creates the set if it is absent. A set of the same name but another type or family is an error: deleting it
// could break the rules of whoever made it.
func (s podSet) ensure() error {
	name := s.family.podIPSet
	have, err := s.list()
	if errors.Is(err, unix.ENOENT) {
		err = ipsetCall(func() error {
			return netlink.IpsetCreate(name, podSetType, netlink.IpsetCreateOptions{Family: uint8(s.family.af)})
		})
		if err != nil {
			return fmt.Errorf("create ipset %s of type %s: %w", name, podSetType, explainIPSet(err))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up ipset %s: %w", name, explainIPSet(err))
	}
	if have.TypeName != podSetType || int(have.Family) != s.family.af {
		return fmt.Errorf("ipset %s has type %s and family %d, want %s and %d: remove it", name, have.TypeName, have.Family, podSetType, s.family.af)
	}
	return nil
}

// add returns without error when the entry exists.
func (s podSet) add(cidr netip.Prefix) error {
	err := ipsetCall(func() error {
		entry := s.entry(cidr)
		entry.Replace = true
		return netlink.IpsetAdd(s.family.podIPSet, entry)
	})
	if err != nil {
		return fmt.Errorf("add %s to ipset %s: %w", cidr, s.family.podIPSet, explainIPSet(err))
	}
	return nil
}

// remove returns without error when the entry does not exist.
func (s podSet) remove(cidr netip.Prefix) error {
	err := ipsetCall(func() error {
		entry := s.entry(cidr)
		entry.Replace = true
		return netlink.IpsetDel(s.family.podIPSet, entry)
	})
	if err != nil {
		return fmt.Errorf("delete %s from ipset %s: %w", cidr, s.family.podIPSet, explainIPSet(err))
	}
	return nil
}

// entries returns the members in order.
func (s podSet) entries() ([]netip.Prefix, error) {
	result, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("list ipset %s: %w", s.family.podIPSet, explainIPSet(err))
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

func (s podSet) list() (result *netlink.IPSetResult, err error) {
	err = ipsetCall(func() error {
		result, err = netlink.IpsetList(s.family.podIPSet)
		return err
	})
	return result, err
}

func (s podSet) entry(cidr netip.Prefix) *netlink.IPSetEntry {
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

// explainIPSet adds the kernel module to errors that mean it is missing. EINVAL is nfnetlink's answer to a subsystem that
// nobody registered; EPROTONOSUPPORT means that there is no nfnetlink at all.
func explainIPSet(err error) error {
	switch {
	case errors.Is(err, nl.IPSetError(nl.IPSET_ERR_FIND_TYPE)):
		return fmt.Errorf("%w (needs kernel module ip_set_hash_net)", err)
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
