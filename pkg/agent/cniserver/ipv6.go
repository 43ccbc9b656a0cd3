// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/containernetworking/plugins/pkg/ns"
)

// ipv6Sysctls of a Pod's interface. The runtime may have turned IPv6 off in new namespaces. The link-local address is made
// from the MAC address, because the pipeline admits no other. It is usable at once, since nobody else can have it. No
// router advertisement can change the Pod's routes.
var ipv6Sysctls = []struct{ key, value string }{
	{"disable_ipv6", "0"},
	{"addr_gen_mode", "0"},
	{"accept_dad", "0"},
	{"accept_ra", "0"},
}

// prepareIPv6 sets up the container's interface for IPv6 addresses while it is still down. Without any it does nothing.
func prepareIPv6(pod ns.NetNS, p *podInterface) error {
	if !slices.ContainsFunc(p.addresses, func(a podAddress) bool { return a.prefix.Addr().Is6() }) {
		return nil
	}
	return pod.Do(func(ns.NetNS) error {
		for _, s := range ipv6Sysctls {
			path := filepath.Join("/proc/sys/net/ipv6/conf", p.ifname, s.key)
			if err := os.WriteFile(path, []byte(s.value), 0); err != nil {
				return fmt.Errorf("set sysctl net.ipv6.conf.%s.%s of the container to %s: %w", p.ifname, s.key, s.value, err)
			}
		}
		return nil
	})
}
