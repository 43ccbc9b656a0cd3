// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ovstest starts a private Open vSwitch for one test, or for a program (see TB): its own ovsdb-server and
// ovs-vswitchd, with every file and socket in a temporary folder and the datapath in a network namespace that nothing else
// uses. No system daemon, no system database and no device of the caller's namespace is touched. It needs root and the OVS
// programs, else it skips the test.
//
// Bridges use the userspace datapath (datapath_type=netdev), which needs no kernel module; ports of type "internal" are
// tap devices in the private namespace, ports of type "dummy" exist inside vswitchd only.
package ovstest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/ovs/ofctl"
)

// readyTimeout bounds every wait for a daemon.
const readyTimeout = 20 * time.Second

// schemaPath is the path of the schema in distributions' packages and after OVS's own "make install" with
// --prefix=/usr.
const schemaPath = "/usr/share/openvswitch/vswitch.ovsschema"

// TB is the part of testing.TB that this package needs, so that programs other than tests can also have an Open
// vSwitch.
type TB interface {
	Cleanup(func())
	Errorf(format string, args ...any)
	Failed() bool
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
}

// OVS is a running private Open vSwitch. It ends with the test. Its methods fail the test on error and must be called
// from the test's goroutine.
type OVS struct {
	// RunDir holds the sockets: db.sock, and <bridge>.mgmt of each bridge.
	RunDir string
	// LogDir holds ovsdb-server.log and ovs-vswitchd.log.
	LogDir string
	// DBSocket is the path of the OVSDB unix socket.
	DBSocket string
	// NetNS is the network namespace in which vswitchd runs; tests may put devices into it. It is closed at cleanup.
	NetNS *os.File

	t        TB
	dbDir    string
	db       *daemon
	vswitchd *daemon
	bridges  []string
	starts   int
}

// Option modifies Start.
type Option func(*OVS)

// InNetNS makes vswitchd run in the namespace that path names (such as /proc/thread-self/ns/net) instead of a new one.
func InNetNS(path string) Option {
	return func(o *OVS) {
		f, err := os.Open(path)
		if err != nil {
			o.t.Fatalf("ovstest: open network namespace %q: %v", path, err)
		}
		o.NetNS = f
	}
}

// Start starts ovsdb-server with an empty database and ovs-vswitchd, and returns when vswitchd serves the database. Both
// end at the test's cleanup. If the test failed by then, the flows of every bridge made with AddBridge and the log of
// vswitchd are printed first.
func Start(t TB, opts ...Option) *OVS {
	t.Helper()
	skipUnlessPossible(t)
	// Not t.TempDir(): it contains the test's name, and a unix socket path has room for 107 bytes only.
	dir, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatalf("ovstest: make a temporary folder: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := &OVS{
		RunDir: filepath.Join(dir, "run"),
		LogDir: filepath.Join(dir, "log"),
		dbDir:  filepath.Join(dir, "db"),
		t:      t,
	}
	o.DBSocket = filepath.Join(o.RunDir, "db.sock")
	for _, d := range []string{o.RunDir, o.LogDir, o.dbDir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatalf("ovstest: %v", err)
		}
	}
	for _, opt := range opts {
		opt(o)
	}
	if o.NetNS == nil {
		if o.NetNS, err = newNetNS(); err != nil {
			t.Fatalf("ovstest: make a network namespace: %v", err)
		}
	}
	t.Cleanup(func() { _ = o.NetNS.Close() })

	conf := filepath.Join(o.dbDir, "conf.db")
	o.run("ovsdb-tool", "create", conf, schemaPath)
	o.startDB(conf)
	t.Cleanup(func() { o.db.stop(t) })
	o.Vsctl("--no-wait", "init")
	o.Vsctl("--no-wait", "set", "Open_vSwitch", ".", "ovs-version="+o.version())
	o.StartVswitchd()
	t.Cleanup(func() {
		if t.Failed() {
			o.report()
		}
		o.KillVswitchd()
	})
	return o
}

