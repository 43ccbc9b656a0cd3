// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sysctl is one kernel setting: key is the path below /proc/sys.
type sysctl struct {
	key, value string
}

// ipv4Sysctls: routing, and ARP from the gateway port only with its own address, since Pods and OVS know no other.
func ipv4Sysctls(gateway string) []sysctl {
	return []sysctl{
		{"net/ipv4/ip_forward", "1"},
		{filepath.Join("net/ipv4/conf", gateway, "arp_announce"), "1"},
	}
}

// ipv6Sysctls: routing, and no router advertisements from the bridge, because this Node is the router there
// (CVE-2020-13597). With routing on, the kernel also ignores router advertisements on all other devices unless their
// accept_ra is 2, which is the administrator's decision.
func ipv6Sysctls(gateway string) []sysctl {
	return []sysctl{
		{filepath.Join("net/ipv6/conf", gateway, "accept_ra"), "0"},
		{"net/ipv6/conf/all/forwarding", "1"},
	}
}

// applySysctls writes only settings that differ, so that it also works where /proc/sys is read-only but already right.
func applySysctls(settings []sysctl) error {
	var errs []error
	for _, s := range settings {
		path := filepath.Join("/proc/sys", s.key)
		have, err := os.ReadFile(path)
		if err == nil && strings.TrimSpace(string(have)) == s.value {
			continue
		}
		if err == nil {
			err = os.WriteFile(path, []byte(s.value), 0)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("set sysctl %s to %s: %w", s.key, s.value, err))
		}
	}
	return errors.Join(errs...)
}
