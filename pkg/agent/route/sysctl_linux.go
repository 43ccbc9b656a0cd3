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

// desiredSysctls: routing, and ARP from the gateway port with its own address only, since Pods and OVS know no other.
func desiredSysctls(f family, gateway string) []sysctl {
	return []sysctl{
		{f.forwardingSysctl, "1"},
		{filepath.Join("net/ipv4/conf", gateway, "arp_announce"), "1"},
	}
}

// applySysctls writes only what differs, so that it also works where /proc/sys is read-only but already right.
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
