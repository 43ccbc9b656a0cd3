// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/coreos/go-iptables/iptables"
)

// commandTimeout bounds one run of an iptables program, which may wait for the lock that another program holds.
const commandTimeout = time.Minute

// firewall brings the desired iptables rules of one family into the kernel.
type firewall struct {
	family        family
	ipt           *iptables.IPTables
	restore, save string
	tables        []table
}

func newFirewall(f family, p ruleParams) (*firewall, error) {
	ipt, err := iptables.New(iptables.IPFamily(f.protocol), iptables.Timeout(int(commandTimeout/time.Second)))
	if err != nil {
		return nil, fmt.Errorf("%s firewall: iptables program unusable: %w", f.name, err)
	}
	if p.randomFully && !ipt.HasRandomFully() {
		major, minor, patch := ipt.GetIptablesVersion()
		return nil, fmt.Errorf("snatFullyRandomPorts needs iptables 1.6.2 or later, have %d.%d.%d", major, minor, patch)
	}
	restore, err := exec.LookPath(f.restoreProgram)
	if err != nil {
		return nil, fmt.Errorf("%s firewall: %w", f.name, err)
	}
	save, err := exec.LookPath(f.saveProgram)
	if err != nil {
		return nil, fmt.Errorf("%s firewall: %w", f.name, err)
	}
	return &firewall{family: f, ipt: ipt, restore: restore, save: save, tables: desiredTables(p)}, nil
}

// apply replaces the content of the custom chains in one transaction per table, then makes sure of exactly one jump to
// each. Chains come first: a jump never leads to an unfinished chain. All other rules stay as they are.
func (w *firewall) apply(ctx context.Context) error {
	if err := w.restoreChains(ctx); err != nil {
		return err
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range jumps {
		if err := w.ensureJump(j, rules[j.table]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *firewall) restoreChains(ctx context.Context) error {
	if _, stderr, err := runProgram(ctx, restoreText(w.tables), w.restore, "--noflush", "--wait"); err != nil {
		return explainRestore(w.family.restoreProgram, w.tables, stderr, err)
	}
	return nil
}

// rules returns the rules of all tables, one line each, by table. To list each chain by itself takes a process per jump.
func (w *firewall) rules(ctx context.Context) (map[string][]string, error) {
	stdout, stderr, err := runProgram(ctx, "", w.save)
	if err != nil {
		return nil, fmt.Errorf("%s: list all rules by %s: %w: %s", w.family.name, w.family.saveProgram, err, strings.TrimSpace(stderr))
	}
	return rulesByTable(stdout), nil
}

// runProgram runs a program that gets input. When ctx ends first, or it takes too long, the error says so.
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

func (w *firewall) ensureJump(j jump, listing []string) (err error) {
	add, remove := jumpChanges(j, listing)
	if add {
		if j.first {
			err = w.ipt.Insert(j.table, j.chain, 1, j.args()...)
		} else {
			err = w.ipt.Append(j.table, j.chain, j.args()...)
		}
		if err != nil {
			return fmt.Errorf("%s: add to table %s, chain %s the rule %q: %w", w.family.name, j.table, j.chain, strings.Join(j.args(), " "), err)
		}
	}
	for _, args := range remove {
		if err := w.ipt.Delete(j.table, j.chain, args...); err != nil {
			return fmt.Errorf("%s: delete from table %s, chain %s the superfluous rule %q: %w", w.family.name, j.table, j.chain, strings.Join(args, " "), err)
		}
	}
	return nil
}
