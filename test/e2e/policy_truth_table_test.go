// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/policy"
)

const (
	// dataRounds is the number of packets that each end of a connection sends after it is open: the first ones teach
	// the cache.
	dataRounds = 6

	// rewrittenRounds is the number of further packets of each end of some connections where hits are rewritten: a key
	// is given at the 17th hit. Their numbers begin with firstRewritten, behind all others.
	rewrittenRounds = 32
	firstRewritten  = 16

	// burst is the number of connections that send at a time. Open vSwitch loses packets of new flows when their queue
	// to ovs-vswitchd is full, on an emulated machine some of five hundred. Retries are too slow: connection tracking
	// forgets an unanswered SCTP connection after 3 s, a UDP one after 30 s.
	burst = 32
)

// amount returns a number from the environment. The default is small, or large with `make suite S=e2e-all`.
func amount(t *testing.T, variable string, small, large int) int {
	if all {
		small = large
	}
	return number(t, variable, small)
}

// number returns a number from the environment, or the default usual.
func number(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "%s must be a number", variable)
	return n
}

// seeded returns the test's random numbers, which E2E_SEED makes reproducible.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(number(t, "E2E_SEED", 0))
	if seed == 0 {
		seed = rand.Uint64()>>1 + 1
	}
	printer.Printf("%s: E2E_SEED=%d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// testPolicyTruthTable compares the fate of connections under random policies with the specification, like make
// test-policy, but in the kernel's datapath and with the cache. After each change, packets of earlier connections, which
// the cache knows, must be treated as new ones once connection tracking has forgotten them: entries learned before a change
// must not be used after it.
func testPolicyTruthTable(t *testing.T, s *suite) {
	generator := policy.NewGenerator(seeded(t))
	world := generator.Next()
	f := newField(t, s, world)
	w := newWorlds(t, f)
	sets, probes, wrong := amount(t, "E2E_POLICY_SETS", 1, 10), 0, 0
	rewritten := f.sent(t).RewrittenHits
	var before []*attempt
	removeServices := func() {}
	for set := range sets {
		begin := time.Now()
		w.show(t, world)
		realized := time.Now()
		s.forgetConnections(t)
		again := f.repeat(t, world, before)

		var attempts []*attempt
		for _, p := range f.probes(generator, world) {
			attempts = append(attempts, f.attempt(p))
		}
		removeServices() // after the last packet of their connections
		var some []*attempt
		for i, a := range attempts {
			if i%2 == 0 && slices.Index(world.Pods, a.To)%2 == 1 {
				some = append(some, a)
			}
		}
		removeServices = f.throughServices(t, set, some)
		answered := f.tryAll(t, world, attempts)
		fast := f.talk(t, answered)
		wrong += f.judge(t, world, again, 1+dataRounds) + f.judge(t, world, attempts, 0)
		probes += len(again) + len(attempts)
		printer.Printf("%s: set %d: %d repeated and %d new connections, %d of them through a Service, %d allowed, %d packets on the fast path; realized in %s, tried in %s",
			t.Name(), set+1, len(again), len(attempts), len(some), len(answered), fast, realized.Sub(begin).Round(time.Millisecond), time.Since(realized).Round(time.Millisecond))
		before = answered
		world = generator.Next()
	}
	rewritten = f.sent(t).RewrittenHits - rewritten
	printer.Printf("%s: policy: sets=%d probes=%d wrong=%d rewritten=%d", t.Name(), sets, probes, wrong, rewritten)
	require.Zero(t, wrong)
	require.Equal(t, s.rewrites, rewritten > 0, "%d packets were rewritten", rewritten)
}

// tryAll opens connections and answers those that have reached their server.
func (f *field) tryAll(t *testing.T, world *policy.World, attempts []*attempt) (answered []*attempt) {
	t.Helper()
	for some := range slices.Chunk(attempts, burst) {
		var openings, answers []expected
		for _, a := range some {
			require.NoError(t, f.open(a))
			if world.Allowed(a.Probe) {
				openings = append(openings, expected{a, a.id, a.To})
			}
		}
		f.await(openings)
		for _, a := range some {
			if there, elsewhere := f.count(a.id, a.To); there == 1 && elsewhere == 0 {
				require.NoError(t, f.answer(a))
				answers = append(answers, expected{a, a.id, a.From})
				answered = append(answered, a)
			}
		}
		f.requireAll(t, "answers", answers)
	}
	return answered
}

// requireAll waits until all have arrived, and fails if some have not.
func (f *field) requireAll(t *testing.T, what string, frames []expected) {
	t.Helper()
	missing := f.await(frames)
	if len(missing) == 0 {
		return
	}
	for _, e := range missing {
		t.Logf("missing: packet %d of %v, which was opened %s ago", e.number-e.id, e.attempt, time.Since(e.sent).Round(time.Millisecond))
	}
	for _, n := range f.s.Nodes {
		t.Logf("%s:\n%s", n.Name, succeeds(t, n.Space, "ovs-appctl", "dpctl/show", "-s"))
	}
	t.Fatalf("%d of %d %s are missing; upcalls lost since the start: %d", len(missing), len(frames), what, f.lostUpcalls(t))
}

// lostUpcalls counts the packets that Open vSwitch has lost on their way from its datapath to ovs-vswitchd, as happens when that gets no
// processor time for long.
func (f *field) lostUpcalls(t *testing.T) (lost int) {
	t.Helper()
	for _, n := range f.s.Nodes {
		for _, counter := range lostCounter.FindAllStringSubmatch(succeeds(t, n.Space, "ovs-appctl", "dpctl/show"), -1) {
			value, err := strconv.Atoi(counter[1])
			require.NoError(t, err)
			lost += value
		}
	}
	return lost
}

var lostCounter = regexp.MustCompile(`\blost:(\d+)`)

// talk exchanges data over open connections until the fast path, where there is one, must carry it, and returns how many
// packets the fast path has carried.
func (f *field) talk(t *testing.T, open []*attempt) (fast uint64) {
	t.Helper()
	var cacheable []*attempt
	cached := 0
	for _, a := range open {
		if isCacheable(a) {
			cacheable = append(cacheable, a)
			if f.s.carries(a.From.Node == a.To.Node) {
				cached++
			}
		}
	}
	before := f.sent(t).Hits
	f.exchange(t, cacheable, 0, dataRounds)
	fast = f.sent(t).Hits - before
	if f.s.oncache {
		// In each direction the first packet is only noted, the second one teaches, and the third one may still prove that
		// both directions are open. Later ones miss only when a lease has ended, which happens on a slow machine.
		require.GreaterOrEqual(t, fast, uint64(cached*2), "%d connections", cached)
	} else {
		require.Zero(t, fast)
	}
	if f.s.rewrites {
		f.talkOn(t, cacheable)
	}
	return fast
}

// talkOn exchanges more data over some of the open connections between Nodes, until their packets must be rewritten. They are few, so that each
// has its next packet before a lease ends.
func (f *field) talkOn(t *testing.T, open []*attempt) {
	t.Helper()
	var between []*attempt
	for _, a := range open {
		if a.From.Node != a.To.Node && len(between) < burst {
			between = append(between, a)
		}
	}
	before := f.sent(t).RewrittenHits
	f.exchange(t, between, firstRewritten, rewrittenRounds)
	// Half of the packets are needed until both directions have keys.
	rewritten := f.sent(t).RewrittenHits - before
	printer.Printf("%s: %d packets of %d connections were rewritten", t.Name(), rewritten, len(between))
	require.GreaterOrEqual(t, rewritten, uint64(len(between)*rewrittenRounds/4))
}

// exchange lets both ends of connections send rounds packets in turn, numbered from first on.
func (f *field) exchange(t *testing.T, open []*attempt, first, rounds int) {
	t.Helper()
	for n := first; n < first+rounds; n++ {
		for _, back := range []bool{false, true} {
			for some := range slices.Chunk(open, burst) {
				var arriving []expected
				for _, a := range some {
					require.NoError(t, f.data(a, n, back))
					to := a.To
					if back {
						to = a.From
					}
					arriving = append(arriving, expected{a, a.id + 1 + uint32(n), to})
				}
				f.requireAll(t, "packets of open connections", arriving)
			}
		}
	}
}

// sent returns the outcome of the packets from the Pods of both Nodes: Hits took the fast path.
func (f *field) sent(t *testing.T) (both api.DirectionStats) {
	t.Helper()
	if !f.s.oncache {
		return both
	}
	for _, n := range f.s.Nodes {
		sent := oncacheStatus(t, n).Egress
		both.Hits += sent.Hits
		both.RewrittenHits += sent.RewrittenHits
	}
	return both
}

// repeat sends one more packet from the client in connections that were open. It returns those connections.
func (f *field) repeat(t *testing.T, world *policy.World, open []*attempt) (repeated []*attempt) {
	t.Helper()
	for some := range slices.Chunk(open, burst) {
		var arriving []expected
		for _, a := range some {
			if a.Protocol == corev1.ProtocolSCTP {
				continue
			}
			require.NoError(t, f.data(a, dataRounds, false))
			repeated = append(repeated, a)
			if world.Allowed(a.Probe) {
				arriving = append(arriving, expected{a, a.id + 1 + dataRounds, a.To})
			}
		}
		f.await(arriving)
	}
	return repeated
}

// judge returns the number of attempts whose packets differ from the specification: the first packets, or the packets
// with the number after them.
func (f *field) judge(t *testing.T, world *policy.World, attempts []*attempt, after uint32) (wrong int) {
	t.Helper()
	for _, a := range attempts {
		allowed := world.Allowed(a.Probe)
		want := 0
		if allowed {
			want = 1
		}
		there, elsewhere := f.count(a.id+after, a.To)
		if after == 0 && there == 1 {
			answers, _ := f.count(a.id, a.From) // the answer has the same number
			elsewhere -= min(answers, 1)
		}
		if there != want || elsewhere > 0 {
			t.Errorf("%v: allowed=%t, packet %d arrived there %d times, elsewhere %d times", a, allowed, after, there, elsewhere)
			wrong++
		}
	}
	if wrong > 0 {
		t.Logf("%s", describeWorld(world))
	}
	return wrong
}
