// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-iptables/iptables"
)

const (
	// lockWait is the time in seconds that an iptables program waits for the lock while another program holds it. kube-proxy
	// takes the lock for each of its changes.
	lockWait = 5
	// commandTimeout bounds one run of an iptables program.
	commandTimeout = 20 * time.Second
	// maxAttempts is the number of times it is run when the lock is held for longer, or when another program's change interferes.
	maxAttempts = 4
	// exitResourceProblem is the exit status of iptables programs in that case (iptables(8), RESOURCE_PROBLEM in
	// xshared.h).
	exitResourceProblem = 4
)

// firewall brings the desired iptables rules of one family into the kernel.
type firewall struct {
	family        family
	variant       variant
	ipt           *iptables.IPTables
	restore, save string
	params        ruleParams
	tables        []table
	jumps         []jump
	foreign       ForeignMarks
	// lockWait is the constant lockWait, or less in tests.
	lockWait int
	// kept is the knowledge of the rules since apply.
	kept kept
}

func newFirewall(f family, p ruleParams) (*firewall, error) {
	w, err := openFirewall(f, f.chooseVariant(context.Background()))
	if err != nil {
		return nil, err
	}
	if p.randomFully && !w.ipt.HasRandomFully() {
		major, minor, patch := w.ipt.GetIptablesVersion()
		return nil, fmt.Errorf("snatFullyRandomPorts needs iptables 1.6.2 or later, have %d.%d.%d", major, minor, patch)
	}
	w.want(p)
	return w, nil
}

// openFirewall finds the programs of an implementation.
func openFirewall(f family, v variant) (*firewall, error) {
	edit, restore, save, err := f.programs(v)
	if err != nil {
		return nil, err
	}
	ipt, err := iptables.New(iptables.IPFamily(f.protocol), iptables.Timeout(lockWait), iptables.Path(edit))
	if err != nil {
		return nil, fmt.Errorf("%s firewall: iptables program unusable: %w", f.name, err)
	}
	return &firewall{family: f, variant: v, ipt: ipt, restore: restore, save: save, lockWait: lockWait}, nil
}

// want sets what the rules depend on. The kernel has them after apply.
func (w *firewall) want(p ruleParams) {
	w.params, w.tables, w.jumps, w.kept = p, desiredTables(p), desiredJumps(p), kept{}
}

// apply replaces the content of the custom chains in one transaction per table, and then makes sure of exactly the desired
// jumps to each. Chains come first, so that no jump leads to an unfinished chain. All other rules stay unchanged.
func (w *firewall) apply(ctx context.Context) error {
	w.kept = kept{}
	if err := w.restoreChains(ctx); err != nil {
		return err
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	others, err := w.settleOther(ctx)
	errs := []error{err}
	w.foreign.report(w.family, mergeRules(rules, others))
	for _, j := range w.jumps {
		if err := w.ensureJump(j, rules[j.table]); err != nil {
			errs = append(errs, err)
		}
	}
	for _, name := range []string{tableMangle, tableNAT} {
		errs = append(errs, w.removeOptional(ctx, name, rules[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	other, err := w.otherState(ctx)
	if err != nil {
		return err
	}
	w.kept = keptAfterApply(w.tables, rules)
	w.kept.other, w.kept.otherSeen = other, time.Now()
	return nil
}

// removeOptional removes the chains of a table that a former agent with proxyAll or NodePortLocal has made, if this one is without.
func (w *firewall) removeOptional(ctx context.Context, name string, rules []string) error {
	var chains []string
	for _, j := range slices.Concat(proxyAllJumps(w.params), podPortJumps) {
		desired := j.table != name || slices.ContainsFunc(w.jumps, func(k jump) bool { return k.table == j.table && k.target() == j.target() })
		if !desired && !slices.Contains(chains, j.target()) &&
			slices.ContainsFunc(rules, func(line string) bool { return leadsTo(splitArgs(line), []string{j.target()}) }) {
			chains = append(chains, j.target())
		}
	}
	if len(chains) == 0 {
		return nil
	}
	return retryBusy(func() error {
		_, stderr, err := runProgram(ctx, removalOf(name, chains, rules).removal, w.restore, "--noflush", "--wait="+strconv.Itoa(w.lockWait))
		if err != nil {
			return fmt.Errorf("%s: remove the chains %s of table %s: %w: %s", w.family.restoreProgram, strings.Join(chains, ", "), name, err, strings.TrimSpace(stderr))
		}
		return nil
	})
}

func (w *firewall) restoreChains(ctx context.Context) error {
	return retryBusy(func() error {
		_, stderr, err := runProgram(ctx, restoreText(w.tables), w.restore, "--noflush", "--wait="+strconv.Itoa(w.lockWait))
		if err != nil {
			return explainRestore(w.family.restoreProgram, w.tables, stderr, err)
		}
		return nil
	})
}

// retryBusy repeats a run that another program's use of the tables may have prevented. The programs wait for the lock by
// themselves.
func retryBusy(run func() error) (err error) {
	for range maxAttempts {
		var exit interface{ ExitCode() int }
		if err = run(); !errors.As(err, &exit) || exit.ExitCode() != exitResourceProblem {
			return err
		}
	}
	return err
}

// rules returns the rules of all tables, one line each, by table. To list each chain by itself takes a process per jump.
func (w *firewall) rules(ctx context.Context) (map[string][]string, error) {
	var stdout string
	err := retryBusy(func() (err error) {
		var stderr string
		if stdout, stderr, err = runProgram(ctx, "", w.save); err != nil {
			return fmt.Errorf("%s: list all rules by %s: %w: %s", w.family.name, w.family.saveProgram, err, strings.TrimSpace(stderr))
		}
		return nil
	})
	return rulesByTable(stdout), err
}

// runProgram runs a program with input. The error says so when ctx ends first or the program takes too long.
func runProgram(ctx context.Context, input, program string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err = cmd.Run(); err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), errors.String(), err
}

func (w *firewall) ensureJump(j jump, listing []string) error {
	add, remove := jumpChanges(j, listing)
	if j.first {
		slices.Reverse(add) // the last one that is inserted comes first
	}
	for _, args := range add {
		err := retryBusy(func() error {
			if j.first {
				return w.ipt.Insert(j.table, j.chain, 1, args...)
			}
			return w.ipt.Append(j.table, j.chain, args...)
		})
		if err != nil {
			return fmt.Errorf("%s: add to table %s, chain %s the rule %q: %w", w.family.name, j.table, j.chain, strings.Join(args, " "), err)
		}
	}
	for _, args := range remove {
		if err := retryBusy(func() error { return w.ipt.Delete(j.table, j.chain, args...) }); err != nil {
			return fmt.Errorf("%s: delete from table %s, chain %s the superfluous rule %q: %w", w.family.name, j.table, j.chain, strings.Join(args, " "), err)
		}
	}
	return nil
}
