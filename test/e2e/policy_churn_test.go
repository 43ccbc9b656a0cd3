// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/policy"
)

const (
	// openingPace is the time between two new connections.
	openingPace = 4 * time.Millisecond
	// talkPace is the time between two packets of an established connection.
	talkPace = 20 * time.Millisecond
	// watched is the number of new connections that are attempted after a change is enforced.
	watched = 300
	// staleLimit is the time after the OpenFlow barrier for which former rules may still apply to a packet with the
	// gate on.
	staleLimit = 10 * time.Millisecond
)

// testPolicyChurn changes policies, labels and Pods at random and kills agents, while new connections are attempted and old
// ones continue. E2E_CHURN_CHANGES is the number of changes, E2E_CHURN_KILLS how often an agent is killed at a random
// moment. With more kills than changes each change has several, most of them before the killed agent has processed the change.
func testPolicyChurn(t *testing.T, s *suite) {
	rng := seeded(t)
	c := &churn{generator: policy.NewGenerator(rng), rng: rng}
	world := c.generator.Next()
	world.Policies = nil
	c.f = newField(t, s, world)
	c.w = newWorlds(t, c.f)
	c.o = &observer{f: c.f, absent: map[string][]span{}}
	c.change(t, "no policies", world, false, nil)
	c.establish(t, world)
	c.lostBefore, c.rewrittenBefore = c.f.lostUpcalls(t), c.f.sent(t).RewrittenHits
	stop := c.traffic(t)
	changes, kills := amount(t, "E2E_CHURN_CHANGES", 4, 60), amount(t, "E2E_CHURN_KILLS", 1, 10)
	begin := time.Now()
	for i := range changes {
		c.step(t, (i+1)*kills/changes-i*kills/changes)
	}
	stop()
	c.report(t, changes, kills, time.Since(begin))
}

// churn is the state of the test.
type churn struct {
	generator *policy.Generator
	rng       *rand.Rand
	f         *field
	w         *worlds
	o         *observer
	names     int
	thirdNode bool
	// removeNode removes it.
	removeNode func()
	open       []*talker

	// lostBefore is lostUpcalls before the traffic, rewrittenBefore the number of rewritten packets.
	lostBefore      int
	rewrittenBefore uint64

	mu sync.Mutex
	// tried are the probes for which new connections are made.
	tried []*policy.Probe
}

// talker is an established connection.
type talker struct {
	*attempt
	sent int
}

// establish opens connections that last to the end, between Pods that stay, most of them through a Service.
func (c *churn) establish(t *testing.T, world *policy.World) {
	t.Helper()
	var attempts []*attempt
	for i, ends := range [][2]int{{0, 1}, {1, 2}, {3, 4}, {0, 4}, {5, 1}, {6, 7}} {
		attempts = append(attempts, c.f.attempt(&policy.Probe{
			From: world.Pods[ends[0]], To: world.Pods[ends[1]], IPv6: i%2 == 1 && c.f.s.hasFamily(true), Protocol: corev1.ProtocolUDP, Port: 8080,
		}))
	}
	c.f.throughServices(t, 0, slices.Concat(attempts[:2], attempts[3:5]))
	for _, a := range c.f.tryAll(t, world, attempts) {
		c.open = append(c.open, &talker{attempt: a})
	}
	require.Len(t, c.open, len(attempts))
	c.f.talk(t, attempts)
}

// traffic opens new connections and keeps the established ones busy until stop is called.
func (c *churn) traffic(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	every := func(pace time.Duration, do func() error) {
		running.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if err := do(); err != nil {
					t.Errorf("traffic: %v", err)
					return
				}
			}
		})
	}
	dice := rand.New(rand.NewPCG(c.rng.Uint64(), 0))
	every(openingPace, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.tried) == 0 {
			return nil
		}
		a := c.f.attempt(c.tried[dice.IntN(len(c.tried))])
		c.o.tried(a)
		return c.f.open(a)
	})
	every(talkPace, func() error {
		for _, k := range c.open {
			if err := c.f.data(k.attempt, dataRounds+k.sent%6, k.sent%2 == 1); err != nil {
				return err
			}
			k.sent++
		}
		return nil
	})
	return sync.OnceFunc(func() { cancel(); running.Wait() })
}

