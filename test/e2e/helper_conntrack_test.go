// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// conntrackZones are the zones of the pipeline.
var conntrackZones = map[string]string{"ipv4": "zone=65520", "ipv6": "zone=65510"}

// conntrackEntry is a connection in conntrack's table.
type conntrackEntry struct {
	state string // of TCP
	left  time.Duration
	line  string
}

// conntrackOf finds the entry of a flow on a Node. The client's Node has it under the address that the client connects to.
func (s *suite) conntrackOf(t *testing.T, n *cluster.Node, f flow) (conntrackEntry, bool) {
	t.Helper()
	zone, destination := conntrackZones["ipv4"], f.server
	if f.client.Addr().Is6() {
		zone = conntrackZones["ipv6"]
	}
	if n == s.nodeOf(f.client.Addr()) {
		destination = f.dialed()
	}
	return findConntrack(t, n, f, destination, func(line string) bool { return strings.Contains(line, zone) })
}

// hostConntrackOf finds the entry of the host, which sees a flow behind Open vSwitch.
func hostConntrackOf(t *testing.T, n *cluster.Node, f flow) (conntrackEntry, bool) {
	t.Helper()
	return findConntrack(t, n, f, f.server, func(line string) bool { return !strings.Contains(line, "zone=") })
}

func findConntrack(t *testing.T, n *cluster.Node, f flow, destination netip.AddrPort, wanted func(line string) bool) (conntrackEntry, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	family := "ipv4"
	if f.client.Addr().Is6() {
		family = "ipv6"
	}
	out, err := n.Exec(ctx, "conntrack", "-L", "-f", family, "-p", strings.ToLower(f.proto), "--orig-src", f.client.Addr().String(),
		"--orig-dst", destination.Addr().String(), "--sport", strconv.Itoa(int(f.client.Port())), "--dport", strconv.Itoa(int(destination.Port())))
	require.NoError(t, err)
	for line := range strings.Lines(out) {
		if !wanted(line) {
			continue
		}
		// "tcp      6 431999 ESTABLISHED src=...", "udp      17 29 src=..."
		fields := strings.Fields(line)
		seconds, err := strconv.Atoi(fields[2])
		require.NoError(t, err, line)
		e := conntrackEntry{left: time.Duration(seconds) * time.Second, line: strings.TrimSpace(line)}
		if f.proto == "TCP" {
			e.state = fields[3]
		}
		return e, true
	}
	return conntrackEntry{}, false
}
