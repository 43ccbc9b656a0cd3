// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// matchModules are the kernel modules of the matches and targets in use whose name is not simply "xt_" + name.
var matchModules = map[string]string{"udp": "xt_tcpudp", "tcp": "xt_tcpudp"}
var targetModules = map[string]string{"NOTRACK": "xt_CT", "MARK": "xt_mark", "MASQUERADE": "xt_MASQUERADE", "DNAT": "xt_nat", "SNAT": "xt_nat"}

// ruleModules names the kernel modules that a rule needs, in the order of its arguments.
func ruleModules(args []string) []string {
	var modules []string
	for i := 0; i+1 < len(args); i++ {
		var module string
		switch args[i] {
		case "-m":
			if module = matchModules[args[i+1]]; module == "" {
				module = "xt_" + args[i+1]
			}
		case "-j":
			module = targetModules[args[i+1]]
		}
		if module != "" && !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
	}
	return modules
}

// tableModules names the modules that provide a table. iptables has two backends, and the image decides which one is
// installed.
func tableModules(name string) string {
	return fmt.Sprintf("iptable_%s (legacy backend), or nf_tables and nft_compat (nf_tables backend)", name)
}

var failedLine = regexp.MustCompile(`line:? (\d+)`)

// explainRestore turns a failure of iptables-restore into an error that names the table, chain and rule at fault, and the
// kernel modules that they need. iptables-restore counts lines from 1; the legacy backend reports the COMMIT line.
func explainRestore(program string, tables []table, stderr string, cause error) error {
	stderr = strings.TrimSpace(stderr)
	found := failedLine.FindStringSubmatch(stderr)
	if found == nil {
		return fmt.Errorf("%s: %w: %s", program, cause, stderr)
	}
	at, _ := strconv.Atoi(found[1])
	line := 0
	for _, t := range tables {
		header := line + 1
		line += 1 + len(t.chains)
		if at >= header && at <= line {
			return fmt.Errorf("%s: table %s cannot be used: %w: %s (needs kernel module %s)", program, t.name, cause, stderr, tableModules(t.name))
		}
		var all []string
		for _, r := range t.rules {
			line++
			if at == line {
				return fmt.Errorf("%s: table %s, chain %s, rule %q refused: %w: %s (needs kernel modules %s)",
					program, t.name, r.chain, r, cause, stderr, strings.Join(ruleModules(r.args), ", "))
			}
			for _, m := range ruleModules(r.args) {
				if !slices.Contains(all, m) {
					all = append(all, m)
				}
			}
		}
		line++
		if at == line {
			return fmt.Errorf("%s: table %s, chains %s not committed: %w: %s (needs kernel modules %s)",
				program, t.name, strings.Join(t.chains, ", "), cause, stderr, strings.Join(all, ", "))
		}
	}
	return fmt.Errorf("%s: %w: %s", program, cause, stderr)
}
