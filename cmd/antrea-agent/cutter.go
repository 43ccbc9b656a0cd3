// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/netip"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// newCutter makes what ends established connections that policies forbid. manager is nil without ONCache.
func newCutter(policies *networkpolicy.Controller, manager *oncache.Manager) *networkpolicy.Cutter {
	var cache networkpolicy.ConnectionCache
	if manager != nil {
		cache = manager
	}
	cutter := networkpolicy.NewCutter(podConnections{}, cache, policies.Rules, isNodeAddress)
	policies.OnRealized(cutter.RulesChanged)
	policies.OnEnforced(cutter.RulesEnforced)
	return cutter
}

// podConnections are the connections that Open vSwitch tracks.
type podConnections struct{}

func (podConnections) List(yield func(*conntrack.Connection) bool) error {
	return conntrack.List(openflow.ConntrackZones, yield)
}

func (podConnections) SetMark(c *conntrack.Connection, value, mask uint32) error {
	return c.SetMark(value, mask)
}

// isNodeAddress tells whether the address is on an interface of this Node. When the addresses cannot be read it says that it
// is: no connection is cut by mistake.
func isNodeAddress(addr netip.Addr) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		klog.ErrorS(err, "Could not read the Node's addresses")
		return true
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr() == addr {
			return true
		}
	}
	return false
}
