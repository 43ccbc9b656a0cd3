// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// blindInterval is the time between two looks at the rules where the kernel does not count their changes, as with the legacy variant of
	// iptables; readInterval the time in any case.
	blindInterval = 10 * time.Second
	readInterval  = time.Minute
	// applyInterval is the time after which rules are applied again although they look as before: the kernel's text may hide a difference.
	applyInterval = 10 * time.Minute
)

// kept is the knowledge of the rules since they were applied.
type kept struct {
	// chains are the agent's. Other chains whose names begin like theirs, such as the chains of upstream's agent, are left alone.
	chains []table
	// own are the rules of the agent's chains by table, as iptables-save(8) has listed them after apply; nil if that is not known.
	own map[string][]string
	// other is the relevant part of the other implementation's rules (otherState), otherSeen the time at which that was last read.
	other     string
	otherSeen time.Time
	// applied is the time of the last apply, seen the time at which the rules were last read and found right, generation the kernel's count of changes of nf_tables
	// before that, 0 if it does not count.
	applied, seen time.Time
	generation    uint32
}

// keptAfterApply takes what was read after the chains' content was replaced. Anything that has changed it meanwhile would be taken for right, so
// the number of rules must be.
func keptAfterApply(tables []table, rules map[string][]string) kept {
	own := ownRules(tables, rules)
	for _, t := range tables {
		if len(own[t.name]) != len(t.rules) {
			return kept{}
		}
	}
	return kept{chains: tables, own: own, applied: time.Now()}
}

// doubtful reports whether others may have changed the rules. Programs that change many rules, such as kube-proxy, are not told from those that
// change the agent's.
func (k kept) doubtful(now time.Time, generation uint32) bool {
	age := now.Sub(k.seen)
	return k.own == nil || k.seen.IsZero() || k.generation != generation || age >= readInterval || generation == 0 && age >= blindInterval
}

// intact reports whether the rules have the agent's chains, and the jumps to them, as they should be.
func (k kept) intact(jumps []jump, rules map[string][]string) bool {
	for _, j := range jumps {
		if add, remove := jumpChanges(j, rules[j.table]); len(add)+len(remove) > 0 {
			return false
		}
	}
	return maps.EqualFunc(k.own, ownRules(k.chains, rules), slices.Equal)
}

// ownRules are the rules of the agent's chains.
func ownRules(chains []table, rules map[string][]string) map[string][]string {
	own := map[string][]string{}
	for _, t := range chains {
		for _, line := range rules[t.name] {
			if chain, _, _ := strings.Cut(strings.TrimPrefix(line, "-A "), " "); slices.Contains(t.chains, chain) {
				own[t.name] = append(own[t.name], line)
			}
		}
	}
	return own
}
