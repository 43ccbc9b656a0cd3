// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// liberalSysctl makes conntrack accept TCP segments outside the window it remembers. A flow that returns from the fast path
// has moved on; without the sysctl conntrack calls its packets invalid, and the pipeline drops those. Recent kernels do
// this for Open vSwitch by themselves (net/openvswitch/conntrack.c, __ovs_ct_lookup), but older kernels and the host's own
// iptables rules do not.
const liberalSysctl = "net/netfilter/nf_conntrack_tcp_be_liberal"

func setLiberal(sysctls *sysctl.Record) error {
	if err := sysctls.Set(liberalSysctl, "1"); err != nil {
		return fmt.Errorf("%w (is the module nf_conntrack loaded?)", err)
	}
	return nil
}
