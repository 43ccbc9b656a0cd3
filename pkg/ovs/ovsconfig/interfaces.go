// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ovsconfig configures one OVS bridge through OVSDB.
//
// BridgeClient (interfaces.go) is implemented by bridge.go, port.go, port_update.go, mirror.go and vswitch.go on the
// sessions of transaction.go, and in memory by fake.go. connection.go keeps a libovsdb client connected. Between it and
// ovsdb-server stands a guard (guard.go). model.go is the schema. It ends the connection when the server does not answer echo requests or sends
// invalid messages (vetter.go, vetrows.go); then operations wait for the next connection, or fail. The content of the
// database is trusted as a whole or not at all: a missing row with a reference to it is an error, never the absence of
// a port.
package ovsconfig

import (
	"context"
	"net"
)

// Port is a row of the Port table with its Interface.
type Port struct {
	UUID string
	Name string
	// Type is the interface type: "", "internal", "geneve", ...
	Type        string
	OFPort      uint32 // 0 when vswitchd has not assigned one, or could not
	MAC         net.HardwareAddr
	Options     map[string]string
	ExternalIDs map[string]string
}

// BridgeClient is safe for concurrent use. Its operations are idempotent unless stated. Errors name the bridge or port.
type BridgeClient interface {
	// Create makes the bridge if absent, or corrects it: with the datapath type of the client, protocols OpenFlow10, 13 and 15, and
	// a fixed MAC address. It waits until vswitchd has configured it (ctx bounds the wait).
	Create(ctx context.Context) error
	// Delete removes the bridge.
	Delete() error
	// GetExternalIDs, SetExternalID, DeleteExternalID work on the bridge row; deleting an absent key is not an error.
	GetExternalIDs() (map[string]string, error)
	SetExternalID(key, value string) error
	DeleteExternalID(key string) error
	// GetOVSOtherConfig, SetOVSOtherConfig, DeleteOVSOtherConfig work on Open_vSwitch.other_config (flow-restore-wait ...).
	GetOVSOtherConfig() (map[string]string, error)
	SetOVSOtherConfig(kv map[string]string) error
	DeleteOVSOtherConfig(keys ...string) error
	// CreatePort adds a plain network device; CreateInternalPort, CreateTunnelPort the other kinds. ofPortRequest 0 lets OVS
	// choose. They return the port's UUID. An existing port with the same name is an error.
	CreatePort(name string, externalIDs map[string]string) (string, error)
	CreateInternalPort(name string, ofPortRequest uint32, mac net.HardwareAddr, externalIDs map[string]string) (string, error)
	CreateTunnelPort(name, tunnelType string, ofPortRequest uint32, options map[string]string, externalIDs map[string]string) (string, error)
	DeletePort(name string) error
	// GetOFPort waits until vswitchd has assigned the interface's ofport; an ofport of -1 is returned as an error that
	// carries the interface's error column.
	GetOFPort(ctx context.Context, name string) (uint32, error)
	// RequestOFPort makes vswitchd give the interface this ofport whenever it adds it again. After the kernel's
	// datapath was deleted, it numbers ports without a request in any order.
	RequestOFPort(name string, ofPort uint32) error
	GetPort(name string) (*Port, bool, error)
	// ListPorts leaves out, with a log message, ports that cannot be read, such as bonds: others have made them.
	ListPorts() ([]Port, error)
	// MirroredPorts lists the ports whose packets a mirror of the bridge copies, by name.
	MirroredPorts() ([]string, error)
	SetPortExternalIDs(name string, externalIDs map[string]string) error
	SetInterfaceMTU(name string, mtu int) error
	SetInterfaceMAC(name string, mac net.HardwareAddr) error
	SetInterfaceOptions(name string, options map[string]string) error
	// TableNames are the names of the OpenFlow tables that have some, by id.
	TableNames() (map[uint8]string, error)
	// SetTableNames names the OpenFlow tables (Bridge.flow_tables), replacing all earlier names.
	SetTableNames(names map[uint8]string) error
	// Version is Open_vSwitch.ovs_version.
	Version() (string, error)
	// Capabilities is the datapath's capabilities column (ct_state, ct_zone, ...).
	Capabilities() (map[string]string, error)
	Close()
}
