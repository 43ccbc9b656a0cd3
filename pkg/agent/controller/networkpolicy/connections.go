// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net"
	"net/netip"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// PodConnections are the connections that Open vSwitch tracks, in the kernel.
type PodConnections struct{}

var _ Connections = PodConnections{}

// List implements Connections.
func (PodConnections) List(yield func(*conntrack.Connection) bool) error {
	return conntrack.List(openflow.ConntrackZones, yield)
}

// SetMark implements Connections.
func (PodConnections) SetMark(c *conntrack.Connection, value, mask uint32) error {
	return c.SetMark(value, mask)
}

// Cutter makes what ends established connections that the policies forbid, and is told by the controller when they change. cache
// is nil without ONCache. Call it before Run, and after EnableAntreaPolicies.
func (c *Controller) Cutter(connections Connections, cache ConnectionCache) *Cutter {
	cutter := NewCutter(connections, cache, c.Rules, nodeAddresses)
	cutter.groupsOf = c.groupsOf
	c.OnRealized(cutter.RulesChanged)
	c.OnEnforced(cutter.RulesEnforced)
	return cutter
}

// nodeAddresses returns what reports whether an address is on an interface of this Node. When the addresses cannot be read it says so of
// each: no connection is cut by mistake.
func nodeAddresses() func(netip.Addr) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		klog.ErrorS(err, "Could not read the Node's addresses")
		return func(netip.Addr) bool { return true }
	}
	own := map[netip.Addr]bool{}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr()] = true
		}
	}
	return func(addr netip.Addr) bool { return own[addr] }
}

// areUnknown reports whether nodeAddresses could not read the addresses.
func areUnknown(ofNode func(netip.Addr) bool) bool { return ofNode(netip.Addr{}) }
