// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

const (
	// killWindow is the period after the beginning of a change, or after an agent's start, within which the agent is killed.
	killWindow = 300 * time.Millisecond
	// inTransit is the number of connections that are tried at once during a change and a kill.
	inTransit = 60
	// talkers is the number of connections that stay established for the whole run.
	talkers = 12
)

// killResult counts the new connections that were tried during a change and a kill (transit) and after it (settled), and the packets
// of established connections. rejected is the number of new connections that were answered so, refused the number of changes to worlds with a policy
// that Open vSwitch refuses.
type killResult struct{ kills, changes, refused, transit, settled, rejected, established, wrong, lost int }

func (r killResult) String() string {
	return fmt.Sprintf("kills=%d changes=%d refused=%d transit=%d settled=%d rejected=%d established=%d wrong=%d lost=%d", r.kills, r.changes, r.refused, r.transit, r.settled, r.rejected, r.established, r.wrong, r.lost)
}

// killing is a cluster whose agents are processes that are killed.
type killing struct {
	c      *cluster
	f      *fabric
	agents []*agentProcess
	// stopServing makes antrea-controller unreachable for the agent with the same index.
	stopServing []func()
	rng         *rand.Rand
	generator   *policy.Generator
	open        []*trial
	// answers counts what agents may have answered to the rejected packets of each port.
	answers *share.Limiter[*switchpair.Port]
	r       *killResult
}

// runKills changes policies and labels and kills agents at random moments of a change, also while they start again. Established
// connections must not lose packets. New ones must be treated according to the world after the change once it is realized. A change
// of a single policy is atomic: during it, each new connection must be treated according to the world before or the one after. An agent that is
// killed may owe the answers to rejected packets.
func runKills(ctx context.Context, t ovstest.TB, kills int, seed uint64, r *killResult) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	k := &killing{rng: rng, generator: policy.NewAntreaGenerator(policy.NewGenerator(rng)), r: r}
	world := k.generator.Next()
	world.Policies, world.ClusterNetworkPolicies, world.AntreaNetworkPolicies, world.AdminPolicies = nil, nil, nil, nil
	if err := k.start(ctx, t, world); err != nil {
		return err
	}
	if err := k.establish(world); err != nil {
		return err
	}
	if err := k.learnNames(ctx, world); err != nil {
		return err
	}
	for r.kills < kills {
		next, exact := k.next(world)
		if len(next.Refused) > 0 {
			r.refused++
		}
		if err := k.change(ctx, world.WithNames(), next.WithNames(), exact); err != nil {
			return fmt.Errorf("after %d kills: %w", r.kills, err)
		}
		world = next
	}
	return nil
}

func (k *killing) start(ctx context.Context, t ovstest.TB, world *policy.World) error {
	dir, err := os.MkdirTemp("", "kills")
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if k.f, err = newFabric(t, world); err != nil {
		return err
	}
	k.answers = share.New[*switchpair.Port](clock.RealClock{})
	k.c, err = newCluster(ctx, world, nil, dir)
	t.Cleanup(k.c.stop)
	if err != nil {
		return err
	}
	for i, name := range []string{"node-1", "node-2"} {
		a := newAgentProcess(k.f.Nodes[name], filepath.Join(dir, name+".sock"), dir, world)
		k.agents, k.stopServing = append(k.agents, a), append(k.stopServing, nil)
		if err := k.serve(i); err != nil {
			return err
		}
		if err := a.start(); err != nil {
			return err
		}
		a.stopWith(t)
		if err := a.waitReady(); err != nil {
			return err
		}
	}
	if err := k.f.WaitWire(); err != nil {
		return err
	}
	return k.c.settle(ctx, k.f)
}

// serve lets an agent watch until its stopServing is called.
func (k *killing) serve(i int) (err error) {
	a := k.agents[i]
	k.stopServing[i], err = serveSource(k.c.sourceOf(a.n.Name()), a.task.Source)
	return err
}

// establish opens connections that last to the end.
func (k *killing) establish(world *policy.World) error {
	for range talkers {
		from, to := k.rng.IntN(len(world.Pods)), k.rng.IntN(len(world.Pods)-1)
		if to >= from {
			to++
		}
		probe := &policy.Probe{From: world.Pods[from], To: world.Pods[to], IPv6: k.rng.IntN(2) == 0, Protocol: corev1.ProtocolUDP, Port: 8080}
		k.open = append(k.open, k.f.trials([]*policy.Probe{probe})...)
	}
	for _, t := range k.open {
		t.want = policy.MayAllow
	}
	if err := k.f.runRound(k.open, nil); err != nil {
		return err
	}
	for _, t := range k.open {
		if !t.right(k.f) {
			return fmt.Errorf("%v, which no policy forbids, was %s", t, t.outcome(k.f))
		}
	}
	return nil
}

