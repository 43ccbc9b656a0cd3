// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ovs is a directory in which start_ovs runs.
type ovs struct {
	t   *testing.T
	dir string
	env []string
}

func newOVS(t *testing.T) *ovs {
	// The path of a Unix socket must be short.
	dir, err := os.MkdirTemp("", "ovs")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := &ovs{t: t, dir: dir}
	for _, sub := range []string{"run", "log", "etc/openvswitch", "share/scripts", "tools"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	o.env = append(os.Environ(), "OVS_RUNDIR="+dir+"/run", "OVS_LOGDIR="+dir+"/log", "OVS_SYSCONFDIR="+dir+"/etc", "OVS_DBDIR="+dir+"/run",
		"OVS_PKGDATADIR="+dir+"/share", "PATH="+dir+"/tools:"+os.Getenv("PATH"), "START_OVS_INTERVAL=1", "START_OVS_ROTATE_EVERY=2",
		"START_OVS_LOGROTATE_CONF=rotation",
		"START_OVS_PATIENCE=0")
	o.script("tools/logrotate", `echo "logrotate $*" >>`+dir+"/calls")
	return o
}

func (o *ovs) script(name, command string) {
	o.t.Helper()
	require.NoError(o.t, os.WriteFile(filepath.Join(o.dir, name), []byte("#!/bin/sh\n"+command+"\n"), 0o755))
}

func (o *ovs) command(name string, args ...string) *exec.Cmd {
	if path, err := filepath.Abs(filepath.Join(scripts, name)); err == nil {
		if _, err := os.Stat(path); err == nil {
			name = path
		}
	}
	cmd := confined(o.t, "antreaOVS", name, args...)
	cmd.Env = o.env
	if os.Getuid() == 0 {
		// Others of this machine's network namespace would not let it start.
		cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	}
	return cmd
}

// start runs start_ovs until the end of the test at the latest.
func (o *ovs) start(args ...string) *exec.Cmd {
	o.t.Helper()
	cmd := o.command("start_ovs", args...)
	output, err := os.Create(filepath.Join(o.dir, "output"))
	require.NoError(o.t, err)
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	require.NoError(o.t, cmd.Start())
	o.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Signal(unix.SIGTERM)
			cmd.Wait()
		}
		if o.t.Failed() {
			o.t.Log(o.output())
		}
	})
	return cmd
}

// output is the output of start_ovs and the commands that it runs.
func (o *ovs) output() string { return o.content("output") }

// calls are the calls of the fake programs.
func (o *ovs) calls() string { return o.content("calls") }

func (o *ovs) content(name string) string {
	content, _ := os.ReadFile(filepath.Join(o.dir, name))
	return string(content)
}

// TestStartOVSOrder: ovs-vswitchd finds flow-restore-wait when it starts; with a fake ovs-ctl, which notes what it is asked to do.
func TestStartOVSOrder(t *testing.T) {
	o := newOVS(t)
	o.script("share/scripts/ovs-ctl", `echo "ovs-ctl $*" >>`+o.dir+"/calls")
	o.script("tools/ovs-vsctl", `echo "ovs-vsctl $*" >>`+o.dir+"/calls")
	stale := filepath.Join(o.dir, "run/ovs-vswitchd.pid")
	require.NoError(t, os.WriteFile(stale, []byte(strconv.Itoa(os.Getpid())), 0o644))
	cmd := o.start("--hw-offload")
	require.Eventually(t, func() bool { return strings.Contains(o.calls(), "logrotate rotation\n") }, 30*time.Second, 50*time.Millisecond)
	require.NoFileExists(t, stale)
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.NoError(t, cmd.Wait())

	lines := strings.Split(strings.TrimSpace(o.calls()), "\n")
	database := "ovs-ctl --db-file=" + o.dir + "/run/conf.db --system-id=random --no-full-hostname "
	settings := "ovs-vsctl --no-wait set Open_vSwitch . other_config:flow-restore-wait=true other_config:max-revalidator=200 other_config:hw-offload="
	require.Equal(t, []string{database + "--no-ovs-vswitchd start", settings + "true", database + "--no-ovsdb-server start"}, lines[:3])
	// The fake daemons do not run, so each check starts them.
	require.Contains(t, lines[3:], database+"--no-ovsdb-server start")
	require.Equal(t, "ovs-ctl stop", lines[len(lines)-1])
}

func TestStartOVSRefusesArguments(t *testing.T) {
	out, err := newOVS(t).command("start_ovs", "--hw-ofload").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `argument "--hw-ofload" is unknown`)
}

