// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"path/filepath"
	"strconv"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// setting is one kernel setting: key is the path below /proc/sys.
type setting struct {
	key, value string
}

// gatewayIPv4Settings: ARP from the gateway port only with its own address, since Pods and OVS know no other.
func gatewayIPv4Settings(gateway string) []setting {
	return []setting{
		{filepath.Join("net/ipv4/conf", gateway, "arp_announce"), "1"},
		{filepath.Join("net/ipv4/neigh", gateway, "ucast_solicit"), strconv.Itoa(config.NeighborProbes)},
	}
}

// acceptLocal is the kernel setting by which a packet may come in with an address of the Node as its source.
const acceptLocal = "accept_local"

// serviceIPv4Settings: answers of Services come from the bridge with external addresses, to which the Node has routes elsewhere, or which it has
// itself. The pipeline checks what sources Pods use (SpoofGuard).
func serviceIPv4Settings(gateway string) []setting {
	return []setting{
		{filepath.Join("net/ipv4/conf", gateway, "rp_filter"), "2"},
		{filepath.Join("net/ipv4/conf", gateway, acceptLocal), "1"},
	}
}

// gatewayIPv6Settings: no router advertisements from the bridge, because this Node is the router there (CVE-2020-13597). With routing on, the
// kernel also ignores router advertisements on all other devices unless their accept_ra is 2, which is the administrator's decision.
func gatewayIPv6Settings(gateway string) []setting {
	return []setting{
		{filepath.Join("net/ipv6/conf", gateway, "accept_ra"), "0"},
		{filepath.Join("net/ipv6/neigh", gateway, "ucast_solicit"), strconv.Itoa(config.NeighborProbes)},
	}
}

// syncSysctls records what the setting of the Node was.
func (s *stack) syncSysctls() error {
	var errs []error
	settings := s.family.gatewaySettings(s.gateway)
	if s.services != nil {
		settings = append(settings, s.family.serviceSettings(s.gateway)...)
	}
	for _, gateway := range settings {
		errs = append(errs, sysctl.Apply(gateway.key, gateway.value))
	}
	return errors.Join(append(errs, s.sysctls.Set(s.family.nodeSetting.key, s.family.nodeSetting.value))...)
}