// next returns a World that follows another one. exact says that new connections can be judged before the change is complete: not while an agent that
// starts finds policies that Open vSwitch refuses, because what the former agent dropped may pass.
func (k *killing) next(world *policy.World) (next *policy.World, exact bool) {
	if len(world.Refused) > 0 {
		return world.WithoutRefused(), false
	}
	k.generator.Follow(world)
	next = k.generator.Next()
	step := k.rng.IntN(8)
	if k.r.refused == 0 && k.r.changes > 2 {
		step = 7 // at least once
	}
	switch step {
	case 0, 1:
		return k.onePolicy(world, next), true
	case 2, 3, 4, 5:
		return k.generator.EditAntrea(world), true
	case 7:
		return k.generator.AddRefused(world), false
	}
	return next, false
}

// learnNames adds a policy with names, and has the agents learn and save their addresses. From then on no Pod asks: agents that start again know them.
func (k *killing) learnNames(ctx context.Context, world *policy.World) error {
	named := world.WithNames()
	if err := k.c.change(ctx, world, named); err != nil {
		return err
	}
	if err := k.c.settle(ctx, k.f); err != nil {
		return err
	}
	if err := k.f.ask(named); err != nil {
		return err
	}
	for _, a := range k.agents {
		err := wait.PollUntilContextTimeout(ctx, markerPeriod, settleTimeout, true, func(context.Context) (bool, error) {
			saved, _ := os.ReadFile(filepath.Join(a.task.Dir, fqdn.FileName)) // none yet
			return strings.Count(string(saved), `"address"`) == policy.NamedAddresses, nil
		})
		if err != nil {
			return fmt.Errorf("the agent of %s has not saved the addresses of names: %w", a.n.Name(), err)
		}
	}
	return nil
}

// onePolicy returns the world with one policy more or less.
func (k *killing) onePolicy(world, fresh *policy.World) *policy.World {
	next := *world
	next.Policies = slices.Clone(world.Policies)
	if len(fresh.Policies) > 0 && len(next.Policies) < 6 {
		p := fresh.Policies[0]
		p.Name = string(p.UID) // unlike any other
		next.Policies = append(next.Policies, p)
	} else if len(next.Policies) > 0 {
		i := k.rng.IntN(len(next.Policies))
		next.Policies = slices.Delete(next.Policies, i, i+1)
	}
	return &next
}

// change turns the API's objects into the objects of the next world and kills an agent during that, perhaps a second
// time while it starts. exact says that new connections can be judged before the change is complete.
func (k *killing) change(ctx context.Context, world, next *policy.World, exact bool) error {
	victim := k.agents[k.rng.IntN(len(k.agents))]
	moments := []time.Duration{time.Duration(k.rng.Int64N(int64(killWindow)))}
	if k.rng.IntN(2) == 0 {
		moments = append(moments, time.Duration(k.rng.Int64N(int64(killWindow))))
	}
	killed := make(chan error, 1)
	go func() { killed <- victim.killAt(moments) }()
	if err := k.c.change(ctx, world, next); err != nil {
		return err
	}
	if err := k.c.setMarker(ctx); err != nil {
		return err
	}
	running := true
	for deadline := time.Now().Add(settleTimeout); ; {
		var probes []*policy.Probe
		if exact {
			probes = slices.DeleteFunc(k.sample(next), func(p *policy.Probe) bool { return !k.takeAnswers(world, next, p, false) })
		}
		if err := k.try(world, next, probes); err != nil {
			return err
		}
		k.r.transit += len(probes)
		if running {
			select {
			case err := <-killed:
				if err != nil {
					return err
				}
				running = false
			default:
			}
			continue
		}
		if victim.isReady() && k.c.marked(k.f) {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the change is not realized after %s; the agent of %s is ready: %t", settleTimeout, victim.n.Name(), victim.isReady())
		}
	}
	k.r.kills, k.r.changes = k.r.kills+len(moments), k.r.changes+1
	probes := withoutSCTP(k.generator.Probes(next))
	k.r.settled += len(probes)
	for chunk := range slices.Chunk(probes, mostAtOnce) {
		for _, p := range chunk {
			k.takeAnswers(next, next, p, true)
		}
		if err := k.try(next, next, chunk); err != nil {
			return err
		}
	}
	return nil
}

