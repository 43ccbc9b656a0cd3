// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command truthtable compares the treatment of packets under random NetworkPolicies with the specification. It runs on one machine
// without a kernel module. antrea-controller and the agents' policy controllers of two Nodes are in this process, connected as they are
// in a cluster. They keep running while policies, labels and Pods change, so their incremental paths are tested. Each agent has a
// private Open vSwitch with the real pipeline and userspace conntrack; a Geneve tunnel connects the two. Each probe is a packet that
// opens a connection from one Pod to another, and the answer to it. It needs root, for network namespaces. With -kills there is a
// second part, in which the agents are processes of their own and are killed.
//
// cluster.go, change.go, marker.go, antreaapi.go and antreamarker.go are the control plane, node.go is an agent; package switchpair has the Nodes'
// switches, fabric.go connects the Pods to them. trial.go turns probes into packets, nodeports.go the packets of clients outside of the cluster, rejections.go reads the answers to rejected ones, names.go plays
// DNS, realizations.go finds answers that arrive before their rules, established.go follows connections that were opened under earlier policies, connections.go lets agents end them, status.go reads the policies' status. kills.go kills agents: agent.go is one, transport.go its connection to antrea-controller, refusing.go its switch, which refuses some flows.
// describe.go prints.
//
// The last line is "policy: sets=N probes=N established=N ended=N wrong=N seed=S". The exit code is 1 if anything is wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// mostTraces is the maximum number of wrong answers of one set of policies that are printed with all flows.
const mostTraces = 3

func main() {
	sets := flag.Int("sets", 200, "number of sets of policies")
	seed := flag.Uint64("seed", 0, "seed of the random sets; 0 chooses one")
	first := flag.Bool("first", false, "stop at the first set that has a wrong answer")
	kills := flag.Int("kills", 0, "how often to kill an agent, a process of its own, at a random moment")
	if len(os.Args) > 1 && os.Args[1] == agentOrder {
		silence()
		fmt.Fprintln(os.Stderr, "agent:", runAgent(os.Stdin, os.Stdout))
		os.Exit(1)
	}
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	silence()
	var r result
	h := &switchpair.Program{}
	err := h.Try(func() error { return run(context.Background(), h, *sets, *seed, *first, &r) })
	var killed killResult
	if err == nil && *kills > 0 {
		err = h.Try(func() error { return runKills(context.Background(), h, *kills, *seed, &killed) })
		fmt.Println("kills:", killed)
	}
	h.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "truthtable:", err)
	}
	fmt.Printf("policy: sets=%d probes=%d established=%d ended=%d wrong=%d seed=%d\n", r.sets, r.probes, r.established, r.ended, r.wrong, *seed)
	if err != nil || r.wrong+killed.wrong+killed.lost > 0 {
		os.Exit(1)
	}
}

// silence discards what the agents and antrea-controller log.
func silence() {
	klog.SetLogger(klog.Logger{})
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
}

// result counts what was tried. established is the number of times that an established connection was looked at, ended how often it had to end.
type result struct{ sets, probes, established, ended, wrong int }

// featuresOf returns the features of a Node's pipeline. One of the two has no cache.
func featuresOf(n *switchpair.Node) openflow.Features {
	return openflow.Features{AntreaProxy: true, ProxyAll: true, AntreaPolicy: true, Egress: true, ONCache: n.Number == 1, CutConnections: true}
}

