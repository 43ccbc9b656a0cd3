// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// podSysctl is a setting of a Pod's interface.
type podSysctl struct {
	// directory is below /proc/sys/net.
	directory, key, value string
}

func (s podSysctl) path(ifname string) string {
	return filepath.Join("/proc/sys/net", s.directory, ifname, s.key)
}

var neighborProbes = strconv.Itoa(config.NeighborProbes)

var ipv4Sysctls = []podSysctl{{"ipv4/neigh", "ucast_solicit", neighborProbes}}

// ipv6Sysctls: The runtime may have turned IPv6 off in new namespaces. The link-local address is made from the MAC
// address, because the pipeline admits no other. It is unique, so it can be used at once. No router advertisement can
// change the Pod's routes.
var ipv6Sysctls = []podSysctl{
	{"ipv6/conf", "disable_ipv6", "0"},
	{"ipv6/conf", "addr_gen_mode", "0"},
	{"ipv6/conf", "accept_dad", "0"},
	{"ipv6/conf", "accept_ra", "0"},
	{"ipv6/neigh", "ucast_solicit", neighborProbes},
}

// setPodSysctls sets up the container's interface for addresses of the IP versions that it gets, while it is still down.
func setPodSysctls(pod ns.NetNS, p *podInterface) error {
	var ipv4, ipv6 bool
	for _, a := range p.addresses {
		ipv4, ipv6 = ipv4 || a.prefix.Addr().Is4(), ipv6 || a.prefix.Addr().Is6()
	}
	return pod.Do(func(ns.NetNS) error {
		for _, family := range []struct {
			used     bool
			settings []podSysctl
		}{{ipv4, ipv4Sysctls}, {ipv6, ipv6Sysctls}} {
			if !family.used {
				continue
			}
			for _, s := range family.settings {
				if err := os.WriteFile(s.path(p.ifname), []byte(s.value), 0); err != nil {
					return fmt.Errorf("set %s of the container to %s: %w", s.path(p.ifname), s.value, err)
				}
			}
		}
		return nil
	})
}
