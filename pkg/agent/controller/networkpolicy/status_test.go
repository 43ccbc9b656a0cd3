// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// statusLog is an antrea-controller that takes reports.
type statusLog struct {
	mu      sync.Mutex
	reports []string
	// fail decides which reports are not accepted; blocked, if set, holds them back. most is the highest number at a time.
	fail         func(name string) error
	blocked      chan struct{}
	active, most int
}

func (l *statusLog) send(ctx context.Context, status *v1beta2.NetworkPolicyStatus) error {
	l.mu.Lock()
	l.active++
	l.most = max(l.most, l.active)
	blocked, fail := l.blocked, l.fail
	l.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	if fail != nil {
		if err := fail(status.Name); err != nil {
			return err
		}
	}
	for _, node := range status.Nodes {
		message, _, _ := strings.Cut(node.Message, ":")
		l.reports = append(l.reports, strings.TrimSpace(fmt.Sprintf("%s %s %d %t %s", status.Name, node.NodeName, node.Generation, node.RealizationFailure, message)))
	}
	return nil
}

// take waits until nothing happens any more, and returns the reports since the last call, sorted.
func (l *statusLog) take() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.reports
	l.reports = nil
	slices.Sort(taken)
	return taken
}

// reporting starts an agent with the Pods a1 and b1 that reports.
func reporting(t *testing.T, log *statusLog) (*agent, *fakeSource) {
	source := newFakeSource()
	a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"), iface("b1", "b1", 2, "10.0.0.2"))
	a.EnableAntreaPolicies(nil, false)
	a.flows.fail = refuseBad
	a.ReportStatus("n1", log.send)
	a.run()
	return a, source
}

func atGeneration(np *v1beta2.NetworkPolicy, generation int64) *v1beta2.NetworkPolicy {
	np = np.DeepCopy()
	np.Generation = generation
	return np
}

// Each case is a policy at its latest generation, and what is reported of it.
func TestStatus(t *testing.T) {
	l7 := in(groups("peers"))
	l7.L7Protocols = []v1beta2.L7Protocol{{TLS: &v1beta2.TLSProtocol{}}}
	perRule := tierPolicy("np", 50, 1, "Drop", "", in(groups("peers")), in(groups("peers")))
	perRule.AppliedToGroups, perRule.Rules[0].AppliedToGroups, perRule.Rules[1].AppliedToGroups = nil, []string{"a"}, []string{"elsewhere"}
	elsewhere := perRule.DeepCopy()
	elsewhere.Rules[0].AppliedToGroups = []string{"elsewhere"}
	noTier := tierPolicy("np", 50, 1, "Drop", "a", in(groups("peers")))
	noTier.TierPriority = nil
	other := tierPolicy("np", 50, 1, "Drop", "a", in(groups("peers")))
	other.SourceRef.Type = v1beta2.AdminNetworkPolicy
	for _, test := range []struct {
		name   string
		policy *v1beta2.NetworkPolicy
		want   []string
	}{
		{"in force", tierPolicy("np", 50, 1, "Drop", "a", in(groups("peers"))), []string{"np n1 1 false"}},
		{"no Pod has it yet", tierPolicy("np", 50, 1, "Drop", "coming", in(groups("peers"))), []string{"np n1 1 false"}},
		{"one of its rules concerns other Nodes", perRule, []string{"np n1 1 false"}},
		{"no rule is effective here", elsewhere, nil},
		{"a group of peers is missing", tierPolicy("np", 50, 1, "Drop", "a", in(groups("missing"))), nil},
		{"refused by the switch", tierPolicy("np", 50, 1, "Drop", "a", bad(in)), []string{"np n1 1 true cannot be realized"}},
		{"invalid", noTier, []string{"np n1 1 true cannot be realized"}},
		{"not implemented", tierPolicy("np", 50, 1, "Allow", "a", l7), []string{`np n1 1 true rule "rule0"`}},
		{"of Kubernetes", networkPolicy("np", "a", in(groups("peers"))), nil},
		{"of the Kubernetes network policy API", other, []string{"np n1 1 false"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &statusLog{}
				_, source := reporting(t, log)
				source.sendAll(appliedToGroup("a", memberOf("a1")), appliedToGroup("coming", memberOf("later")), addressGroup("peers", memberOf("p1", "10.0.1.1")), test.policy)
				require.Equal(t, test.want, log.take())
			})
		})
	}
}

