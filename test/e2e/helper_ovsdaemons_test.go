// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// ovsRunDir has the sockets and pid files of Open vSwitch.
const ovsRunDir = "/var/run/openvswitch"

// ovsDaemon is a program of Open vSwitch that a test stops and starts by itself.
type ovsDaemon struct {
	name string
	args []string
	// socket exists while it runs; %PID% is its process id.
	socket string
}

var (
	ovsdbServer = ovsDaemon{
		"ovsdb-server",
		[]string{ovsRunDir + "/conf.db", "--remote=punix:" + ovsRunDir + "/db.sock", "--pidfile", "--log-file", "-vconsole:off"},
		ovsRunDir + "/db.sock",
	}
	vswitchd = ovsDaemon{
		"ovs-vswitchd",
		[]string{"unix:" + ovsRunDir + "/db.sock", "--pidfile", "--log-file", "-vconsole:off"},
		ovsRunDir + "/br-int.mgmt",
	}
)

// stop ends the daemon as a crash would, and waits for its end.
func (d ovsDaemon) stop(t *testing.T, n *cluster.Node) {
	t.Helper()
	shell(t, n.Space, `
		pid=$(cat `+ovsRunDir+`/`+d.name+`.pid)
		kill -9 $pid
		while [ -e /proc/$pid ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.05; done
		rm -f `+d.socket)
}

// start starts the daemon and waits until it is usable. It ends with the cluster.
func (d ovsDaemon) start(t *testing.T, n *cluster.Node) {
	t.Helper()
	p, err := n.Start(append([]string{d.name}, d.args...)...)
	require.NoError(t, err)
	require.NoError(t, n.SetOVSDaemon(d.name, p))
	eventually(t, d.name+" on "+n.Name, func() error {
		select {
		case <-p.Done():
			require.Fail(t, d.name+" has ended", "%s", p.Stderr())
		default:
		}
		return n.Do(func() error { return exists(d.socket) })
	})
}

// ovsSetting reads a column of OVSDB's Open_vSwitch table or of the bridge.
func ovsSetting(t *testing.T, n *cluster.Node, table, record, column string) string {
	t.Helper()
	return strings.TrimSpace(succeeds(t, n.Space, "ovs-vsctl", "--no-wait", "--if-exists", "get", table, record, column))
}
