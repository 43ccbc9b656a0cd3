// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package macaddr chooses MAC addresses.
package macaddr

import (
	"crypto/rand"
	"net"
)

// Random returns a locally administered unicast address (IEEE 802, section 8.4).
func Random() net.HardwareAddr {
	mac := make(net.HardwareAddr, 6)
	// Read never fails (crypto/rand).
	_, _ = rand.Read(mac)
	mac[0] = mac[0]&^0x01 | 0x02
	return mac
}
