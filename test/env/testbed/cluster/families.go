// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/netip"
	"strings"
)

// Families are the IP versions of Pods, or of the addresses that Nodes have for each other. The zero value is IPv4.
type Families struct{ IPv4, IPv6 bool }

// ParseFamilies reads "ipv4", "ipv6", or both separated by a comma.
func ParseFamilies(text string) (f Families, err error) {
	for name := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(name) {
		case "ipv4":
			f.IPv4 = true
		case "ipv6":
			f.IPv6 = true
		default:
			return Families{}, fmt.Errorf("IP families %q: want ipv4, ipv6 or ipv4,ipv6", text)
		}
	}
	return f, nil
}

func (f Families) String() string {
	var names []string
	if f.IPv4 || !f.IPv6 {
		names = append(names, "ipv4")
	}
	if f.IPv6 {
		names = append(names, "ipv6")
	}
	return strings.Join(names, ",")
}

// addresses returns ipv4 and ipv6 if their family is set, and ipv4 if none is.
func (f Families) addresses(ipv4, ipv6 netip.Addr) []netip.Addr {
	var all []netip.Addr
	if f.IPv4 || !f.IPv6 {
		all = append(all, ipv4)
	}
	if f.IPv6 {
		all = append(all, ipv6)
	}
	return all
}
