// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const schemaPath = "/usr/share/openvswitch/vswitch.ovsschema"

// database is an ovsdb-server without vswitchd that tests stop and start.
type database struct {
	t            *testing.T
	file, socket string
	cmd          *exec.Cmd
}

func newDatabase(t *testing.T) *database {
	for _, program := range []string{"ovsdb-server", "ovsdb-tool", "ovs-vsctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs the program %s: %v", program, err)
		}
	}
	// Not t.TempDir: a unix socket path has room for 107 bytes only.
	dir, err := os.MkdirTemp("", "ovsdb")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &database{t: t, file: filepath.Join(dir, "conf.db"), socket: filepath.Join(dir, "db.sock")}
	require.NoError(t, exec.Command("ovsdb-tool", "create", d.file, schemaPath).Run())
	t.Cleanup(d.stop)
	return d
}

func (d *database) start() {
	d.cmd = exec.Command("ovsdb-server", d.file, "--remote=punix:"+d.socket, "--no-chdir", "--unixctl="+d.file+".ctl",
		"-vconsole:off", "-vsyslog:off")
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(d.t, d.cmd.Start())
	require.Eventually(d.t, func() bool { _, err := os.Stat(d.socket); return err == nil }, 10*time.Second, 5*time.Millisecond)
	d.init()
}

// init writes the row of table Open_vSwitch, as ovs-ctl does.
func (d *database) init() {
	require.NoError(d.t, exec.Command("ovs-vsctl", "--db=unix:"+d.socket, "--retry", "--timeout=10", "--no-wait", "init").Run())
}

func (d *database) stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	_ = os.Remove(d.socket)
	d.cmd = nil
}

func TestConnectionWaitsForTheServer(t *testing.T) {
	d := newDatabase(t)
	type result struct {
		conn *Connection
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := NewOVSDBConnection(testContext(t), "unix:"+d.socket)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		t.Fatalf("connected to an absent server: %v", r.err)
	case <-time.After(50 * time.Millisecond):
	}
	d.start()
	r := <-done
	require.NoError(t, r.err)
	r.conn.Close()
}

func TestConnectionErrors(t *testing.T) {
	for _, address := range []string{"", "tcp:127.0.0.1:6640", "unix:relative", "/var/run/db.sock"} {
		_, err := NewOVSDBConnection(t.Context(), address)
		require.ErrorContains(t, err, "want unix:", "address %q", address)
	}
	absent := "unix:" + filepath.Join(t.TempDir(), "absent")
	requireCause(t, "no such file", func(ctx context.Context) error {
		_, err := NewOVSDBConnection(ctx, absent)
		return err
	})
}

// requireCause checks that the error of a call that waits until its context ends names what it has waited for. On a busy machine the first attempt can come
// after a short time, so that a longer one follows.
func requireCause(t *testing.T, cause string, call func(context.Context) error) {
	t.Helper()
	within := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err := call(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return err
	}
	limit := 50 * time.Millisecond
	err := within(limit)
	for ; !strings.Contains(err.Error(), cause) && limit < 30*time.Second; err = within(limit) {
		limit *= 4
	}
	require.ErrorContains(t, err, cause)
}

func TestOperationsWaitForReconnection(t *testing.T) {
	d := newDatabase(t)
	d.start()
	conn, err := NewOVSDBConnection(testContext(t), "unix:"+d.socket)
	require.NoError(t, err)
	defer conn.Close()
	c := NewBridgeClient(conn, bridge)
	require.NoError(t, c.SetOVSOtherConfig(map[string]string{"k": "before"}))

	for range 3 {
		d.stop()
		require.Eventually(t, func() bool { cl, _ := conn.snapshot(); return cl == nil }, 10*time.Second, time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- c.SetOVSOtherConfig(map[string]string{"k": "after"}) }()
		d.start()
		require.NoError(t, <-done)
		config, err := c.GetOVSOtherConfig()
		require.NoError(t, err)
		require.Equal(t, "after", config["k"])
	}
}

func TestCloseEndsAWaitingOperationAndReconnection(t *testing.T) {
	d := newDatabase(t)
	d.start()
	conn, err := NewOVSDBConnection(testContext(t), "unix:"+d.socket)
	require.NoError(t, err)
	d.stop()
	require.Eventually(t, func() bool { cl, _ := conn.snapshot(); return cl == nil }, 10*time.Second, time.Millisecond)
	done := make(chan error, 1)
	go func() { _, err := NewBridgeClient(conn, bridge).GetOVSOtherConfig(); done <- err }()
	conn.Close()
	require.ErrorIs(t, <-done, errConnectionClosed)
}

// TestOperationsWaitForTheRootRow: on a new Node the agent may connect to ovsdb-server before ovs-ctl has written the row.
func TestOperationsWaitForTheRootRow(t *testing.T) {
	d := newDatabase(t)
	d.start()
	require.NoError(t, exec.Command("ovsdb-client", "transact", "unix:"+d.socket,
		`["Open_vSwitch",{"op":"delete","table":"Open_vSwitch","where":[]}]`).Run())
	conn, err := NewOVSDBConnection(testContext(t), "unix:"+d.socket)
	require.NoError(t, err)
	defer conn.Close()
	requireCause(t, "ovs-vsctl --no-wait init", NewBridgeClient(conn, bridge).Create)

	done := make(chan error, 1)
	go func() { _, err := NewBridgeClient(conn, bridge).GetOVSOtherConfig(); done <- err }()
	d.init()
	require.NoError(t, <-done)
}
