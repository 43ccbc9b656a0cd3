// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// transportAddressesAnnotation tells peers where to send tunnel packets, when that is not the Node's address.
const transportAddressesAnnotation = "node.antrea.io/transport-addresses"

// transportAnnotation is the value that the annotation should have: the comma-separated transport addresses, or empty (no
// annotation) when they are addresses of the Node object, which peers know.
func transportAnnotation(uplink *config.Uplink, nodeAddresses []netip.Addr) string {
	var addresses []string
	known := true
	for _, prefix := range []netip.Prefix{uplink.IPv4, uplink.IPv6} {
		if prefix.IsValid() {
			addresses = append(addresses, prefix.Addr().String())
			known = known && slices.Contains(nodeAddresses, prefix.Addr())
		}
	}
	if known {
		return ""
	}
	return strings.Join(addresses, ",")
}

// tunnelAddresses are all addresses that peers may choose for tunnel packets.
func tunnelAddresses(uplink *config.Uplink, nodeAddresses []netip.Addr) []netip.Addr {
	addresses := slices.Clone(nodeAddresses)
	for _, prefix := range []netip.Prefix{uplink.IPv4, uplink.IPv6} {
		if prefix.IsValid() && !slices.Contains(addresses, prefix.Addr()) {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses
}
