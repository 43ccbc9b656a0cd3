// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
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

var nextTable = regexp.MustCompile(`actions=goto_table:(\w+)`)

// openServers makes the flows that drop packets to isolated Pods pass them on, as an agent would that forgets policies.
func openServers(ctx context.Context, w *world, _ event) error {
	const table = "IngressDefaultRule"
	ofctl := func(n *cluster.Node, args ...string) (string, error) {
		return n.Exec(ctx, append([]string{"ovs-ofctl", "-O", "OpenFlow15", "--names"}, args...)...)
	}
	for _, n := range w.Nodes {
		flows, err := ofctl(n, "dump-flows", "br-int", "table="+table)
		if err != nil {
			return err
		}
		next := nextTable.FindStringSubmatch(flows)
		if next == nil {
			return fmt.Errorf("table %s has no flow to the next one:\n%s", table, flows)
		}
		if _, err := ofctl(n, "mod-flows", "br-int", "table="+table+",actions=goto_table:"+next[1]); err != nil {
			return err
		}
	}
	return nil
}

// giveWrongSource lets Nodes leave with their own address whatever goes to the host outside the cluster, as without Egress.
func giveWrongSource(ctx context.Context, w *world, e event) error {
	rule := []string{"POSTROUTING", "-p", "tcp", "--dport", strconv.Itoa(outsidePort), "-o", cluster.Uplink, "-j", "MASQUERADE"}
	change := func(command string) error {
		return w.EachNode(func(n *cluster.Node) error {
			_, err := n.Exec(ctx, append([]string{"iptables", "-w", "-t", "nat", command}, rule...)...)
			return err
		})
	}
	err := change("-I")
	if err == nil {
		err = last(ctx, e.length)
	}
	return errors.Join(err, change("-D"))
}
