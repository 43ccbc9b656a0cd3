// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var errRefused = &of.FlowError{Flow: "the flow", Err: errors.New("the message has 70000 bytes")}

// badPort is the port of rules that refuseBad refuses.
const badPort = 666

func refuseBad(install []*policy.Rule) error {
	return failing(install, errRefused, func(r *policy.Rule) bool {
		return slices.ContainsFunc(r.Services, func(s policy.Service) bool { return s.Port == badPort })
	})
}

func failing(install []*policy.Rule, err error, bad func(*policy.Rule) bool) error {
	if slices.ContainsFunc(install, bad) {
		return err
	}
	return nil
}

func bad(rule func(v1beta2.NetworkPolicyPeer, ...v1beta2.Service) v1beta2.NetworkPolicyRule) v1beta2.NetworkPolicyRule {
	return rule(block(everything), service(v1beta2.ProtocolTCP, badPort))
}

// requireProblems compares the reported policies.
func (b *bench) requireProblems(want ...string) []problem.Problem {
	b.t.Helper()
	problems, _ := b.problems.List()
	names := []string{}
	for _, p := range problems {
		require.Equal(b.t, PolicyNotRealized, p.Reason)
		require.Equal(b.t, p.Subject.Name, p.Subject.UID)
		names = append(names, p.Subject.String())
	}
	require.Equal(b.t, append([]string{}, want...), names)
	return problems
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// newBenchWith has the Pods a1 and b1 in the AppliedToGroups a and b.
func newBenchWith(t *testing.T) *bench {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	b.store.AddInterface(iface("b1", "b1", 2, "10.0.0.2"))
	b.set(appliedToGroup("a", memberOf("a1")), appliedToGroup("b", memberOf("b1")))
	return b
}

func TestRefusedPolicy(t *testing.T) {
	const good, isolated = "Ingress [b1@2] peers [0.0.0.0/0] services []", "Egress [a1@1] peers [] services []"
	b := newBenchWith(t)
	b.flows.fail = refuseBad
	b.set(networkPolicy("bad", "a", bad(out)), networkPolicy("good", "b", in(block(everything))))
	b.requireRules(good, isolated)
	require.True(t, isClosed(b.Synced()), "one policy does not keep the agent from becoming ready")
	require.True(t, b.flows.replaced, "the rules of former rounds are gone")
	message := b.requireProblems("NetworkPolicy ns/bad")[0].Message
	require.Contains(t, message, `"the flow": the message has 70000 bytes; its Pods are isolated on this Node`)
	require.NoError(t, b.realize())
	require.False(t, b.Enforced("bad"))

	bundles := b.flows.bundles
	require.NoError(t, b.PodArrives(iface("b1", "b1", 3, "10.0.0.2")))
	require.Equal(t, bundles+1, b.flows.bundles, "it costs other Pods nothing")
	b.set(appliedToGroup("a", memberOf("a1"), memberOf("a2")))
	require.NoError(t, b.PodArrives(iface("a2", "a2", 4, "10.0.0.4")))
	require.Equal(t, bundles+2, b.flows.bundles, "its own Pods neither")
	b.requireRules("Ingress [b1@3] peers [0.0.0.0/0] services []", "Egress [a1@1 a2@4] peers [] services []")

	t.Run("edited", func(t *testing.T) {
		b.set(networkPolicy("bad", "a", out(block("10.0.0.0/8"))))
		b.requireRules("Ingress [b1@3] peers [0.0.0.0/0] services []", "Egress [a1@1 a2@4] peers [10.0.0.0/8] services []")
		b.requireProblems()
	})
	t.Run("gone", func(t *testing.T) {
		b.set(networkPolicy("bad", "a", bad(out)))
		require.NoError(t, b.realize())
		b.requireProblems("NetworkPolicy ns/bad")
		b.delete(networkPolicy("bad", "a"))
		b.requireRules("Ingress [b1@3] peers [0.0.0.0/0] services []")
		b.requireProblems()
	})
}

// The realized part of a policy stays in force unless the present version contradicts it; everything else is closed.
func TestRefusedVersion(t *testing.T) {
	begin := func(t *testing.T) *bench {
		b := newBenchWith(t)
		b.set(appliedToGroup("a", memberOf("a1"), memberOf("a2")), addressGroup("peers", memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2")),
			networkPolicy("np", "a", in(groups("peers"))))
		b.store.AddInterface(iface("a2", "a2", 5, "10.0.0.5"))
		b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.1 10.0.1.2] services []")
		b.flows.fail = refuseBad
		return b
	}
	t.Run("other rules", func(t *testing.T) {
		b := begin(t)
		b.set(networkPolicy("np", "a", in(groups("peers")), bad(out)))
		b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.1 10.0.1.2] services []", "Ingress [a1@1 a2@5] peers [] services []", "Egress [a1@1 a2@5] peers [] services []")
		b.set(addressGroup("peers", memberOf("p2", "10.0.1.2"), memberOf("p3", "10.0.1.3")))
		b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.2] services []", "Ingress [a1@1 a2@5] peers [] services []", "Egress [a1@1 a2@5] peers [] services []")
	})
	for name, version := range map[string]*v1beta2.NetworkPolicy{
		"refused": networkPolicy("np", "a", bad(in)), "invalid": networkPolicy("np", "a", in(block(everything), service(v1beta2.ProtocolTCP, 65536))),
	} {
		t.Run("peers of the former version leave, "+name, func(t *testing.T) {
			b := begin(t)
			b.set(version)
			b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.1 10.0.1.2] services []", "Ingress [a1@1 a2@5] peers [] services []")
			b.set(addressGroup("peers", memberOf("p2", "10.0.1.2"), memberOf("p3", "10.0.1.3")))
			b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.2] services []", "Ingress [a1@1 a2@5] peers [] services []")
			b.delete(addressGroup("peers"))
			b.requireRules("Ingress [a1@1 a2@5] peers [] services []", "Ingress [a1@1 a2@5] peers [] services []")
		})
	}
	t.Run("other Pods", func(t *testing.T) {
		b := begin(t)
		b.set(networkPolicy("np", "a", bad(in)))
		b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.1 10.0.1.2] services []", "Ingress [a1@1 a2@5] peers [] services []")
		b.set(appliedToGroup("a", memberOf("a2"), memberOf("b1")))
		b.requireRules("Ingress [a2@5] peers [10.0.1.1 10.0.1.2] services []", "Ingress [a2@5 b1@2] peers [] services []")
		b.store.AddInterface(iface("a2", "a2", 7, "10.0.0.7"))
		b.requireRules("Ingress [a2@7 b1@2] peers [] services []")
		b.store.DeleteInterface(iface("a2", "a2", 7))
		b.store.DeleteInterface(iface("b1", "b1", 2))
		b.requireRules()
	})
	t.Run("former version again", func(t *testing.T) {
		b := begin(t)
		b.set(networkPolicy("np", "a", bad(in)))
		require.NoError(t, b.realize())
		b.set(networkPolicy("np", "a", in(groups("peers"))))
		b.requireRules("Ingress [a1@1 a2@5] peers [10.0.1.1 10.0.1.2] services []")
		b.requireProblems()
	})
	t.Run("takes over from another policy", func(t *testing.T) {
		b := begin(t)
		open := false
		b.flows.fail = func(install []*policy.Rule) error {
			open = open || len(b.flows.rules) == 0
			return refuseBad(install)
		}
		b.delete(networkPolicy("np", ""))
		b.set(networkPolicy("zz", "a", bad(in)))
		b.requireRules("Ingress [a1@1 a2@5] peers [] services []")
		require.False(t, open, "at no time is a Pod without both")
	})
}

