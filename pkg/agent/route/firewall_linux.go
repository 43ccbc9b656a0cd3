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
	family  family
	ipt     *iptables.IPTables
	restore string
	tables  []table
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
	return &firewall{family: f, ipt: ipt, restore: restore, tables: desiredTables(p)}, nil
}

// apply replaces the content of the custom chains in one transaction per table, then makes sure of exactly one jump to
// each. Chains come first: a jump never leads to an unfinished chain. All other rules stay as they are.
func (w *firewall) apply(ctx context.Context) error {
	if err := w.restoreChains(ctx); err != nil {
		return err
	}
	var errs []error
	for _, j := range jumps {
		if err := w.ensureJump(j); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *firewall) restoreChains(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.restore, "--noflush", "--wait")
	cmd.Stdin = strings.NewReader(restoreText(w.tables))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return explainRestore(w.family.restoreProgram, w.tables, stderr.String(), err)
	}
	return nil
}

func (w *firewall) ensureJump(j jump) error {
	listing, err := w.ipt.List(j.table, j.chain)
	if err != nil {
		return fmt.Errorf("%s: list table %s, chain %s (needs kernel module %s): %w", w.family.name, j.table, j.chain, tableModules(j.table), err)
	}
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
