// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"net"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Pod is a local Pod's interface as the agent's interface store knows it, or the gateway's.
type Pod struct {
	InterfaceName string
	// Gateway is set for the gateway's interface, which has no Namespace and no Name.
	Gateway   bool
	Namespace string
	Name      string
	IPs       []netip.Addr
	MAC       net.HardwareAddr
	OFPort    uint32
}

// String is the name that users see: of the Pod, or of the gateway's interface.
func (p Pod) String() string {
	if p.Gateway {
		return p.InterfaceName
	}
	return p.Namespace + "/" + p.Name
}

// InterfaceStore feeds the local Pods.
type InterfaceStore interface {
	// Pods lists the present Pods.
	Pods() []Pod
	// Subscribe calls back synchronously after each change; exactly one of added and removed is not nil.
	Subscribe(func(added, removed *Pod))
	// Limited is the number of unlisted local Pods with limited bandwidth.
	Limited() int
}

// FlowClient is the part of the OpenFlow client that the cache needs.
type FlowClient interface {
	SetInterceptor(coherency.Interceptor)
	InstallMarkFlows([]coherency.Mark) error
	UninstallMarkFlows(interfaceNames []string) error
	// ConnectionError is the reason why there is no connection to ovs-vswitchd, or nil; MissingFlows describes the flows that its
	// pipeline lacks, or "".
	ConnectionError() error
	MissingFlows(ctx context.Context) (missing string, err error)
}

// Bridge is the cache's view of the Open vSwitch bridge in OVSDB.
type Bridge interface {
	// MirroredPorts are the ports whose packets a mirror wants to see.
	MirroredPorts() ([]string, error)
}

// slots is the part of the datapath that the core writes.
type slots interface {
	EndpointState(slot int) (generation, epoch uint32)
	PublishEndpoint(slot int, generation, epoch uint32)
	NextChange() uint32
	StampEndpoint(slot int, change uint32)
	SetEndpoint(slot int, e datapath.Endpoint) error
	ClearEndpoint(slot int) error
	NoteEpoch(slot int, epoch uint32)
	SetNode(slot int, ip netip.Addr)
	SetDirectNode(slot int, ip netip.Addr)
	SetNodeRewrites(slot int, rewrites bool)
	ClearNode(slot int)
	BumpNode(slot int)
	AddPodNetwork(p netip.Prefix, slot int) error
	RemovePodNetwork(p netip.Prefix) error
	AddServiceAddress(address netip.Addr) error
	RemoveServiceAddress(address netip.Addr) error
	BumpAll() uint32
}

var _ slots = (*datapath.Datapath)(nil)
