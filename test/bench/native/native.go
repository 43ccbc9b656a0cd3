// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package native is the bed on the running kernel, at full speed and without Open vSwitch. The slow path is the
// kernel's router and VXLAN device with the netfilter rules of Flannel and kube-proxy, and the agent's rules that
// exempt tunnel packets from connection tracking. The cache is the product's own manager and eBPF programs, unchanged.
// Each state has two Nodes of its own, in network namespaces (package nodepair), so that all can be measured in turn
// without reconfiguration. The first Node has one half of the CPUs, the second Node the other. The uplink hands
// received packets to the CPUs of the receiving Node, like the interrupt of a NIC.
//
// With a peer, the bed has the name peers, and measures a few workloads in the first network also with Cilium (package cilium), on two
// Nodes that differ from the others only in their network plugin.
//
// native.go is the bed, setup.go makes a network in its states, caches.go starts and controls the caches, peer.go does so with
// Cilium, cost.go reads the CPU meters.
package native

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/native/cilium"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/soak"
	"github.com/antrea-oncache/antrea/test/bench/workload"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// Name is the bed's name, PeerName the name of the bed with a peer.
const (
	Name     = "native"
	PeerName = "peers"
)

// Bed makes measurements on the running kernel. It needs root and the sandbox (package sandbox).
type Bed struct {
	// Self is the program that has the commands agent and soak; Traffic is test/tools/traffic, HTTP3 test/tools/http3.
	Self, Traffic, HTTP3 string
	Progress             *progress.Printer
	// Source is a directory in the repository.
	Source string
	// Peer are the programs of the peer; nil for none.
	Peer *cilium.Programs

	dir     string // for sockets, control groups and data of workloads
	soakers []*soak.Soaker
	cpus    [2][]int // of each Node
	// own is the CPU time of the programs in setups that are closed.
	own time.Duration
}

// Name implements bed.Bed.
func (b *Bed) Name() string {
	if b.Peer != nil {
		return PeerName
	}
	return Name
}

// network is a network that can be set up, with the workloads that are measured in it.
type network struct {
	name    string
	options nodepair.Options
	// service is the address of a Service by which the client's Pod reaches the server's; the zero Addr: by its own address.
	service   netip.Addr
	workloads func(workload.Machine) []workload.Workload
}

var networks = []network{
	{"vxlan", nodepair.Options{}, netip.Addr{}, workload.All},
	{"vxlan-service", nodepair.Options{}, netip.AddrFrom4([4]byte{10, 96, 0, 1}), workload.Service},
	{"vxlan6", nodepair.Options{Inner6: true, Outer6: true}, netip.Addr{}, workload.Other},
	{"noEncap", nodepair.Options{Direct: true}, netip.Addr{}, workload.Direct},
}

// networks are measured by the bed.
func (b *Bed) networks() []network {
	if b.Peer != nil {
		n := networks[0]
		n.workloads = workload.Peers
		return []network{n}
	}
	return networks
}

// states are measured by a plan in a network. The guard's bands have no rewriting, and without a tunnel nothing can be rewritten.
func (b *Bed) states(plan bed.Plan, n network) []result.State {
	switch {
	case b.Peer != nil:
		return result.PeerStates
	case plan.Smoke || n.options.Direct:
		return []result.State{result.Bare, result.Off, result.On}
	}
	return result.States
}

// Run implements bed.Bed.
func (b *Bed) Run(ctx context.Context, plan bed.Plan) (run *result.Run, err error) {
	run = &result.Run{Schema: result.Schema, Bed: b.Name(), Started: time.Now().UTC().Truncate(time.Second), Rounds: plan.Rounds, Networks: map[string]result.Network{}}
	if run.Machine, err = result.ThisMachine(); err != nil {
		return nil, err
	}
	run.Commit, run.Dirty = result.Commit(b.Source)
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.dir)
	// Databases drop their privileges and must reach their directories below.
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return nil, err
	}
	if err := b.mountCgroups(); err != nil {
		return nil, err
	}
	defer func() { _ = unix.Unmount(b.cgroups(), unix.MNT_DETACH) }()
	run.Limits = b.divideCPUs()
	if err := b.startSoakers(); err != nil {
		return nil, err
	}
	defer b.stopSoakers()
	var wanted [][]workload.Workload
	all := b.networks()
	for i, n := range all {
		switch {
		case !plan.Smoke:
			wanted = append(wanted, chosen(plan, n.workloads(b.machine())))
		case i == 0:
			wanted = append(wanted, chosen(plan, workload.Smoke(b.machine())))
		default:
			wanted = append(wanted, nil)
		}
	}
	for i, n := range all {
		r := workload.Runner{Plan: plan, Progress: b.Progress}
		if plan.Budget > 0 {
			r.Deadline = run.Started.Add(plan.Budget)
		}
		for _, later := range wanted[i+1:] {
			r.Others += len(later)
		}
		if err := b.measure(ctx, r, run, n, wanted[i]); err != nil {
			return nil, err
		}
	}
	run.Tools = workload.Versions(run.Results)
	if run.Tools["http3"], err = workload.HTTP3Version(b.HTTP3); err != nil {
		return nil, err
	}
	if b.Peer != nil {
		run.Tools["cilium-agent"] = b.Peer.Version + ", its eBPF programs compiled by " + b.Peer.Compiler
	}
	if run.Machine.ForeignCPU, err = b.foreign(); err != nil {
		return nil, err
	}
	run.Seconds = time.Since(run.Started).Round(time.Second).Seconds()
	return run, nil
}