// StartVswitchd starts vswitchd again after KillVswitchd, in the same namespace, and waits until it has applied the
// database.
func (o *OVS) StartVswitchd() {
	o.t.Helper()
	cmd := exec.Command("ovs-vswitchd", "unix:"+o.DBSocket, "--no-chdir", "--enable-dummy",
		"--pidfile", "--log-file="+filepath.Join(o.LogDir, "ovs-vswitchd.log"), "-vconsole:off", "-vsyslog:off")
	cmd.Env = o.env()
	d, err := startDaemon(cmd, o.NetNS)
	if err != nil {
		o.t.Fatalf("ovstest: start ovs-vswitchd: %v", err)
	}
	o.vswitchd = d
	// ovs-vsctl returns once vswitchd has applied the change, but only if there is one: hence a new value each time.
	o.starts++
	o.Vsctl("set", "Open_vSwitch", ".", fmt.Sprintf("external_ids:ovstest-starts=%d", o.starts))
}

// KillVswitchd ends vswitchd without any clean-up of its own, as a crash does: all flows are lost, the database stays.
// It does nothing when vswitchd does not run.
func (o *OVS) KillVswitchd() {
	o.t.Helper()
	if o.vswitchd != nil {
		o.vswitchd.stop(o.t)
		o.vswitchd = nil
		// A killed process leaves the file behind, and clients would look for the socket of that process.
		_ = os.Remove(filepath.Join(o.RunDir, "ovs-vswitchd.pid"))
	}
}

// HangVswitchd stops vswitchd, with all its sockets open, until ResumeVswitchd.
func (o *OVS) HangVswitchd() {
	o.t.Helper()
	o.vswitchd.signal(o.t, syscall.SIGSTOP)
}

// ResumeVswitchd undoes HangVswitchd.
func (o *OVS) ResumeVswitchd() {
	o.t.Helper()
	o.vswitchd.signal(o.t, syscall.SIGCONT)
}

// HangDB stops ovsdb-server, with all its sockets open, until ResumeDB.
func (o *OVS) HangDB() {
	o.t.Helper()
	o.db.signal(o.t, syscall.SIGSTOP)
}

// ResumeDB undoes HangDB.
func (o *OVS) ResumeDB() {
	o.t.Helper()
	o.db.signal(o.t, syscall.SIGCONT)
}

// AddBridge makes a bridge with the userspace datapath and, when given, only those OpenFlow protocols ("OpenFlow10",
// "OpenFlow13", ...), removes the NORMAL flow that OVS gives a new bridge, and returns the path of its OpenFlow socket.
func (o *OVS) AddBridge(name string, protocols ...string) string {
	o.t.Helper()
	args := []string{"add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "fail_mode=secure"}
	if len(protocols) > 0 {
		args = append(args, "protocols="+strings.Join(protocols, ","))
	}
	o.Vsctl(args...)
	o.bridges = append(o.bridges, name)
	return o.MgmtSocket(name)
}

// MgmtSocket returns the path of a bridge's OpenFlow socket.
func (o *OVS) MgmtSocket(bridge string) string { return filepath.Join(o.RunDir, bridge+".mgmt") }

// Vsctl runs ovs-vsctl on the private database and returns what it prints, without the last newline.
func (o *OVS) Vsctl(args ...string) string {
	o.t.Helper()
	return o.run("ovs-vsctl", append([]string{"--db=unix:" + o.DBSocket, "--timeout=20"}, args...)...)
}

// Ofctl runs ovs-ofctl, OpenFlow 1.3 unless args choose another version, and returns what it prints, without the last
// newline. Bridges are given by name.
func (o *OVS) Ofctl(args ...string) string {
	o.t.Helper()
	return o.run("ovs-ofctl", append([]string{"--timeout=20", "-OOpenFlow13"}, args...)...)
}

// Appctl runs ovs-appctl on the private vswitchd and returns what it prints, without the last newline.
func (o *OVS) Appctl(args ...string) string {
	o.t.Helper()
	return o.run("ovs-appctl", append([]string{"--timeout=20"}, args...)...)
}

// DumpFlows returns the bridge's flows as ovs-ofctl prints them without statistics and names, one flow per element,
// sorted by priority, lowest first.
func (o *OVS) DumpFlows(bridge string) []string {
	o.t.Helper()
	var flows []string
	for line := range strings.Lines(o.Ofctl("--no-stats", "--no-names", "--sort", "dump-flows", bridge)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "actions=") {
			flows = append(flows, line)
		}
	}
	return flows
}