// While the switch is asked about a policy, a second one is deleted and a third one replaces it.
func TestPolicyIsReplacedDuringSeparation(t *testing.T) {
	b := newBenchWith(t)
	b.set(networkPolicy("former", "a", in(block("10.0.0.0/8"))))
	b.requireRules("Ingress [a1@1] peers [10.0.0.0/8] services []")
	open, replaced := false, false
	b.flows.fail = func(install []*policy.Rule) error {
		open = open || !slices.ContainsFunc(slices.Collect(maps.Values(b.flows.rules)), func(r *policy.Rule) bool { return r.AppliedTo[0].InterfaceName == "a1" })
		err := refuseBad(install)
		if err != nil && !replaced {
			replaced = true
			b.set(networkPolicy("later", "a", in(block("10.1.0.0/16"))))
			b.delete(networkPolicy("former", ""))
		}
		return err
	}
	b.set(networkPolicy("former", "a", in(block("10.2.0.0/16"))), networkPolicy("bad", "b", bad(in)))
	require.NoError(t, b.realize())
	require.True(t, replaced)
	b.requireRules("Ingress [a1@1] peers [10.1.0.0/16] services []", "Ingress [b1@2] peers [] services []")
	require.False(t, open, "at no time is a Pod without both")
}

// At start, while rules of former rounds are in force, no caller may take the isolation for the complete rules: connections
// would be cut.
func TestNothingIsAnnouncedOnTop(t *testing.T) {
	b := newBenchWith(t)
	b.flows.fail = refuseBad
	var announced []bool
	b.OnRealized(func() { announced = append(announced, b.flows.replaced) })
	b.set(networkPolicy("bad", "a", bad(in)), networkPolicy("good", "b", in(block(everything))))
	require.NoError(t, b.realize())
	require.Equal(t, []bool{true}, announced)
	require.Len(t, b.realizedSome, 1)
}

