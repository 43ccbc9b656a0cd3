// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// Node is a machine with containerd and a kubelet.
type Node struct {
	Name string

	cluster *Cluster
	address netip.Prefix
	// stateDir is private and seen by host and Node under the same path; so is logDir.
	stateDir, logDir string
	machine          *machine.Machine
	// end ends the programs; programs waits for them.
	end      context.CancelFunc
	programs sync.WaitGroup
}

// IP is the Node's address.
func (n *Node) IP() netip.Addr { return n.address.Addr() }

// nodePath is the path of programs on a Node.
const nodePath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// prepareScript completes what the kernel of user-mode Linux lacks. cAdvisor, in the kubelet, refuses a processor without a clock rate. modprobe
// does not know what is built in. Mounts are shared, as systemd makes them, so that volumes with mount propagation work.
const prepareScript = `set -e
modules=/lib/modules/$(uname -r)
mkdir -p $modules
touch $modules/modules.order
for module in openvswitch geneve vxlan veth ifb dummy bridge overlay nf_conntrack ip_tables iptable_nat ip_set nf_tables sch_ingress sch_tbf cls_bpf; do
  echo "kernel/$module.ko"
done >$modules/modules.builtin
depmod
mount --make-rshared /
{ cat /proc/cpuinfo; echo 'cpu MHz : 1000.000'; } >/run/cpuinfo
mount -o bind /run/cpuinfo /proc/cpuinfo
echo 1 >/proc/sys/net/ipv4/ip_forward
mkdir -p /var/log/pods /etc/kubernetes/manifests
`

const waitForRuntime = `for try in $(seq 300); do
  [ -S /run/containerd/containerd.sock ] && exit 0
  sleep 0.1
done
echo "no socket after 30 seconds"
exit 1
`

// boot starts the machine, containerd and the kubelet. It returns when they have been started.
func (n *Node) boot(ctx context.Context) (err error) {
	for _, dir := range []string{n.stateDir, n.logDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := n.writeConfiguration(); err != nil {
		return err
	}
	if n.machine, err = machine.StartNode(ctx, n.machineOptions()); err != nil {
		return err
	}
	if err := n.waitForCommands(ctx); err != nil {
		return fmt.Errorf("reaching Node %s: %w", n.Name, err)
	}
	if err := n.Shell(ctx, prepareScript); err != nil {
		return fmt.Errorf("preparing Node %s: %w", n.Name, err)
	}
	var running context.Context
	running, n.end = context.WithCancel(context.Background())
	n.start(running, "containerd", []string{"containerd", "--config=" + n.file(containerdFile)})
	// A kubelet that finds no runtime ends.
	if err := n.Shell(ctx, waitForRuntime); err != nil {
		return fmt.Errorf("starting containerd on Node %s, see %s: %w", n.Name, n.logDir, err)
	}
	n.start(running, "kubelet", n.kubeletArgs(n.cluster.programs.kubelet))
	return nil
}

// commandAttempts limits the attempts at a command without effect, one a second. On a busy machine the first connection
// after a reboot was reset once.
const commandAttempts = 20

// waitForCommands returns when the Node runs commands.
func (n *Node) waitForCommands(ctx context.Context) (err error) {
	for range commandAttempts {
		if err = n.Shell(ctx, ":"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return err
}

func (n *Node) machineOptions() machine.NodeOptions {
	o := n.cluster.o
	return machine.NodeOptions{
		Options: machine.Options{
			Directories: []string{filepath.Dir(n.cluster.programs.kubelet)}, StateDir: n.stateDir, LogDir: n.logDir,
			GuestCommand: o.GuestCommand, Progress: o.Progress.Of(n.Name),
		},
		Name: n.Name, Segment: n.cluster.segment, Addresses: []netip.Prefix{n.address}, Gateways: []netip.Addr{n.cluster.networks.Gateway},
		Disk: n.cluster.disk, Changes: n.file("disk"), Memory: o.NodeMemory,
	}
}

// A program that ends is started again after minRestartDelay, and after twice the former delay, up to maxRestartDelay, while it runs less than
// lastingRun.
const (
	minRestartDelay = 100 * time.Millisecond
	maxRestartDelay = 10 * time.Second
	lastingRun      = time.Minute
)

// start runs a program until ctx ends, with its output in a log file of the host. A program that ends by itself is started again, as
// systemd would do.
func (n *Node) start(ctx context.Context, name string, args []string) {
	n.programs.Go(func() {
		keepRunning(ctx, func() error { return n.runLogged(ctx, name, args) }, func(err error, delay time.Duration) {
			n.cluster.o.Progress.Printf("%s: %s has ended and is started again in %s (%v); see %s/%s.log", n.Name, name, delay, err, n.logDir, name)
		})
	})
}

// keepRunning calls run again and again until ctx ends, and tells each time why and after which delay.
func keepRunning(ctx context.Context, run func() error, ended func(err error, delay time.Duration)) {
	for delay := time.Duration(0); ; {
		began := time.Now()
		err := run()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= lastingRun {
			delay = 0
		}
		delay = min(max(2*delay, minRestartDelay), maxRestartDelay)
		ended(err, delay)
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
	}
}

func (n *Node) runLogged(ctx context.Context, name string, args []string) error {
	log, err := os.OpenFile(filepath.Join(n.logDir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	code, err := n.machine.Run(ctx, remote.Command{Args: args, Env: []string{nodePath, "HOME=/root"}, Stdout: log, Stderr: log})
	if err == nil {
		err = fmt.Errorf("exit code %d", code)
	}
	return err
}

// Endpoint is the machine's command server. It is zero if the machine's last start failed.
func (n *Node) Endpoint() remote.Endpoint {
	if n.machine == nil {
		return remote.Endpoint{}
	}
	return n.machine.Endpoint()
}

// Run runs a command on the Node, as root, and returns its exit code.
func (n *Node) Run(ctx context.Context, cmd remote.Command) (int, error) {
	if n.machine == nil {
		return 0, fmt.Errorf("the machine of Node %s is off: its last start failed", n.Name)
	}
	if cmd.Env == nil {
		cmd.Env = []string{nodePath, "HOME=/root", "TERM=" + os.Getenv("TERM")}
	}
	return n.machine.Run(ctx, cmd)
}

// Shell runs a shell script on the Node. An error has its output.
func (n *Node) Shell(ctx context.Context, script string) error {
	var out bytes.Buffer
	code, err := n.Run(ctx, remote.Command{Args: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: io.Writer(&out)})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, out.String())
	}
	return err
}

// Reboot switches the Node off, as a loss of power with written files would, and boots it again with the same disk.
func (n *Node) Reboot(ctx context.Context) error {
	return errors.Join(n.off(), n.boot(ctx))
}

// off ends the machine. Programs lose it before they are told to end: nothing is cleaned up.
func (n *Node) off() error {
	if n.machine == nil {
		return nil
	}
	if n.end != nil {
		n.end()
	}
	err := n.machine.Close()
	n.programs.Wait()
	return err
}
