// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// setOthers sets the rules of all policies but those that the firewall refuses, whose former rules stay. cause is why it refuses all together.
// It enters the refused policies in failures, and returns the rules that are set now and why others are not. With an error nothing is changed: the
// firewall does not take any rules, or the rules in force are not known.
func (n *nodePolicies) setOthers(ctx context.Context, wanted map[string][]nodeRule, failures map[string]string, cause error) (now map[string][]nodeRule, refused, err error) {
	if n.unknown != nil || n.firewall.TryNodePolicyRules(ctx, nil) != nil {
		return wanted, nil, cause
	}
	s := nodeSearch{n: n, wanted: wanted, end: time.Now().Add(searchTime), refused: map[string]error{}}
	s.bisect(ctx, n.lastFailedLast(wanted))
	if len(s.refused) == 0 {
		return wanted, nil, cause
	}
	now = maps.Clone(wanted)
	var reasons []error
	for _, name := range slices.Sorted(maps.Keys(s.refused)) {
		reason := fmt.Errorf("the firewall refuses its rules for this Node: %w", s.refused[name])
		reasons = append(reasons, fmt.Errorf("%s: %w", name, reason))
		failures[name] = reason.Error()
		delete(now, name)
		// A kernel that has not taken the former rules from this agent may be another one than the kernel before.
		if former := n.applied[name]; len(former) > 0 && (n.confirmed || n.try(ctx, map[string][]nodeRule{name: former}) == nil) {
			now[name] = former
		}
	}
	if n.firewall.TryNodePolicyRules(ctx, nil) != nil {
		return wanted, nil, cause // It has refused anything.
	}
	if err := n.set(ctx, now); err != nil {
		return wanted, nil, err
	}
	return now, errors.Join(reasons...), nil
}

func (n *nodePolicies) try(ctx context.Context, some map[string][]nodeRule) error {
	return n.firewall.TryNodePolicyRules(ctx, inOrder(some))
}

// lastFailedLast returns the names of policies, the ones that have failed at last behind the others: the search may end before it is through.
func (n *nodePolicies) lastFailedLast(wanted map[string][]nodeRule) []string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	order := func(name string) int { return min(len(n.failures[name]), 1) }
	return slices.SortedFunc(maps.Keys(wanted), func(a, b string) int { return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b)) })
}

// tryAgain lets apply begin from scratch although all has been concluded.
func (n *nodePolicies) tryAgain() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.pending = true
}

// nodeSearch looks for the policies whose rules the firewall refuses.
type nodeSearch struct {
	n       *nodePolicies
	wanted  map[string][]nodeRule
	end     time.Time
	refused map[string]error
}

// bisect enters the policies that are refused by themselves. Those that it has no time to try count as refused.
func (s *nodeSearch) bisect(ctx context.Context, names []string) {
	some := map[string][]nodeRule{}
	for _, name := range names {
		some[name] = s.wanted[name]
	}
	err := s.n.try(ctx, some)
	switch late := !time.Now().Before(s.end); {
	case err == nil:
	case len(names) == 1 || late:
		for _, name := range names {
			s.refused[name] = err
		}
	default:
		s.bisect(ctx, names[:len(names)/2])
		s.bisect(ctx, names[len(names)/2:])
	}
}
