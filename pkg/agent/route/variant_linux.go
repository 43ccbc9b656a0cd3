// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"k8s.io/klog/v2"
)

// The kernel has two implementations of iptables, and a packet meets the rules of both: an accept in one does not overrule a drop, or the policy
// DROP, in the other. The rules of the agent belong to the one that the Node uses. Where the other implementation has the policy DROP, the rules of table
// filter, which accept, are in both.

// variant is the suffix of the programs of an implementation; empty for programs without one.
type variant string

const (
	variantNFT    variant = "-nft"
	variantLegacy variant = "-legacy"
)

// other returns the other implementation; empty if there is none.
func (v variant) other() variant {
	switch v {
	case variantNFT:
		return variantLegacy
	case variantLegacy:
		return variantNFT
	}
	return ""
}

// program is the name of a tool of an implementation, such as ip6tables-legacy-save. Tool is empty for the program that edits single rules.
func (f family) program(v variant, tool string) string {
	return strings.TrimSuffix(f.saveProgram, "-save") + string(v) + tool
}

// variants returns the implementations of which this machine has the programs; the one without suffix if it has neither.
func (f family) variants() (found []variant) {
	for _, v := range []variant{variantNFT, variantLegacy} {
		if _, err := exec.LookPath(f.program(v, "-save")); err == nil {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return []variant{""}
	}
	return found
}

// hints are chains that kubelet makes with the Node's iptables, in the table mangle.
var hints = []string{":KUBE-IPTABLES-HINT ", ":KUBE-KUBELET-CANARY "}

// usage tells how much an implementation is in use.
type usage struct {
	hint  bool
	rules int
}

// read adds what iptables-save(8) prints. Rules in our chains and those that lead there say nothing about the Node.
func (u *usage) read(saved string) {
	for line := range strings.Lines(saved) {
		for _, hint := range hints {
			u.hint = u.hint || strings.HasPrefix(line, hint)
		}
		if strings.HasPrefix(line, "-A ") && !strings.Contains(line, " "+chainPrefix) {
			u.rules++
		}
	}
}

// chooseVariant returns the implementation that the Node uses, as the wrapper of iptables for Kubernetes (github.com/kubernetes-sigs/iptables-wrappers)
// decides: the one with kubelet's hints, or else the one with more rules, of both IP versions together. If they have the same number, it is
// the one that the programs without suffix are.
func (f family) chooseVariant(ctx context.Context) variant {
	found := f.variants()
	if len(found) == 1 {
		return found[0]
	}
	var nft, legacy usage
	for _, each := range []family{familyIPv4, familyIPv6} {
		for v, u := range map[variant]*usage{variantNFT: &nft, variantLegacy: &legacy} {
			saved, err := each.saved(ctx, v)
			if err != nil {
				// Such as a kernel without IPv6. If this agent needs it, its rules will fail.
				klog.ErrorS(err, "Could not look for the Node's iptables, so these rules do not count")
				continue
			}
			u.read(saved)
		}
	}
	chosen := variantNFT
	switch {
	case nft.hint:
	case legacy.hint, legacy.rules > nft.rules:
		chosen = variantLegacy
	case legacy.rules == nft.rules:
		// Without the programs there is no preference.
		version, _, _ := runProgram(ctx, "", f.program("", ""), "-V")
		if strings.Contains(version, "(legacy)") {
			chosen = variantLegacy
		}
	}
	klog.InfoS("Chose the Node's iptables", "program", f.program(chosen, ""), "nftHint", nft.hint, "nftRules", nft.rules, "legacyHint", legacy.hint, "legacyRules", legacy.rules)
	return chosen
}

// saved returns the output of iptables-save(8). It does not ask for tables that the legacy implementation does not have, which would load kernel modules.
func (f family) saved(ctx context.Context, v variant) (stdout string, err error) {
	if v == variantLegacy && !f.hasLegacyTables() {
		return "", nil
	}
	program := f.program(v, "-save")
	err = retryBusy(func() (err error) {
		var stderr string
		if stdout, stderr, err = runProgram(ctx, "", program); err != nil {
			return fmt.Errorf("%s: list all rules by %s: %w: %s", f.name, program, err, strings.TrimSpace(stderr))
		}
		return nil
	})
	return stdout, err
}

// hasLegacyTables reports whether this network namespace has tables of the legacy implementation.
func (f family) hasLegacyTables() bool {
	names, err := os.ReadFile("/proc/thread-self/net/" + strings.Replace(f.program("", ""), "tables", "_tables", 1) + "_names")
	return err == nil && len(names) > 0
}

// programs returns the paths of the programs of an implementation.
func (f family) programs(v variant) (edit, restore, save string, err error) {
	for tool, path := range map[string]*string{"": &edit, "-restore": &restore, "-save": &save} {
		if *path, err = exec.LookPath(f.program(v, tool)); err != nil {
			return "", "", "", fmt.Errorf("%s firewall: %w", f.name, err)
		}
	}
	return edit, restore, save, nil
}