func (o *OVS) startDB(conf string) {
	o.t.Helper()
	cmd := exec.Command("ovsdb-server", conf, "--no-chdir", "--remote=punix:"+o.DBSocket,
		"--unixctl="+filepath.Join(o.RunDir, "ovsdb-server.ctl"),
		"--log-file="+filepath.Join(o.LogDir, "ovsdb-server.log"), "-vconsole:off", "-vsyslog:off")
	cmd.Env = o.env()
	d, err := startDaemon(cmd, nil)
	if err != nil {
		o.t.Fatalf("ovstest: start ovsdb-server: %v", err)
	}
	o.db = d
	deadline := time.Now().Add(readyTimeout)
	for {
		c, err := net.Dial("unix", o.DBSocket)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-d.exited:
			o.t.Fatalf("ovstest: ovsdb-server ended at once (%v):\n%s", d.err, o.log("ovsdb-server.log"))
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			d.stop(o.t)
			o.t.Fatalf("ovstest: ovsdb-server does not listen on %s after %v: %v", o.DBSocket, readyTimeout, err)
		}
	}
}

func (o *OVS) env() []string {
	return append(os.Environ(), "OVS_RUNDIR="+o.RunDir, "OVS_LOGDIR="+o.LogDir, "OVS_DBDIR="+o.dbDir, "OVS_SYSCONFDIR="+o.dbDir)
}

func (o *OVS) run(name string, args ...string) string {
	o.t.Helper()
	out, err := o.try(name, args...)
	if err != nil {
		o.t.Fatalf("ovstest: %v", err)
	}
	return out
}

func (o *OVS) try(name string, args ...string) (string, error) {
	var out string
	err := ofctl.Retry(context.Background(), func() (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Env = o.env()
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if err != nil {
			err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
		}
		out = strings.TrimSuffix(stdout.String(), "\n")
		return stderr.String(), err
	})
	return out, err
}

// version returns "3.1.0" from "ovs-vswitchd (Open vSwitch) 3.1.0".
func (o *OVS) version() string {
	first, _, _ := strings.Cut(o.run("ovs-vswitchd", "--version"), "\n")
	return first[strings.LastIndexByte(first, ' ')+1:]
}

func (o *OVS) log(name string) string {
	b, err := os.ReadFile(filepath.Join(o.LogDir, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (o *OVS) report() {
	for _, br := range o.bridges {
		flows, err := o.try("ovs-ofctl", "--timeout=5", "-OOpenFlow13", "dump-flows", br)
		if err != nil {
			flows = err.Error()
		}
		o.t.Logf("flows of %s:\n%s", br, flows)
	}
	o.t.Logf("ovs-vswitchd.log:\n%s", o.log("ovs-vswitchd.log"))
}

func skipUnlessPossible(t TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a private Open vSwitch needs root, for its network namespace")
	}
	for _, name := range []string{"ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "ovs-appctl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("a private Open vSwitch needs the program %s: %v", name, err)
		}
	}
	if _, err := os.Stat(schemaPath); err != nil {
		t.Skipf("a private Open vSwitch needs the database schema: %v", err)
	}
}

// newNetNS makes a network namespace that lives as long as the returned file or a process in it.
func newNetNS() (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result)
	go func() {
		// The thread stays in the new namespace; it is never unlocked and ends with this goroutine.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- result{err: fmt.Errorf("unshare: %w", err)}
			return
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}