// TestStartOVSRefusesASecondSwitch: another ovs-vswitchd on the Node is seen by its control socket, and waited for.
func TestStartOVSRefusesASecondSwitch(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this needs root for a network namespace")
	}
	o := newOVS(t)
	o.script("share/scripts/ovs-ctl", `echo "ovs-ctl $*" >>`+o.dir+"/calls")
	o.script("tools/ovs-vsctl", "exit 0")
	runtime.LockOSThread() // the thread, with its network namespace, ends with the test
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	socket, err := net.Listen("unix", o.dir+"/ovs-vswitchd.4711.ctl")
	require.NoError(t, err)
	cmd := o.command("start_ovs")
	cmd.SysProcAttr = nil
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "another Open vSwitch runs on this Node (ovs-vswitchd, control socket "+o.dir+"/ovs-vswitchd.4711.ctl)")
	require.Empty(t, o.calls())
	require.NoFileExists(t, filepath.Join(o.dir, "run/conf.db"))

	o.env = append(o.env, "START_OVS_PATIENCE=60")
	cmd = o.command("start_ovs")
	cmd.SysProcAttr = nil
	waiting, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = waiting.Read(make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.Empty(t, o.calls(), "the other container's daemons are not stopped")

	cmd = o.command("start_ovs")
	cmd.SysProcAttr = nil
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, 5*time.Second
	require.NoError(t, cmd.Start())
	require.NoError(t, socket.Close())
	require.Eventually(t, func() bool { return strings.Contains(o.calls(), "--no-ovs-vswitchd start") }, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.NoError(t, cmd.Wait())
}

func TestStartOVSFailsWithoutDatabase(t *testing.T) {
	o := newOVS(t)
	o.script("share/scripts/ovs-ctl", "exit 1")
	out, err := o.command("start_ovs").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "ovsdb-server cannot be started")
}

// TestStartOVSRunsDaemons runs the real ovs-ctl and the real daemons.
func TestStartOVSRunsDaemons(t *testing.T) {
	const installed = "/usr/share/openvswitch"
	if _, err := os.Stat(installed + "/scripts/ovs-ctl"); err != nil || os.Getuid() != 0 {
		t.Skip("this needs root and openvswitch-switch")
	}
	o := newOVS(t)
	for _, name := range []string{"scripts/ovs-ctl", "scripts/ovs-lib", "scripts/ovs-save", "vswitch.ovsschema"} {
		require.NoError(t, os.Symlink(filepath.Join(installed, name), filepath.Join(o.dir, "share", name)))
	}
	kmod, err := os.ReadFile("agent/rootfs" + installed + "/scripts/ovs-kmod-ctl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(o.dir, "share/scripts/ovs-kmod-ctl"), kmod, 0o755))

	probe := func() bool { return o.command("container_liveness_probe", "ovs").Run() == nil }
	cmd := o.start()
	// The daemon answers before ovs-ctl has seen that it runs; killed in between, it has not started.
	require.Eventually(t, func() bool { return strings.Contains(o.output(), "Open vSwitch runs") }, time.Minute, 100*time.Millisecond)
	require.True(t, probe())
	out, err := o.command("ovs-vsctl", "get", "Open_vSwitch", ".", "other_config").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, `{flow-restore-wait="true", hw-offload="false", max-revalidator="200"}`, strings.TrimSpace(string(out)))

	// The monitor would start the daemon again, so it has to go first.
	daemon := o.pid("ovs-vswitchd")
	require.NoError(t, unix.Kill(parent(t, daemon), unix.SIGKILL))
	require.NoError(t, unix.Kill(daemon, unix.SIGKILL))
	require.Eventually(t, func() bool { return !probe() }, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, probe, time.Minute, 100*time.Millisecond)
	require.NotEqual(t, daemon, o.pid("ovs-vswitchd"))

	// A daemon that hangs runs, but is not alive.
	o.env = append(o.env, "LIVENESS_PATIENCE=1")
	for _, name := range []string{"ovs-vswitchd", "ovsdb-server"} {
		require.NoError(t, unix.Kill(o.pid(name), unix.SIGSTOP))
		out, err := o.command("container_liveness_probe", "ovs").CombinedOutput()
		require.NoError(t, unix.Kill(o.pid(name), unix.SIGCONT))
		require.Error(t, err, name)
		require.Contains(t, string(out), name+" has not answered for 1 s")
	}
	require.Eventually(t, probe, time.Minute, 100*time.Millisecond)
	o.env = o.env[:len(o.env)-1]

	database := o.pid("ovsdb-server")
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.False(t, probe())
	require.ErrorIs(t, unix.Kill(database, 0), unix.ESRCH)
	// The command exit could delete the kernel's flows.
	require.NotContains(t, o.output(), "Exiting ovs-vswitchd")
	require.FileExists(t, filepath.Join(o.dir, "run/conf.db"))
}

func (o *ovs) pid(daemon string) int {
	o.t.Helper()
	content, err := os.ReadFile(filepath.Join(o.dir, "run", daemon+".pid"))
	require.NoError(o.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	require.NoError(o.t, err)
	return pid
}

// parent is the parent process of a process: the fourth field of stat, the second after the name in parentheses.
func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ppid, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	return ppid
}

func TestLivenessProbeNamesItsContainers(t *testing.T) {
	for _, args := range [][]string{nil, {"agent"}} {
		out, err := newOVS(t).command("container_liveness_probe", args...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "usage: container_liveness_probe ovs|ovs-ipsec")
	}
	out, err := newOVS(t).command("container_liveness_probe", "ovs-ipsec").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "ovs-monitor-ipsec is not running")
}

func TestScriptsPassShellcheck(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("shellcheck is not installed")
	}
	files, err := filepath.Glob(scripts + "/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out, err := exec.Command("shellcheck", append(files, "agent/rootfs/usr/share/openvswitch/scripts/ovs-kmod-ctl")...).CombinedOutput()
	require.NoError(t, err, string(out))
}
