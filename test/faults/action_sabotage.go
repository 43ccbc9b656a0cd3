// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
)

// loseDatagrams loses what arrives at the server in the time that it takes to remove a rule again.
func loseDatagrams(ctx context.Context, w *world, _ event) error {
	rule := []string{"PREROUTING", "-p", "udp", "--dport", strconv.Itoa(echoPort), "-j", "DROP"}
	for _, command := range []string{"-I", "-D"} {
		if _, err := w.far.Exec(ctx, append([]string{"iptables", "-w", "-t", "raw", command}, rule...)...); err != nil {
			return err
		}
	}
	return nil
}

// openServers removes from the switch what drops packets to isolated Pods, as an agent would that forgets a policy.
func openServers(ctx context.Context, w *world, _ event) error {
	for _, n := range w.Nodes {
		if _, err := n.Exec(ctx, "ovs-ofctl", "-O", "OpenFlow15", "--names", "del-flows", "br-int", "table=IngressDefaultRule"); err != nil {
			return err
		}
	}
	return nil
}