// step makes one change at random, and kills agents at random moments during it.
func (c *churn) step(t *testing.T, kills int) {
	t.Helper()
	before := c.w.current
	next, what, replaced := c.nextWorld(before)
	node := c.rng.IntN(2) == 0
	if node {
		what += ", " + map[bool]string{false: "a Node joins", true: "a Node leaves"}[c.thirdNode]
	}
	if kills > 0 {
		what += fmt.Sprintf(", agents killed %d times", kills)
	}
	c.prepare(before, next)
	c.change(t, what, next, kills > 0, func() {
		if replaced != nil {
			c.replace(t, replaced)
		}
		if node {
			c.toggleNode(t)
		}
		c.kill(t, kills)
	})
	if replaced != nil {
		c.o.present(podKey(replaced))
	}
	c.watch(t)
}

// nextWorld changes a policy, a Namespace or a Pod at random and describes the change. replaced is the Pod to delete and create again,
// if there is one.
func (c *churn) nextWorld(before *policy.World) (next *policy.World, what string, replaced *policy.Pod) {
	fresh := c.generator.Next()
	next = &policy.World{Namespaces: maps.Clone(before.Namespaces), Pods: slices.Clone(before.Pods), Policies: slices.Clone(before.Policies)}
	switch kind := c.rng.IntN(10); {
	case kind < 5 || len(next.Policies) == 0:
		if len(next.Policies) > 5 {
			next.Policies = slices.Delete(next.Policies, 0, 1)
		}
		for len(fresh.Policies) == 0 {
			fresh = c.generator.Next()
		}
		p := fresh.Policies[0]
		c.names++
		p.Name = fmt.Sprintf("churn-%d", c.names)
		next.Policies = append(next.Policies, p)
		what = "policy " + p.Name
	case kind < 7:
		i := c.rng.IntN(len(next.Policies))
		what = "policy " + next.Policies[i].Name + " removed"
		next.Policies = slices.Delete(next.Policies, i, i+1)
	case kind == 7:
		next.Namespaces["ns1"] = fresh.Namespaces["ns1"]
		what = "Namespace labelled"
	default:
		i := c.rng.IntN(len(next.Pods))
		pod := *next.Pods[i]
		pod.Labels = fresh.Pods[i].Labels
		what = "Pod labelled"
		if kind == 9 && i >= 8 { // policies of ns2 have no established connections
			what, replaced = "Pod replaced", &pod
			if c.rng.IntN(2) == 0 {
				what, pod.Node = "Pod replaced on the other Node", c.f.s.otherNode(pod.Node)
			}
		}
		next.Pods[i] = &pod
	}
	return next, what, replaced
}

// prepare attempts connections that the change forbids, and some others, and returns when the former have megaflows.
func (c *churn) prepare(before, next *policy.World) {
	var forbidden, others []*policy.Probe
	for _, p := range c.f.probes(c.generator, before) {
		switch {
		case before.Allowed(p) && !next.Allowed(p):
			forbidden = append(forbidden, p)
		case len(others) < 10:
			others = append(others, p)
		}
	}
	const most = 15
	forbidden = forbidden[:min(len(forbidden), most)]
	var first []expected
	for _, p := range forbidden {
		a := c.f.attempt(p)
		c.o.tried(a)
		if c.f.open(a) == nil {
			first = append(first, expected{a, a.id, a.To})
		}
	}
	c.f.await(first)
	c.mu.Lock()
	c.tried = append(forbidden, others...)
	c.mu.Unlock()
}