// run checks sets of policies one after the other: all, or up to the first one that has a wrong answer.
func run(ctx context.Context, t ovstest.TB, sets int, seed uint64, first bool, r *result) error {
	generator := policy.NewAntreaGenerator(policy.NewGeneratorWithTurnover(rand.New(rand.NewPCG(seed, 0)))).WithNodePorts(rand.New(rand.NewPCG(seed, 1)))
	world, open := generator.Next(), &established{patience: cutTimeout, r: r}
	c, f, err := start(ctx, t, world)
	if err != nil {
		return err
	}
	for r.sets < sets && !(first && r.wrong > 0) {
		if err := c.settle(ctx, f); err != nil {
			return err
		}
		if err := c.checkStatuses(ctx, world); err != nil {
			describe(world)
			fmt.Printf("set %d: status: want another one; the agents or antrea-controller are wrong\n", r.sets+1)
			return fmt.Errorf("set %d: %w", r.sets+1, err)
		}
		if err := c.ask(ctx, f, world); err != nil {
			return fmt.Errorf("set %d: %w", r.sets+1, err)
		}
		lost, err := open.checkAll(ctx, c, f, world, r.sets%amnestyPeriod == amnestyPeriod-1)
		if err != nil {
			return fmt.Errorf("set %d: %w", r.sets+1, err)
		}
		c.forgetCuts()
		trials := f.trials(generator.Probes(world))
		wrong, err := f.check(world, trials)
		if err != nil {
			return fmt.Errorf("set %d: %w", r.sets+1, err)
		}
		r.sets, r.probes, r.wrong = r.sets+1, r.probes+len(trials), r.wrong+len(wrong)+len(lost)
		if len(lost) > 0 {
			explainOpen(r.sets, c, world, lost)
		}
		if len(wrong) > 0 {
			explain(r.sets, c, f, world, wrong)
		}
		open.open(f)
		next := generator.Next()
		if err := c.change(ctx, world, next); err != nil {
			return err
		}
		world = next
	}
	return nil
}

// start starts everything. It ends with t.
func start(ctx context.Context, t ovstest.TB, world *policy.World) (*cluster, *fabric, error) {
	dir, err := os.MkdirTemp("", "truthtable")
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f, err := newFabric(t, world)
	if err != nil {
		return nil, nil, err
	}
	var all []nodeSwitch
	for _, n := range f.Nodes {
		bridge := of.NewSwitch(n.OVS.MgmtSocket(switchpair.BridgeName))
		flows, err := n.StartPipelineOf(ctx, bridge, openflow.RoundInfo{RoundNum: 1}, featuresOf(n))
		if err != nil {
			return nil, nil, err
		}
		t.Cleanup(func() { _ = flows.Disconnect() })
		install := n.InstallUnmarkedPods
		if featuresOf(n).ONCache {
			install = n.InstallPods
		}
		if err := install(flows, places(world.Pods)); err != nil {
			return nil, nil, err
		}
		all = append(all, nodeSwitch{n.Identity, bridge, flows, newConnections(n, bridge)})
	}
	if err := f.WaitWire(); err != nil {
		return nil, nil, err
	}
	c, err := newCluster(ctx, world, all, dir)
	t.Cleanup(c.stop)
	return c, f, err
}

// check runs the trials and returns the trials whose outcome contradicts the specification.
func (f *fabric) check(world *policy.World, trials []*trial) (wrong []*trial, err error) {
	for _, t := range trials {
		t.want = world.Opinion(t.Probe)
	}
	if err := f.run(trials); err != nil {
		return nil, err
	}
	for _, t := range trials {
		if !t.right(f) {
			wrong = append(wrong, t)
		}
	}
	return wrong, nil
}

// explain prints a set of policies and the trials that went wrong.
func explain(set int, c *cluster, f *fabric, world *policy.World, wrong []*trial) {
	fmt.Printf("set %d:\n", set)
	describe(world)
	for i, t := range wrong {
		fmt.Printf("set %d: %v: want %v; it was %s; the agents' rules say allowed=%t\n", set, t, t.want, t.outcome(f), c.allows(t.Probe))
		egress, ingress := c.verdicts(t.Probe)
		fmt.Printf("\tegress: want %v, the agent says %s\n", world.OpinionOf(t.Probe, networkingv1.PolicyTypeEgress), c.decision(t.From.Node, egress))
		fmt.Printf("\tingress: want %v, the agent says %s\n", world.OpinionOf(t.Probe, networkingv1.PolicyTypeIngress), c.decision(t.To.Node, ingress))
		if i < mostTraces {
			fmt.Println(f.trace(t))
		}
	}
}
