// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// settleOther makes sure that the implementation of iptables that the agent does not use drops nothing that the agent accepts: it has the
// agent's table filter while it has the policy DROP, and nothing else of the agent, such as the rules of a former agent. It returns its rules
// by table.
func (w *firewall) settleOther(ctx context.Context) (map[string][]string, error) {
	v := w.variant.other()
	if !slices.Contains(w.family.variants(), v) {
		return nil, nil
	}
	saved, err := w.family.saved(ctx, v)
	if err != nil {
		return nil, err
	}
	rules := rulesByTable(saved)
	var errs []error
	chain := droppingChain(saved)
	for _, t := range leftoverTables(saved) {
		if chain == "" || t.name != tableFilter {
			errs = append(errs, w.family.remove(ctx, v, t))
		}
	}
	if chain != "" {
		errs = append(errs, w.acceptIn(ctx, v, chain, rules))
	}
	return rules, errors.Join(errs...)
}

// acceptIn brings table filter into another implementation than the chosen one.
func (w *firewall) acceptIn(ctx context.Context, v variant, chain string, rules map[string][]string) error {
	other, err := openFirewall(w.family, v)
	if err != nil {
		return err
	}
	other.lockWait = w.lockWait
	p := w.params
	p.nodePolicies = p.nodePolicy != nil // a former agent's chains are not there
	other.tables = slices.DeleteFunc(desiredTables(p), func(t table) bool { return t.name != tableFilter })
	other.jumps = slices.DeleteFunc(desiredJumps(p), func(j jump) bool { return j.table != tableFilter })
	if !slices.ContainsFunc(rules[tableFilter], func(line string) bool { return strings.Contains(line, " "+chainPrefix) }) {
		klog.InfoS("The Node's other iptables drops by policy, so its table filter gets the agent's rules", "program", w.family.program(v, ""), "chain", chain)
	}
	if err := other.restoreChains(ctx); err != nil {
		return err
	}
	var errs []error
	for _, j := range other.jumps {
		errs = append(errs, other.ensureJump(j, rules[tableFilter]))
	}
	return errors.Join(errs...)
}

// otherChanged reports whether others have changed the implementation of iptables that the agent does not use so that settleOther has something to
// do, such as a policy DROP. Its changes have no event: it is read every blindInterval.
func (w *firewall) otherChanged(ctx context.Context, now time.Time) (bool, error) {
	if now.Sub(w.kept.otherSeen) < blindInterval {
		return false, nil
	}
	state, err := w.otherState(ctx)
	if err != nil {
		return false, err
	}
	w.kept.otherSeen = now
	return w.kept.other != state, nil
}

// otherState returns the part of the rules that settleOther depends on: whether a policy drops, and the lines about the agent's chains without their counters.
func (w *firewall) otherState(ctx context.Context) (string, error) {
	v := w.variant.other()
	if !slices.Contains(w.family.variants(), v) {
		return "", nil
	}
	saved, err := w.family.saved(ctx, v)
	if err != nil {
		return "", err
	}
	state := []string{droppingChain(saved)}
	for line := range strings.Lines(saved) {
		if strings.HasPrefix(line, "-A ") && strings.Contains(line, " "+chainPrefix) {
			state = append(state, line)
		}
	}
	return strings.Join(state, "\n"), nil
}

// droppingChain returns the first built-in chain of table filter that drops by its policy what no rule accepts, from the output of
// iptables-save(8); empty if there is none.
func droppingChain(saved string) string {
	name := ""
	for line := range strings.Lines(saved) {
		if table, ok := strings.CutPrefix(strings.TrimSpace(line), "*"); ok {
			name = table
		} else if chain, ok := strings.CutPrefix(line, ":"); ok && name == tableFilter {
			if chain, policy, _ := strings.Cut(chain, " "); strings.HasPrefix(policy, "DROP") {
				return chain
			}
		}
	}
	return ""
}

// remove removes chains of ours, and what leads to them.
func (f family) remove(ctx context.Context, v variant, t leftoverTable) error {
	program := f.program(v, "-restore")
	return retryBusy(func() error {
		_, stderr, err := runProgram(ctx, t.removal, program, "--noflush", "--wait="+strconv.Itoa(lockWait))
		if err != nil {
			return fmt.Errorf("%s: table %s: remove the chains %s: %w: %s", program, t.name, strings.Join(t.chains, ", "), err, strings.TrimSpace(stderr))
		}
		return nil
	})
}

// mergeRules returns the rules of two implementations, by table.
func mergeRules(a, b map[string][]string) map[string][]string {
	all := map[string][]string{}
	for _, rules := range []map[string][]string{a, b} {
		for name, lines := range rules {
			all[name] = append(all[name], lines...)
		}
	}
	return all
}
