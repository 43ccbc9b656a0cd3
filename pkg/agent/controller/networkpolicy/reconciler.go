// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// realized is the content of the switch: rules by policy and key.
type realized struct {
	policies map[string]map[ruleKey]*policy.Rule
	ids      *ruleIDs
}

func newRealized() *realized {
	return &realized{policies: map[string]map[ruleKey]*policy.Rule{}, ids: newRuleIDs()}
}

// operations lead some policies from the realized to the wanted rules, in one change of the switch.
type operations struct {
	// rules are the rules of each policy afterward; none for a deleted policy.
	rules map[string]map[ruleKey]*policy.Rule
	// install may contain rules that the switch already has.
	install []*policy.Rule
	remove  []uint32
	// names are the planned policies.
	names sets.Set[string]
	// versions are the versions of the planned policies; nil for a deleted one.
	versions map[string]*v1beta2.NetworkPolicy
	// guarded are the policies that have the rules of their guard.
	guarded sets.Set[string]
	// invalid has the reasons for the invalid ones among them.
	invalid map[string]error
	// uses are the uses of names to declare before.
	uses map[string]fqdn.Use
}

// plan computes the operations for the named policies. Policies that cannot be resolved yet are left unchanged. Policies
// that isGuarded selects, and invalid ones, get the rules of their guard. Ids are taken for new rules; commit or abandon
// must follow.
func (r *realized) plan(s *state, names sets.Set[string], isGuarded func(name string, version *v1beta2.NetworkPolicy) bool) *operations {
	ops := &operations{
		names: names, rules: map[string]map[ruleKey]*policy.Rule{}, versions: map[string]*v1beta2.NetworkPolicy{},
		guarded: sets.New[string](), invalid: map[string]error{},
	}
	for _, name := range sets.List(names) {
		version, ok := s.resolve(name)
		if !ok {
			continue
		}
		ops.versions[name] = version
		var wanted map[ruleKey]*wantedRule
		if version != nil {
			err := recovery.Call(controllerName, subjectOf(version), func() (err error) {
				wanted, err = s.compile(version)
				return err
			})
			if err != nil {
				ops.invalid[name] = err
			}
			if err != nil || isGuarded(name, version) {
				ops.guarded.Insert(name)
				wanted = r.guard(s, version, wanted)
			}
		}
		r.planPolicy(ops, name, wanted)
	}
	return ops
}

func (r *realized) planPolicy(ops *operations, name string, wanted map[ruleKey]*wantedRule) {
	current := r.policies[name]
	after := make(map[ruleKey]*policy.Rule, len(wanted))
	for key, rule := range wanted {
		if old := current[key]; old != nil {
			rule.FlowID = old.FlowID
		} else {
			rule.FlowID = r.ids.take(key)
		}
		after[key] = &rule.Rule
		ops.install = append(ops.install, &rule.Rule)
	}
	for key, old := range current {
		if after[key] == nil {
			ops.remove = append(ops.remove, old.FlowID)
		}
	}
	ops.rules[name] = after
}

// commit enters operations that the switch has accepted.
func (r *realized) commit(ops *operations) {
	for _, id := range ops.remove {
		r.ids.release(id)
	}
	for name, rules := range ops.rules {
		if len(rules) == 0 {
			delete(r.policies, name)
		} else {
			r.policies[name] = rules
		}
	}
}

// abandon discards operations that the switch has not accepted.
func (r *realized) abandon(ops *operations) {
	for name, rules := range ops.rules {
		for key, rule := range rules {
			if r.policies[name][key] == nil {
				r.ids.release(rule.FlowID)
			}
		}
	}
}

// rules returns all realized rules by flow id.
func (r *realized) rules() []*policy.Rule {
	return sortedRules(func(yield func(*policy.Rule) bool) {
		for _, policy := range r.policies {
			for _, rule := range policy {
				if !yield(rule) {
					return
				}
			}
		}
	})
}

func sortedRules(rules iter.Seq[*policy.Rule]) []*policy.Rule {
	return slices.SortedFunc(rules, func(a, b *policy.Rule) int { return cmp.Compare(a.FlowID, b.FlowID) })
}
