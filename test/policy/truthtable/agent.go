// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// agentOrder, as first argument, makes this program an agent: the part of antrea-agent that concerns policies, in the order of
// its start. It reads its task from standard input and reports the steps of its start on standard output.
const agentOrder = "agent"

// The steps of an agent's start: policies are in force and Pods are connected; only flows of its own round are left.
const (
	reachedReady    = "ready"
	reachedComplete = "complete"
)

// task is an agent's configuration.
type task struct {
	Node           byte
	Bridge, Source string
	Dir            string
	Round          openflow.RoundInfo
	// ONCache reports whether the pipeline is the one of the feature gate ONCache.
	ONCache bool
	Pods    []*policy.Pod
}

// runAgent runs an agent until it is killed. It returns only with an error.
func runAgent(in io.Reader, out io.Writer) error {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return err
	}
	n, ctx := switchpair.Identity{Number: t.Node}, context.Background()
	interfaces := interfacestore.NewInterfaceStore()
	for i, pod := range slices.Concat(t.Pods, markerPods) {
		if pod.Node == n.Name() {
			interfaces.AddInterface(connected(pod, i))
		}
	}
	features := openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: t.ONCache}
	bridge := refusing{of.NewSwitch(t.Bridge)}
	flows, err := n.StartPipelineOf(ctx, bridge, t.Round, features)
	if err != nil {
		return err
	}
	responder := nodeSwitch{Identity: n, bridge: bridge, flows: flows}.responder(interfaces)
	go func() { fmt.Fprintln(os.Stderr, "agent: answers to rejected packets:", responder.Run(ctx)) }()
	policies := agentpolicy.New(remoteSource{t.Source}, flows, atOnce{}, interfaces, t.Dir, problem.NewRecorder())
	policies.EnableAntreaPolicies(nil, false)
	names := fqdn.New(fqdn.Config{Switch: bridge, Flows: flows, MTU: mtu, File: filepath.Join(t.Dir, fqdn.FileName)})
	names.SetRealizer(policies)
	policies.FollowNames(names)
	go func() { fmt.Fprintln(os.Stderr, "agent: names:", names.Run(ctx)) }()
	go policies.Run(ctx)
	<-policies.Synced()
	install := n.InstallUnmarkedPods
	if t.ONCache {
		install = n.InstallPods
	}
	if err := install(flows, places(t.Pods)); err != nil {
		return err
	}
	fmt.Fprintln(out, reachedReady)
	if err := flows.DeleteStaleFlows(); err != nil {
		return err
	}
	fmt.Fprintln(out, reachedComplete)
	select {}
}

// agentProcess is an agent of a Node that is killed and started again.
type agentProcess struct {
	n      *switchpair.Node
	task   task
	cmd    *exec.Cmd
	ready  chan struct{}
	exited chan struct{}
	// completed is the last round that an agent has completed, begun the last one that one has begun.
	completed, begun uint16
	complete         chan uint16
}

func newAgentProcess(n *switchpair.Node, source, dir string, world *policy.World) *agentProcess {
	return &agentProcess{n: n, complete: make(chan uint16, 1), task: task{
		Node: n.Number, Bridge: n.OVS.MgmtSocket(switchpair.BridgeName), Source: source, Dir: filepath.Join(dir, n.Name()), Pods: world.Pods,
	}}
}

// start starts an agent, whose round follows the previous ones as it does in a cluster.
func (a *agentProcess) start() error {
	select {
	case a.completed = <-a.complete:
	default:
	}
	a.begun++
	a.task.Round = openflow.RoundInfo{RoundNum: a.begun}
	// Each third start is without the gate: the first one at node-2, the second one at node-1.
	a.task.ONCache = (a.begun+uint16(a.task.Node))%3 != 0
	if a.begun > 1 {
		oldest := max(a.completed, 1)
		a.task.Round.PrevRoundNum = &oldest
	}
	input, err := json.Marshal(a.task)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	a.cmd = exec.Command(self, agentOrder)
	a.cmd.Stdin, a.cmd.Stderr = strings.NewReader(string(input)), os.Stderr
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := a.cmd.Start(); err != nil {
		return err
	}
	ready, exited, round := make(chan struct{}), make(chan struct{}), a.begun
	a.ready, a.exited = ready, exited
	cmd := a.cmd
	go func() {
		defer close(exited)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch lines.Text() {
			case reachedReady:
				close(ready)
			case reachedComplete:
				select {
				case <-a.complete:
				default:
				}
				a.complete <- round
			}
		}
		_ = cmd.Wait() // killed
	}()
	return nil
}

// kill sends SIGKILL.
func (a *agentProcess) kill() error {
	if err := a.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing the agent of %s: %w", a.n.Name(), err)
	}
	<-a.exited
	return nil
}

// killAt kills the agent and starts it again, once for each of the times, which count from the call or from the agent's last start.
func (a *agentProcess) killAt(moments []time.Duration) error {
	for _, moment := range moments {
		<-time.After(moment)
		if err := a.kill(); err != nil {
			return err
		}
		if err := a.start(); err != nil {
			return err
		}
	}
	return nil
}

func (a *agentProcess) isReady() bool {
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

func (a *agentProcess) waitReady() error {
	select {
	case <-a.ready:
		return nil
	case <-a.exited:
		return fmt.Errorf("the agent of %s has exited during its start", a.n.Name())
	case <-time.After(switchpair.SetupTimeout):
		return fmt.Errorf("the agent of %s is not ready after %s", a.n.Name(), switchpair.SetupTimeout)
	}
}

// stopWith ends the agent when t ends.
func (a *agentProcess) stopWith(t ovstest.TB) {
	t.Cleanup(func() {
		if err := a.kill(); err != nil {
			t.Logf("%v", err)
		}
	})
}
