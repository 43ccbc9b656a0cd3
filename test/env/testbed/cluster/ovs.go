// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
)

const (
	ovsRunDir = "/var/run/openvswitch"
	ovsDB     = ovsRunDir + "/conf.db" // as in Antrea: it survives a restart of OVS, but not the Node
	ovsSocket = ovsRunDir + "/db.sock"
	ovsLogDir = "/var/log/openvswitch"
	ovsSchema = "/usr/share/openvswitch/vswitch.ovsschema"

	// ovsMinUptime: Open vSwitch 3.1 computes 0 handler threads in the first 10 s after boot, and loses every upcall.
	ovsMinUptime = 10 * time.Second
)

// startOVS starts ovsdb-server and ovs-vswitchd as Antrea's start_ovs does: with flow-restore-wait, so that nothing is
// forwarded until an agent has installed its flows, and max-revalidator=200.
func (n *Node) startOVS(ctx context.Context) error {
	if err := n.prepareOVS(ctx); err != nil {
		return err
	}
	if err := n.StartOVSDB(ctx); err != nil {
		return err
	}
	_, err := n.Exec(ctx, "ovs-vsctl", "--no-wait", "init", "--", "set", "Open_vSwitch", ".",
		"other_config:flow-restore-wait=true", "other_config:max-revalidator=200",
		"external_ids:system-id="+uuid.NewString(), "external_ids:hostname="+n.Name)
	if err != nil {
		return err
	}
	if err := waitUptime(ctx, ovsMinUptime); err != nil {
		return err
	}
	return n.StartVSwitchd(ctx)
}

// StartOVSDB starts ovsdb-server by itself, and returns when it accepts connections.
func (n *Node) StartOVSDB(ctx context.Context) (err error) {
	n.ovsdb, err = n.start(invocation{args: []string{
		"ovsdb-server", ovsDB, "--remote=punix:" + ovsSocket, "--pidfile", "--log-file", "-vconsole:off",
	}, container: ovsContainer})
	if err != nil {
		return err
	}
	return Eventually(ctx, n.Name+": waiting for ovsdb-server", func() error {
		return errors.Join(running(n.ovsdb), n.Do(func() error { return dialUnix(ovsSocket) }))
	})
}

// StartVSwitchd starts ovs-vswitchd by itself, and returns when it answers commands.
func (n *Node) StartVSwitchd(ctx context.Context) (err error) {
	n.vswitchd, err = n.start(invocation{args: []string{
		"ovs-vswitchd", "unix:" + ovsSocket, "--pidfile", "--log-file", "-vconsole:off",
	}, container: ovsContainer})
	if err != nil {
		return err
	}
	control := fmt.Sprintf("%s/ovs-vswitchd.%d.ctl", ovsRunDir, n.vswitchd.Pid())
	return Eventually(ctx, n.Name+": waiting for ovs-vswitchd", func() error {
		return errors.Join(running(n.vswitchd), n.Do(func() error { return dialUnix(control) }))
	})
}

// KillOVSDB ends ovsdb-server with SIGKILL.
func (n *Node) KillOVSDB() { n.ovsdb.Kill() }

// KillVSwitchd ends ovs-vswitchd with SIGKILL. The kernel keeps the datapath and its flows.
func (n *Node) KillVSwitchd() { n.vswitchd.Kill() }

// prepareOVS creates missing directories and the database, and removes leftovers of an earlier run.
func (n *Node) prepareOVS(ctx context.Context) error {
	fresh := false
	err := n.Do(func() error {
		for _, dir := range []string{ovsRunDir, ovsLogDir} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		for _, pattern := range []string{"*.pid", "*.ctl", "db.sock", ".conf.db.~lock~"} {
			stale, err := filepath.Glob(filepath.Join(ovsRunDir, pattern))
			if err != nil {
				return err
			}
			for _, path := range stale {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
		_, err := os.Stat(ovsDB)
		fresh = errors.Is(err, fs.ErrNotExist)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: preparing Open vSwitch: %w", n.Name, err)
	}
	if !fresh {
		return nil
	}
	_, err = n.Exec(ctx, "ovsdb-tool", "create", ovsDB, ovsSchema)
	return err
}

// RestartOVS ends both daemons and starts them again on the same database. The kernel keeps the datapath and its flows.
func (n *Node) RestartOVS(ctx context.Context) error {
	if err := n.StopOVS(); err != nil {
		return err
	}
	return n.startOVS(ctx)
}

// StopOVS ends both daemons as start_ovs does at the end of their container: ovs-vswitchd by SIGTERM, which keeps bridges and the kernel's
// datapath with its flows, ovsdb-server by the command exit and then by a signal.
func (n *Node) StopOVS() error {
	err := n.StopVSwitchd()
	if n.ovsdb == nil {
		return err
	}
	n.commandExit(n.ovsdb)
	return errors.Join(err, n.ovsdb.Stop(stopGrace))
}

// StopVSwitchd ends ovs-vswitchd as StopOVS does.
func (n *Node) StopVSwitchd() error {
	if n.vswitchd == nil {
		return nil
	}
	return n.vswitchd.Stop(stopGrace)
}

// commandExit asks a daemon to end and waits for it. A daemon that does not answer gets its signal afterwards.
func (n *Node) commandExit(p *Process) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	control := fmt.Sprintf("%s/%s.%d.ctl", ovsRunDir, p.args[0], p.Pid())
	if _, err := n.Exec(ctx, "ovs-appctl", "--timeout=1", "--target="+control, "exit"); err == nil {
		_ = p.Wait(ctx)
	}
}

// running returns a permanentError when a program has ended that should still run.
func running(p *Process) error {
	select {
	case <-p.Done():
		return permanentError{&ExitError{Space: p.space.Name, Args: p.args, Code: p.ExitCode(), Stdout: p.Stdout(), Stderr: p.Stderr()}}
	default:
		return nil
	}
}

func dialUnix(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

func waitUptime(ctx context.Context, least time.Duration) error {
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(data, []byte(" "))
	seconds, err := strconv.ParseFloat(string(first), 64)
	if err != nil {
		return fmt.Errorf("/proc/uptime says %q: %w", data, err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(least - time.Duration(seconds*float64(time.Second))):
		return nil
	}
}
