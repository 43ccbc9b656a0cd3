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

// setting is one kernel setting: key is the path below /proc/sys.
type setting struct {
	key, value string
}

// arpSetting: ARP from the gateway port only with its own address, since Pods and OVS know no other.
func arpSetting(gateway string) setting {
	return setting{filepath.Join("net/ipv4/conf", gateway, "arp_announce"), "1"}
}

// raSetting: no router advertisements from the bridge, because this Node is the router there (CVE-2020-13597). With routing on, the
// kernel also ignores router advertisements on all other devices unless their accept_ra is 2, which is the administrator's decision.
func raSetting(gateway string) setting {
	return setting{filepath.Join("net/ipv6/conf", gateway, "accept_ra"), "0"}
}

// syncSysctls records what the setting of the Node was.
func (s *stack) syncSysctls() error {
	return errors.Join(apply(s.family.gatewaySetting(s.gateway)), s.sysctls.Set(s.family.nodeSetting.key, s.family.nodeSetting.value))
}

// apply writes only a setting that differs, so that it also works where /proc/sys is read-only but already right.
func apply(s setting) error {
	path := filepath.Join("/proc/sys", s.key)
	have, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(have)) == s.value {
		return nil
	}
	if err == nil {
		err = os.WriteFile(path, []byte(s.value), 0)
	}
	if err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", s.key, s.value, err)
	}
	return nil
}