// meaning returns what the outcome of an opening packet can mean; nothing if it is wrong in any world.
func (k *killing) meaning(t *trial, agentsRun bool) policy.Opinion {
	switch {
	case t.stray != "" || len(t.arrivals) > 0 && (t.rejected || !t.delivered(k.f)):
		return 0
	case t.rejected:
		return policy.MayReject
	case len(t.arrivals) > 0:
		return policy.MayAllow
	case agentsRun:
		return policy.MayDrop
	}
	return policy.MayDeny
}

// takeAnswers reports whether the sender of a probe that may be rejected still has a share of the agent's answers, and takes two of them: agents that are
// late answer the packets of several seconds at once. With wait it waits until it has.
func (k *killing) takeAnswers(before, after *policy.World, p *policy.Probe, wait bool) bool {
	if policy.Between(before, after, p)&policy.MayReject == 0 {
		return true
	}
	for range 2 {
		for {
			if ok, _ := k.answers.Allow(k.f.port(p.From, p.To)); ok {
				break
			}
			if !wait {
				return false
			}
			time.Sleep(time.Second / share.PerSecond)
		}
	}
	return true
}

// sample returns some of the world's probes.
func (k *killing) sample(world *policy.World) []*policy.Probe {
	probes := withoutSCTP(k.generator.Probes(world))
	k.rng.Shuffle(len(probes), func(i, j int) { probes[i], probes[j] = probes[j], probes[i] })
	return probes[:inTransit]
}

// withoutSCTP removes SCTP probes: conntrack knows no ports of SCTP (see rounds), and it must not be emptied here.
func withoutSCTP(probes []*policy.Probe) []*policy.Probe {
	for _, p := range probes {
		p.SourcePort = 0 // Each connection has another one.
	}
	return slices.DeleteFunc(probes, func(p *policy.Probe) bool { return p.Protocol == corev1.ProtocolSCTP })
}

// try opens connections and judges them by two worlds, either of which may be in force; if it is one world, its agents run. It also sends packets in
// the established ones.
func (k *killing) try(before, after *policy.World, probes []*policy.Probe) error {
	for _, n := range k.f.Nodes {
		n.ForgetMegaflows()
	}
	trials := k.f.trials(probes)
	var frames []switchpair.Outgoing
	var late []switchpair.Fence
	byID := map[uint32]*trial{}
	for _, t := range trials {
		frames = append(frames, switchpair.Outgoing{At: k.f.source(t), Frame: wire.Opening(k.f.leg(t), protocolOf(t.Probe), t.id)})
		byID[t.id], t.want = t, policy.Between(before, after, t.Probe)
		if before == after && t.want == policy.MayReject {
			late = append(late, switchpair.Fence{ID: t.id, At: k.f.source(t)})
		}
	}
	const step = 3 // of the data of established connections; any one will do
	for _, t := range k.open {
		frames = append(frames, switchpair.Outgoing{At: k.f.source(t), Frame: wire.Data(k.f.leg(t), protocolOf(t.Probe), t.id, step, false)},
			switchpair.Outgoing{At: k.f.destination(t), Frame: wire.Data(k.f.legBack(t), protocolOf(t.Probe), t.id, step+1, true)})
	}
	arrived, err := k.f.Exchange(frames, late...)
	if err != nil {
		return err
	}
	k.f.takeRejections(byID, arrived)
	for _, t := range trials {
		t.arrivals = portsOf(arrived[t.id])
		if t.want&k.meaning(t, before == after) == 0 {
			k.r.wrong++
			fmt.Printf("kill %d: %v: %v before and %v after the change; it was %s\n", k.r.kills, t, before.Opinion(t.Probe), after.Opinion(t.Probe), t.opening(k.f))
		}
		if t.rejected {
			k.r.rejected++
		}
	}
	for _, t := range k.open {
		k.r.established += 2
		if !slices.Equal(portsOf(arrived[t.id+1+step]), []*switchpair.Port{k.f.destination(t)}) || !slices.Equal(portsOf(arrived[t.id+2+step]), []*switchpair.Port{k.f.source(t)}) {
			k.r.lost++
			fmt.Printf("kill %d: %v, which is established, has lost a packet\n", k.r.kills, t)
		}
	}
	return nil
}
