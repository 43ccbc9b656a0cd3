// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/klog/v2"
)

// liberalSysctl makes conntrack accept TCP segments outside the window it remembers. A flow that returns from the fast path
// has moved on; without the sysctl conntrack calls its packets invalid, and the pipeline drops those. Recent kernels do
// this for Open vSwitch by themselves (net/openvswitch/conntrack.c, __ovs_ct_lookup), but older kernels and the host's own
// iptables rules do not.
const liberalSysctl = "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal"

// liberalKey is the key under which the former value is kept until the gate is off again.
const liberalKey = "oncache-tcp-be-liberal"

// setLiberal sets the sysctl to 1 and remembers what it was.
func setLiberal(state StateStore, path string) error {
	saved, err := state.Get(liberalKey)
	if err != nil {
		return fmt.Errorf("read saved sysctl: %w", err)
	}
	found, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read sysctl (is the module nf_conntrack loaded?): %w", err)
	}
	if saved == "" {
		if err := state.Set(liberalKey, strings.TrimSpace(string(found))); err != nil {
			return fmt.Errorf("save sysctl %s: %w", path, err)
		}
	}
	if err := os.WriteFile(path, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("set sysctl: %w", err)
	}
	return nil
}

// restoreLiberal restores the value that setLiberal found; without a remembered value it does nothing.
func restoreLiberal(state StateStore, path string) error {
	saved, err := state.Get(liberalKey)
	if err != nil || saved == "" {
		return err
	}
	if err := os.WriteFile(path, []byte(saved), 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore sysctl to %q: %w", saved, err)
	}
	klog.InfoS("Restored sysctl", "path", path, "value", saved)
	return state.Set(liberalKey, "")
}