// change applies a world and records when it was realized and enforced. meanwhile is called once the API has it; killed is
// set when meanwhile kills agents.
func (c *churn) change(t *testing.T, what string, next *policy.World, killed bool, meanwhile func()) {
	t.Helper()
	entry := c.o.change(next, what, killed)
	c.w.apply(t, next)
	if meanwhile != nil {
		meanwhile()
	}
	c.w.settle(t)
	realized, enforced := entry.begun, entry.begun
	for _, n := range c.f.s.Nodes {
		switchAt, datapathAt := c.w.lastChange(t, n, entry.begun)
		realized, enforced = latest(realized, switchAt), latest(enforced, datapathAt)
	}
	c.o.mu.Lock()
	entry.realized, entry.enforced = realized, enforced
	c.o.mu.Unlock()
	printer.Printf("%s: %s: realized after %s, enforced after %s", t.Name(), what,
		realized.Sub(entry.begun).Round(time.Millisecond), enforced.Sub(entry.begun).Round(time.Millisecond))
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lastChange returns when the agent of a Node last logged that it has changed policies other than markers on the switch,
// and that the datapath follows them. It returns zero Times if nothing had to be changed since begun.
func (w *worlds) lastChange(t *testing.T, n *cluster.Node, begun time.Time) (realized, enforced time.Time) {
	t.Helper()
	changes, err := realizations(n, begun)
	require.NoError(t, err)
	for _, r := range changes {
		switch others := slices.ContainsFunc(r.policies, func(uid string) bool { return !slices.Contains(w.uids, uid) }); {
		case others && r.enforced:
			enforced = r.at
		case others:
			realized = r.at
		}
	}
	return realized, enforced
}

// watch returns when enough new connections have been attempted after a change.
func (c *churn) watch(t *testing.T) {
	t.Helper()
	before := c.o.count()
	eventually(t, "new connections to be tried", func() error {
		if got := c.o.count() - before; got < watched {
			return fmt.Errorf("%d of %d", got, watched)
		}
		return nil
	})
}

// report prints and judges the results.
func (c *churn) report(t *testing.T, changes, kills int, took time.Duration) {
	t.Helper()
	for _, k := range c.open {
		eventually(t, "all packets of "+k.String(), func() error {
			if got := c.received(k); got != k.sent {
				return fmt.Errorf("%d of %d have arrived", got, k.sent)
			}
			return nil
		})
	}
	r := c.o.findings()
	// The last packets may still be on their way.
	for begin := time.Now(); len(r.lost) > 0 && time.Since(begin) < execTimeout; r = c.o.findings() {
		<-time.After(100 * time.Millisecond)
	}
	sent := 0
	for _, k := range c.open {
		sent += k.sent
	}
	starved, rewritten := c.f.lostUpcalls(t)-c.lostBefore, c.f.sent(t).RewrittenHits-c.rewrittenBefore
	printer.Printf("%s: %d changes and %d kills in %s: %d new connections, %d of them possible; %d wrong, %d lost (upcalls lost: %d); %d packets of established connections, none lost, %d of them rewritten",
		t.Name(), changes, kills, took.Round(time.Second), r.tried, r.arrived, len(r.wrong), len(r.lost), starved, sent, rewritten)
	require.Equal(t, c.f.s.rewrites, rewritten > 0, "%d packets were rewritten", rewritten)
	printer.Printf("%s: last stale packet sent after the barrier, over %d changes that forbade something: p50 %s, p99 %s, p99.9 %s, max %s", t.Name(), len(r.stale),
		quantile(r.stale, .5), quantile(r.stale, .99), quantile(r.stale, .999), quantile(r.stale, 1))
	printer.Printf("%s: the same without the changes in which agents were killed: %d changes, max %s", t.Name(), len(r.undisturbed), quantile(r.undisturbed, 1))
	const shown = 20
	require.Empty(t, r.wrong[:min(len(r.wrong), shown)])
	require.Empty(t, r.lost[:min(len(r.lost), shown)])
	const enough = 20 // changes, some of which forbid something
	if c.f.s.oncache {
		if changes >= enough {
			require.NotEmpty(t, r.undisturbed)
		}
		require.LessOrEqual(t, quantile(r.undisturbed, 1), staleLimit, "%v", r.undisturbed)
	}
}

// received returns how many packets of an established connection have arrived since the traffic keeps it busy.
func (c *churn) received(k *talker) (n int) {
	for i := range 6 {
		there, _ := c.f.count(k.id+1+dataRounds+uint32(i), k.To)
		back, _ := c.f.count(k.id+1+dataRounds+uint32(i), k.From)
		n += there + back
	}
	return n
}