// The switch refuses even the isolation: Pods of this policy are not started, other Pods are.
func TestRefusedIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchWith(t)
		refuse := func(bad func(*policy.Rule) bool) {
			b.flows.fail = func(install []*policy.Rule) error { return failing(install, errRefused, bad) }
		}
		refuse(func(r *policy.Rule) bool { return r.Direction == policy.Egress })
		b.set(networkPolicy("bad", "a", out(block(everything))), networkPolicy("good", "b", in(block(everything))))
		b.requireRules("Ingress [b1@2] peers [0.0.0.0/0] services []")
		require.True(t, isClosed(b.Synced()))
		require.Contains(t, b.requireProblems("NetworkPolicy ns/bad")[0].Message, "not isolated either")
		bundles := b.flows.bundles
		require.NoError(t, b.PodArrives(iface("b1", "b1", 3, "10.0.0.2")))
		require.ErrorContains(t, b.PodArrives(iface("a1", "a1", 4, "10.0.0.1")), "NetworkPolicy ns/bad can neither be realized nor be replaced by isolation")
		require.ErrorIs(t, b.PodArrives(iface("a1", "a1", 4, "10.0.0.1")), errRefused)
		var lasting interface{ Lasting() bool }
		require.ErrorAs(t, b.PodArrives(iface("a1", "a1", 4, "10.0.0.1")), &lasting)
		require.True(t, lasting.Lasting())
		require.Equal(t, bundles+1, b.flows.bundles)

		refuse(func(r *policy.Rule) bool { return r.Direction == policy.Egress && len(r.Peers) > 0 })
		time.Sleep(minRefusalDelay)
		b.requireRules("Ingress [b1@3] peers [0.0.0.0/0] services []", "Egress [a1@4] peers [] services []")
		require.NotContains(t, b.requireProblems("NetworkPolicy ns/bad")[0].Message, "not isolated either")
		require.NoError(t, b.PodArrives(iface("a1", "a1", 4, "10.0.0.1")))

		b.flows.fail = nil
		time.Sleep(2 * minRefusalDelay)
		b.requireRules("Ingress [b1@3] peers [0.0.0.0/0] services []", "Egress [a1@4] peers [0.0.0.0/0] services []")
		b.requireProblems()
	})
}

func TestRefusedPolicyIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchWith(t)
		var attempts []time.Duration
		began := time.Now()
		b.flows.fail = func(install []*policy.Rule) error {
			err := refuseBad(install)
			if err != nil {
				attempts = append(attempts, time.Since(began))
			}
			return err
		}
		b.set(networkPolicy("bad", "a", bad(in)))
		b.watchers = nil
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go b.Run(ctx)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111}, seconds(attempts))
		require.Len(t, b.requireProblems("NetworkPolicy ns/bad"), 1)
		b.flows.mu.Lock()
		b.flows.fail = nil
		b.flows.mu.Unlock()
		time.Sleep(maxRefusalDelay)
		synctest.Wait()
		require.Equal(t, []string{"Ingress [a1@1] peers [0.0.0.0/0] services [6:666/ffff]"}, b.flows.text())
		b.requireProblems()
	})
}

func seconds(times []time.Duration) []time.Duration {
	var rounded []time.Duration
	for _, t := range times {
		rounded = append(rounded, t/time.Second)
	}
	return rounded
}

func TestPolicyThatMakesNoSense(t *testing.T) {
	protocol, port, end := v1beta2.Protocol("GRE"), service(v1beta2.ProtocolTCP, 100), int32(99)
	port.EndPort = &end
	const inward, outward, good = "Ingress [a1@1] peers [] services []", "Egress [a1@1] peers [] services []", "Egress [b1@2] peers [0.0.0.0/0] services []"
	const former = "Ingress [a1@1] peers [10.0.0.0/8] services []"
	for _, test := range []struct {
		name     string
		rule     v1beta2.NetworkPolicyRule
		isolated []string
	}{
		{"protocol", in(block(everything), v1beta2.Service{Protocol: &protocol}), []string{inward}},
		{"range", out(block(everything), port), []string{outward}},
		{"end of a range", in(block(everything), v1beta2.Service{EndPort: &end}), []string{inward}},
		{"port", in(block(everything), service(v1beta2.ProtocolTCP, 65536)), []string{inward}},
		{"direction", v1beta2.NetworkPolicyRule{Direction: "Up"}, []string{inward, outward}},
		{"block", in(v1beta2.NetworkPolicyPeer{IPBlocks: []v1beta2.IPBlock{{CIDR: v1beta2.IPNet{IP: []byte{1}, PrefixLength: 8}}}}), []string{inward}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBenchWith(t)
			invalid := networkPolicy("bad", "a", test.rule)
			b.set(invalid, networkPolicy("good", "b", out(block(everything))))
			b.requireRules(append(slices.Clone(test.isolated), good)...)
			require.Equal(t, 1, b.flows.bundles)
			require.True(t, isClosed(b.Synced()))
			require.Contains(t, b.requireProblems("NetworkPolicy ns/bad")[0].Message, "rule 0: ")
			require.NoError(t, b.PodArrives(iface("a1", "a1", 1, "10.0.0.1")))
			b.set(networkPolicy("bad", "a", in(block("10.0.0.0/8"))))
			b.requireRules(former, good)
			b.requireProblems()
			b.set(invalid)
			b.requireRules(append(slices.Clone(test.isolated), former, good)...)
			b.requireProblems("NetworkPolicy ns/bad")
			b.delete(invalid)
			b.requireRules(good)
			b.requireProblems()
		})
	}
}

// The controller waits for a switch that does not answer. If it answers everything except a certain policy, that policy
// counts as refused.
func TestSilentSwitch(t *testing.T) {
	for _, silence := range []error{of.ErrDisconnected, context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			b := newBenchWith(t)
			silent := true
			b.flows.fail = func(install []*policy.Rule) error {
				if silent || refuseBad(install) != nil {
					return fmt.Errorf("no answer: %w", silence)
				}
				return nil
			}
			b.set(networkPolicy("bad", "a", bad(in)), networkPolicy("good", "b", in(block(everything))))
			for range 2 * patience {
				require.ErrorIs(t, b.realize(), silence)
			}
			require.ErrorIs(t, b.PodArrives(iface("a1", "a1", 1, "10.0.0.1")), silence)
			require.False(t, isClosed(b.Synced()))
			b.requireProblems()
			silent = false
			b.requireRules("Ingress [b1@2] peers [0.0.0.0/0] services []", "Ingress [a1@1] peers [] services []")
			require.True(t, isClosed(b.Synced()))
			require.Contains(t, b.requireProblems("NetworkPolicy ns/bad")[0].Message, "answers other changes, but not this one")
		})
	}
}

