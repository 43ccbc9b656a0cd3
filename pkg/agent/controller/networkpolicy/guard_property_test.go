// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// While the switch refuses a version of a policy with tiers, whatever the version before denies is denied, for the Pods and peers of any time,
// and a Pod that comes is denied what the refused version denies.
func TestGuardDeniesWhatBothVersionsDeny(t *testing.T) {
	narrower := 0
	for seed := range uint64(150) {
		s := newRandomSet(rand.New(rand.NewPCG(seed, 34)), true)
		b := newBench(t)
		b.EnableAntreaPolicies(nil, false)
		b.flows.fail = refuseBad
		for i := range localPods - 1 {
			b.store.AddInterface(localInterface(i))
		}
		for _, r := range []Resource{AddressGroups, AppliedToGroups} {
			for _, o := range s.present[r] {
				b.set(o)
			}
		}
		accepted := s.policy(1)
		b.set(accepted)
		require.NoError(t, b.realize())
		refused := s.policy(1)
		refused.AppliedToGroups = accepted.AppliedToGroups
		for i := range refused.Rules {
			refused.Rules[i].AppliedToGroups = nil
		}
		if accepted.AppliedToGroups == nil {
			continue
		}
		refused.Rules = append(refused.Rules, tierPolicy("", 0, 0, "Drop", "", bad(in)).Rules...)
		b.set(refused)
		before := verdicts(b.flows.all())
		require.NoError(t, b.realize())
		if b.refusals["np1"] == nil {
			continue // It applies to no Pod.
		}
		requireWithin(t, before, verdicts(b.flows.all()), "seed %d: the refused version", seed)
		for step := range 8 {
			if step == 4 {
				b.store.AddInterface(localInterface(localPods - 1))
			} else if e := s.event(); eventResource(e.Object) != NetworkPolicies {
				ch, err := modifyObject(e.Object, b.state)
				require.NoError(t, err)
				b.update(ch.apply)
			}
			require.NoError(t, b.realize())
			rules, err := b.state.compile(accepted)
			require.NoError(t, err)
			guard := verdicts(b.flows.all())
			requireWithin(t, verdicts(plain(rules)), guard, "seed %d, step %d: %v", seed, step, b.flows.text())
			if step < 4 {
				continue
			}
			present, err := b.state.compile(refused)
			require.NoError(t, err)
			newcomer := verdicts(plain(present))[localPods-1]
			for c, open := range guard[localPods-1] {
				if open && !newcomer[c] {
					require.Fail(t, "open to a newcomer", "seed %d, step %d: %s: %v", seed, step, c, b.flows.text())
				}
				if !open && newcomer[c] {
					narrower++
				}
			}
		}
	}
	t.Logf("%d connections of newcomers were closed although the refused version allows them", narrower)
}

// requireWithin fails if after allows something that before does not.
func requireWithin(t *testing.T, before, after [localPods]map[string]bool, format string, args ...any) {
	t.Helper()
	for i := range localPods {
		for c, open := range after[i] {
			require.False(t, open && !before[i][c], "%s is open to %s: %s", c, localName(i), fmt.Sprintf(format, args...))
		}
	}
}
