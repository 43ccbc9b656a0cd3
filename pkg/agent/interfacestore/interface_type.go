// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package interfacestore

import "fmt"

const (
	containerTypeName = "container"
	gatewayTypeName   = "gateway"
	tunnelTypeName    = "tunnel"
)

// String returns the value of the external_ids key "antrea-type".
func (t InterfaceType) String() string {
	switch t {
	case ContainerInterface:
		return containerTypeName
	case GatewayInterface:
		return gatewayTypeName
	case TunnelInterface:
		return tunnelTypeName
	default:
		return fmt.Sprintf("unknown(%d)", uint8(t))
	}
}

// ParseInterfaceType is the inverse of String. It returns false for a type that this agent does not manage (Antrea also
// writes "uplink", "host", "traffic-control", "ipsec-tunnel" and "secondary-bridge").
func ParseInterfaceType(s string) (InterfaceType, bool) {
	switch s {
	case containerTypeName:
		return ContainerInterface, true
	case gatewayTypeName:
		return GatewayInterface, true
	case tunnelTypeName:
		return TunnelInterface, true
	default:
		return 0, false
	}
}