func (b *Bed) machine() workload.Machine {
	return workload.Machine{CPUs: len(b.cpus[0]), Traffic: b.Traffic, HTTP3: b.HTTP3, Dir: filepath.Join(b.dir, "data")}
}

func chosen(plan bed.Plan, all []workload.Workload) (wanted []workload.Workload) {
	for _, w := range all {
		if plan.Only == nil || plan.Only(w.Name) {
			wanted = append(wanted, w)
		}
	}
	return wanted
}

// measure runs workloads in one network.
func (b *Bed) measure(ctx context.Context, r workload.Runner, run *result.Run, n network, wanted []workload.Workload) error {
	if len(wanted) == 0 {
		return nil
	}
	b.Progress.Printf("bench: network %s, %d workloads, %d rounds of %v", n.name, len(wanted), r.Plan.Rounds, r.Plan.Length)
	setup, err := b.open(ctx, n, b.states(r.Plan, n))
	if err != nil {
		return fmt.Errorf("network %s: %w", n.name, err)
	}
	r.Setup = setup
	if setup.caches[result.Rewrite] != nil {
		b.Progress.Printf("bench: waiting until packets are rewritten")
		if err := r.AwaitRewriting(ctx, n.workloads(b.machine())[0]); err != nil {
			return errors.Join(fmt.Errorf("network %s: %w", n.name, err), setup.Close())
		}
	}
	results, err := r.Run(ctx, setup.witnessed(wanted))
	if err == nil {
		err = errors.Join(setup.noteSlowService(results), setup.unseen)
	}
	run.Results = append(run.Results, results...)
	if err == nil {
		run.Networks[n.name], err = setup.Describe()
	}
	if err == nil && setup.peer != nil {
		run.Networks[string(result.Cilium)] = setup.describePeer(run.Networks[n.name])
	}
	if err == nil && r.Plan.Profile && run.Breakdown == nil {
		run.Breakdown, err = workload.Profile(ctx, setup, b.machine(), b.Progress)
	}
	return errors.Join(err, setup.Close())
}

// divideCPUs gives each Node one half, and describes the division.
func (b *Bed) divideCPUs() (limits []string) {
	n := runtime.NumCPU()
	if n == 1 {
		b.cpus = [2][]int{{0}, {0}}
		return []string{"The machine has one CPU: both Nodes share it, and the CPU time of client and server cannot be told apart."}
	}
	for cpu := range n / 2 * 2 {
		b.cpus[2*cpu/n] = append(b.cpus[2*cpu/n], cpu)
	}
	if n == 2 {
		limits = append(limits, "Each Node has one CPU.")
	}
	return append(limits, fmt.Sprintf("Parallel flows: at most %d, that is %d per CPU of a Node.", workload.MaxFlows(len(b.cpus[0])), workload.FlowsPerCPU))
}

func (b *Bed) startSoakers() error {
	for cpu := range runtime.NumCPU() {
		s, err := soak.Start(cpu, b.Self, "soak")
		if err != nil {
			return err
		}
		b.soakers = append(b.soakers, s)
	}
	return nil
}

func (b *Bed) stopSoakers() {
	for _, s := range b.soakers {
		s.Stop()
	}
	b.soakers = nil
}

// cgroups is the mount point of control groups of version 2. They also account for processes that have ended.
func (b *Bed) cgroups() string { return filepath.Join(b.dir, "cgroups") }

func (b *Bed) mountCgroups() error {
	if err := os.Mkdir(b.cgroups(), 0o700); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", b.cgroups(), "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount cgroup2 at %s: %w", b.cgroups(), err)
	}
	return nil
}

// offloads returns the features of a device that affect the cost of a packet.
func offloads(device string) (map[string]string, error) {
	out, err := exec.Command("ethtool", "-k", device).Output()
	if err != nil {
		return nil, fmt.Errorf("ethtool -k %s: %w", device, err)
	}
	return parseOffloads(string(out)), nil
}

func parseOffloads(features string) map[string]string {
	wanted := []string{"rx-checksumming", "tx-checksumming", "tcp-segmentation-offload", "generic-segmentation-offload",
		"generic-receive-offload", "tx-udp_tnl-segmentation", "tx-udp-segmentation"}
	found := map[string]string{}
	for line := range strings.Lines(features) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for _, w := range wanted {
			if name == w {
				found[name], _, _ = strings.Cut(value, " ")
			}
		}
	}
	return found
}
