// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// ovsRunDir has the sockets and pid files of Open vSwitch.
const ovsRunDir = "/var/run/openvswitch"

// startVSwitchd and startOVSDB start one of the two programs by itself.
func startVSwitchd(t *testing.T, n *cluster.Node) { t.Helper(); startDaemon(t, n.StartVSwitchd) }

func startOVSDB(t *testing.T, n *cluster.Node) { t.Helper(); startDaemon(t, n.StartOVSDB) }

func startDaemon(t *testing.T, start func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	require.NoError(t, start(ctx))
}

// ovsSetting reads a column of OVSDB's Open_vSwitch table or of the bridge.
func ovsSetting(t *testing.T, n *cluster.Node, table, record, column string) string {
	t.Helper()
	return strings.TrimSpace(succeeds(t, n.Space, "ovs-vsctl", "--no-wait", "--if-exists", "get", table, record, column))
}