// After not answering, the switch refuses every change: no policy is to blame for that.
func TestSwitchThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchWith(t)
		b.set(networkPolicy("np", "a", in(block(everything))))
		answer := fmt.Errorf("no answer: %w", of.ErrDisconnected)
		b.flows.fail = func([]*policy.Rule) error { return answer }
		for range patience {
			require.ErrorIs(t, b.realize(), answer)
		}
		answer = errRefused
		require.ErrorIs(t, b.realize(), errUnwell)
		require.False(t, isClosed(b.Synced()))
		b.requireProblems()
	})
}

// Whichever policies the switch refuses, all others end up as they would without these.
func TestOthersAreRealized(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		n, k := 1+rng.IntN(200), 0
		b, without := newBenchWith(t), newBenchWith(t)
		b.flows.fail = refuseBad
		var problems []string
		var isolated []string
		for i := range n {
			rule := []func(v1beta2.NetworkPolicyPeer, ...v1beta2.Service) v1beta2.NetworkPolicyRule{in, out}[rng.IntN(2)]
			group := []string{"a", "b"}[rng.IntN(2)]
			np := networkPolicy(fmt.Sprintf("np%03d", i), group, rule(block(fmt.Sprintf("10.%d.0.0/16", i)), service(v1beta2.ProtocolTCP, 1+i)))
			if rng.IntN(20) == 0 {
				k++
				np.Rules = append(np.Rules, bad(rule))
				problems = append(problems, "NetworkPolicy ns/"+np.Name)
				pod := map[string]string{"a": "a1@1", "b": "b1@2"}[group]
				direction := map[v1beta2.Direction]string{v1beta2.DirectionIn: "Ingress", v1beta2.DirectionOut: "Egress"}[np.Rules[0].Direction]
				isolated = append(isolated, fmt.Sprintf("%s [%s] peers [] services []", direction, pod))
			} else {
				without.set(np)
			}
			b.set(np)
		}
		require.NoError(t, without.realize())
		b.requireRules(append(without.flows.text(), isolated...)...)
		require.True(t, isClosed(b.Synced()))
		b.requireProblems(problems...)
		require.LessOrEqual(t, b.flows.bundles, 3+k*2*bits.Len(uint(n)), "%d of %d policies are refused", k, n)

		bundles := b.flows.bundles
		require.NoError(t, b.PodArrives(iface("a1", "a1", 9, "10.0.0.1")))
		require.LessOrEqual(t, b.flows.bundles, bundles+1)
		require.NoError(t, without.PodArrives(iface("a1", "a1", 9, "10.0.0.1")))
		for i := range isolated {
			isolated[i] = strings.ReplaceAll(isolated[i], "a1@1", "a1@9")
		}
		b.requireRules(append(without.flows.text(), isolated...)...)
	}
}

// Rules of an earlier agent stay until all policies, or their guards, have replaced them.
func TestFormerRoundsStayDuringTheSearch(t *testing.T) {
	b := newBenchWith(t)
	var rules []string
	b.flows.fail = func(install []*policy.Rule) error {
		if !b.flows.replaced {
			rules = nil
			for _, r := range b.flows.rules {
				rules = append(rules, ruleText(r))
			}
		}
		return refuseBad(install)
	}
	for i := range 9 {
		b.set(networkPolicy(fmt.Sprint("np", i), "a", in(block(fmt.Sprintf("10.%d.0.0/16", i)))))
	}
	b.set(networkPolicy("np4", "b", bad(in)))
	require.NoError(t, b.realize())
	require.True(t, b.flows.replaced)
	require.ElementsMatch(t, b.flows.text(), rules, "what there was when the former rules were removed")
}
