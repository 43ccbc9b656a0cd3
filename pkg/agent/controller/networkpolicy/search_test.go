// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// TestSearchEnds: of very many refused policies not all are looked for at once, by number of changes and by time. The Pods of all that were not
// tried are closed, and the good ones among them are in force soon after.
func TestSearchEnds(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := newBenchWith(t)
			changes, began := 0, time.Now()
			b.flows.fail = func(install []*policy.Rule) error {
				changes++
				time.Sleep(pause)
				return refuseBad(install)
			}
			var good []string
			for i := range 600 {
				rules := []v1beta2.NetworkPolicyRule{in(block(fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255)), service(v1beta2.ProtocolTCP, 1))}
				if i%2 == 0 {
					rules = append(rules, bad(in))
				} else {
					good = append(good, fmt.Sprintf("Ingress [b1@2] peers [10.%d.%d.0/24] services [6:1/ffff]", i>>8, i&255))
				}
				b.set(networkPolicy(fmt.Sprintf("np%03d", i), "b", rules...))
			}
			require.NoError(t, b.realize())
			require.True(t, b.flows.replaced)
			require.True(t, isClosed(b.Synced()))
			require.LessOrEqual(t, changes, maxSearch+5)
			require.Less(t, time.Since(began), searchTime+10*time.Second)
			problems, _ := b.problems.List()
			require.Greater(t, len(problems), 300)
			require.Contains(t, problems[len(problems)-1].Message, "this one will be tried later")
			isolated := 0
			for _, rule := range b.flows.text() {
				if rule == "Ingress [b1@2] peers [] services []" {
					isolated++
				} else {
					require.Contains(t, good, rule)
				}
			}
			require.Equal(t, len(problems), isolated, "what is not in force is closed")

			b.watchers = nil
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); b.Run(ctx) }()
			time.Sleep(5*time.Minute + 700*pause)
			cancel()
			<-done // No change is under way then, which would hold the lock of b.flows.
			text := slices.DeleteFunc(b.flows.text(), func(rule string) bool { return rule == "Ingress [b1@2] peers [] services []" })
			require.ElementsMatch(t, good, text)
			problems, _ = b.problems.List()
			require.Len(t, problems, 300)
			for _, p := range problems {
				require.NotContains(t, p.Message, "tried later")
			}
		})
	}
}

// While refused policies are looked for, the next event waits: of what it changes together no part takes effect alone.
func TestSearchHoldsTheNextEvent(t *testing.T) {
	b := newBenchWith(t)
	deny := func(name string, generation int64) *v1beta2.NetworkPolicy {
		return atGeneration(networkPolicy(name, "b", in(block(fmt.Sprintf("10.%d.0.0/24", generation)))), generation)
	}
	b.set(deny("first", 1))
	require.NoError(t, b.realize())
	b.set(networkPolicy("refused", "b", bad(in)), deny("first", 2))
	changes := 0
	b.flows.fail = func(install []*policy.Rule) error {
		if changes++; changes == 1 { // first moves its rule to second
			b.update(func(s *state) {
				s.arrive(NetworkPolicies, change{name: "first", apply: func(s *state) { s.deletePolicy("first") }})
				s.arrive(NetworkPolicies, change{name: "second", apply: func(s *state) { s.setPolicy(deny("second", 2)) }})
			})
			require.Contains(t, b.state.policies, "first")
		}
		return refuseBad(install)
	}
	require.NoError(t, b.realize())
	require.Greater(t, changes, 1, "there was a search")
	require.Contains(t, b.flows.text(), "Ingress [b1@2] peers [10.2.0.0/24] services []")
	require.NotContains(t, b.state.policies, "first")
	b.flows.fail = refuseBad
	require.NoError(t, b.realize())
	require.Contains(t, b.flows.text(), "Ingress [b1@2] peers [10.2.0.0/24] services []")
	require.Equal(t, "second", b.state.policies["second"].latest.Name)
}
