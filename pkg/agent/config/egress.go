// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const (
	// EgressDevice has Egress addresses of this Node. The kernel answers for them on all devices; this one is down.
	EgressDevice = "antrea-egress0"
	// EgressVLANPrefix begins the names of the devices of VLANs with Egress addresses; the number of the VLAN follows.
	EgressVLANPrefix = "antrea-ext."
	// MaxVLAN is the highest number of a VLAN.
	MaxVLAN = 4094
)

// EgressSubnet is a subnet of Egress addresses that is not the Nodes'. The zero value stands for the Nodes'.
type EgressSubnet struct {
	// Gateway has the address of the subnet's gateway, and the length of the subnet.
	Gateway netip.Prefix
	// VLAN is 0 if the subnet is in the network of the transport interface, as it is.
	VLAN int
}

// IsSeparate reports whether this is another subnet than the Nodes'.
func (s EgressSubnet) IsSeparate() bool { return s.Gateway.IsValid() }

// Link returns the name of the device that leads to the subnet.
func (s EgressSubnet) Link(uplink string) string {
	if s.VLAN == 0 {
		return uplink
	}
	return EgressVLANPrefix + strconv.Itoa(s.VLAN)
}

func (s EgressSubnet) String() string {
	if s.VLAN == 0 {
		return fmt.Sprintf("%s with gateway %s", s.Gateway.Masked(), s.Gateway.Addr())
	}
	return fmt.Sprintf("%s with gateway %s in VLAN %d", s.Gateway.Masked(), s.Gateway.Addr(), s.VLAN)
}

// EgressVLAN returns the VLAN of a device with that name; ok is false if it is not a device of a VLAN with Egress addresses.
func EgressVLAN(device string) (vlan int, ok bool) {
	number, found := strings.CutPrefix(device, EgressVLANPrefix)
	vlan, err := strconv.Atoi(number)
	return vlan, found && err == nil && vlan > 0 && vlan <= MaxVLAN && strconv.Itoa(vlan) == number
}

// EgressMark is the meaning of a mark: the source that packets get, and the subnet by which they leave.
type EgressMark struct {
	Addr   netip.Addr
	Subnet EgressSubnet
}
