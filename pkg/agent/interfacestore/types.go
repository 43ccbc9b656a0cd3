// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interfacestore holds the interfaces that the agent has put on the OVS bridge, indexed by the keys that its
// controllers need. It is restored from OVSDB external_ids after an agent restart.
package interfacestore

import (
	"net"
	"net/netip"
)

// InterfaceType is the purpose of an interface on the bridge. Its String is the external_ids value of "antrea-type".
type InterfaceType uint8

const (
	// ContainerInterface is the host side of a Pod's interface ("container").
	ContainerInterface InterfaceType = iota + 1
	// GatewayInterface is the internal port that connects the bridge to the host stack ("gateway").
	GatewayInterface
	// TunnelInterface is the flow-based tunnel port ("tunnel").
	TunnelInterface
)

// OVSPortConfig is the part of an interface that OVS assigned.
type OVSPortConfig struct {
	PortUUID string
	// OFPort is the OpenFlow port number; 0 when not yet assigned.
	OFPort uint32
}

// ContainerInterfaceConfig is the part of an interface that belongs to a Pod.
type ContainerInterfaceConfig struct {
	ContainerID  string
	PodName      string
	PodNamespace string
	// IFDev is the interface's name inside the Pod, "eth0" normally.
	IFDev string
	// NetNS is the network namespace path as the runtime gave it.
	NetNS string
}

// InterfaceConfig is one interface on the bridge. It is immutable once in the store: change a copy and add it again.
type InterfaceConfig struct {
	Type InterfaceType
	// InterfaceName is the name of the OVS port and of the host network device.
	InterfaceName string
	IPs           []netip.Addr
	MAC           net.HardwareAddr
	*OVSPortConfig
	*ContainerInterfaceConfig
}

// Event is one change of the store. Exactly one of Added and Deleted is set; a replacement is Deleted, then Added.
type Event struct {
	Added   *InterfaceConfig
	Deleted *InterfaceConfig
}

// InterfaceStore is safe for concurrent use.
type InterfaceStore interface {
	// Initialize replaces the content without events (restore after restart, before anyone subscribes).
	Initialize(interfaces []*InterfaceConfig)
	// AddInterface adds or replaces the interface with the same name.
	AddInterface(*InterfaceConfig)
	// DeleteInterface removes the interface with the same name. An absent interface is not an error.
	DeleteInterface(*InterfaceConfig)
	// ListInterfaces returns all interfaces, sorted by name.
	ListInterfaces() []*InterfaceConfig
	GetInterfaceByName(name string) (*InterfaceConfig, bool)
	// GetContainerInterface finds by container ID (the interface "eth0" of that sandbox).
	GetContainerInterface(containerID string) (*InterfaceConfig, bool)
	GetContainerInterfacesByPod(podName, podNamespace string) []*InterfaceConfig
	GetInterfaceByIP(ip netip.Addr) (*InterfaceConfig, bool)
	GetInterfaceByOFPort(ofPort uint32) (*InterfaceConfig, bool)
	GetInterfacesByType(InterfaceType) []*InterfaceConfig
	GetContainerInterfaceNum() int
	// Subscribe registers a callback that is called synchronously, in order, after each change, without the store's lock.
	Subscribe(func(Event))
}