// A report follows each new generation, also if no flow changes, and nothing else.
func TestStatusFollowsGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &statusLog{}
		a, source := reporting(t, log)
		np := tierPolicy("np", 50, 1, "Drop", "a", in(groups("peers")))
		streams := source.sendAll(appliedToGroup("a", memberOf("a1")), addressGroup("peers", memberOf("p1", "10.0.1.1")), np)
		require.Equal(t, []string{"np n1 1 false"}, log.take())
		streams[NetworkPolicies].Modify(atGeneration(np, 2))
		require.Equal(t, []string{"np n1 2 false"}, log.take())
		streams[AddressGroups].Modify(addressGroupPatch("peers", []v1beta2.GroupMember{memberOf("p2", "10.0.1.2")}, nil))
		require.Empty(t, log.take(), "members do not matter")
		require.Contains(t, a.flows.text(), "Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services [] Drop 50/1/0")
		refused := atGeneration(np, 3)
		refused.Rules = append(refused.Rules, tierPolicy("", 0, 0, "Drop", "", bad(in)).Rules...)
		streams[NetworkPolicies].Modify(refused)
		require.Equal(t, []string{"np n1 3 true cannot be realized"}, log.take())
		streams[NetworkPolicies].Modify(atGeneration(np, 4))
		require.Equal(t, []string{"np n1 4 false"}, log.take())
		streams[NetworkPolicies].Delete(np)
		streams[NetworkPolicies].Add(np)
		require.Equal(t, []string{"np n1 1 false"}, log.take(), "deleted, and made again")

		// antrea-controller restarts.
		streams[NetworkPolicies].Stop()
		next := <-source.streams[NetworkPolicies]
		next.Add(np)
		next.Action("BOOKMARK", np)
		require.Equal(t, []string{"np n1 1 false"}, log.take())
	})
}

// Nothing is reported before the datapath follows.
func TestStatusWaitsForTheDatapath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &statusLog{}
		source := newFakeSource()
		a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
		datapath := &fakeDatapath{begun: make(chan struct{}), ends: make(chan error)}
		a.datapath = datapath
		a.EnableAntreaPolicies(nil, false)
		a.ReportStatus("n1", log.send)
		a.run()
		source.sendAll(appliedToGroup("a", memberOf("a1")), tierPolicy("np", 50, 1, "Drop", "a", in(everywhere())))
		<-datapath.begun
		require.Empty(t, log.take())
		datapath.ends <- errors.New("no answer")
		<-datapath.begun
		require.Empty(t, log.take())
		datapath.ends <- nil
		require.Equal(t, []string{"np n1 1 false"}, log.take())
	})
}

// Reports that are not accepted are sent again, merged with later ones, by few writers, and do not hold back others for long.
func TestStatusIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const policies = 50
		log := &statusLog{blocked: make(chan struct{})}
		_, source := reporting(t, log)
		streams := source.sendAll(appliedToGroup("a", memberOf("a1")))
		for i := range policies {
			streams[NetworkPolicies].Add(tierPolicy(fmt.Sprint("np", i), 50, 1, "Drop", "a", in(everywhere())))
		}
		require.Empty(t, log.take())
		log.mu.Lock()
		require.LessOrEqual(t, log.most, statusWriters)
		log.fail = func(name string) error {
			if name == "np7" {
				return errors.New("no")
			}
			return nil
		}
		close(log.blocked)
		log.mu.Unlock()
		require.Len(t, log.take(), policies-1)
		time.Sleep(time.Minute)
		for generation := range int64(5) {
			streams[NetworkPolicies].Modify(atGeneration(tierPolicy("np7", 50, 1, "Drop", "a", in(everywhere())), generation+2))
		}
		streams[NetworkPolicies].Modify(atGeneration(tierPolicy("np8", 50, 1, "Drop", "a", in(everywhere())), 2))
		require.Equal(t, []string{"np8 n1 2 false"}, log.take())
		log.mu.Lock()
		log.fail = nil
		log.mu.Unlock()
		time.Sleep(statusBackoff.Max)
		require.Equal(t, []string{"np7 n1 6 false"}, log.take())
		time.Sleep(time.Hour)
		require.Empty(t, log.take())
	})
}

// Antrea-controller forgets a Node's report with the Node. If the policy comes back at once, its status is reported again.
func TestStatusOfAPolicyThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &statusLog{}
		_, source := reporting(t, log)
		np := tierPolicy("np", 50, 1, "Drop", "a", in(groups("peers")))
		streams := source.sendAll(appliedToGroup("a", memberOf("a1")), addressGroup("peers"), np)
		require.Equal(t, []string{"np n1 1 false"}, log.take())
		for range 100 {
			streams[NetworkPolicies].Delete(np)
			streams[NetworkPolicies].Add(np)
			require.Contains(t, log.take(), "np n1 1 false")
		}
	})
}
