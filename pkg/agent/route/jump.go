// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"
	"strings"
)

// jump leads from a built-in chain to the custom chain.
type jump struct {
	table, chain string
	// first puts a new jump at the head of the chain: accept rules are useless below a firewall's final REJECT, and so are
	// drop rules below somebody's ACCEPT. In FORWARD of the filter table and in POSTROUTING jumps are appended, because
	// packets must meet kube-proxy's rules first (source ranges of LoadBalancers, its own masquerade).
	first bool
}

// jumps are the jump rules, in the order of the tables.
var jumps = []jump{
	{table: tableRaw, chain: chainPrerouting, first: true},
	{table: tableRaw, chain: chainOutput},
	{table: tableMangle, chain: chainForward, first: true},
	{table: tableMangle, chain: chainOutput},
	{table: tableFilter, chain: chainInput, first: true},
	{table: tableFilter, chain: chainForward},
	{table: tableFilter, chain: chainOutput, first: true},
	{table: tableNAT, chain: chainPostrouting},
}

// nodePortJumps are those of proxyAll: before kube-proxy's, so that NodePorts are the agent's while both run.
var nodePortJumps = []jump{
	{table: tableNAT, chain: chainPrerouting, first: true},
	{table: tableNAT, chain: chainOutput, first: true},
}

// desiredJumps returns the jumps that lead to chains of desiredTables.
func desiredJumps(p ruleParams) []jump {
	if p.proxyAll() {
		return slices.Concat(jumps, nodePortJumps)
	}
	return jumps
}

func (j jump) target() string {
	return chainPrefix + j.chain
}

func (j jump) args() []string {
	return []string{"-m", "comment", "--comment", "Antrea: jump to own rules", "-j", j.target()}
}

// jumpChanges compares a chain, as iptables-save lists it, with the one jump that it should have. It returns whether to add
// the jump, and which rules (arguments after "-A chain", with repetitions) to delete.
func jumpChanges(j jump, listing []string) (add bool, remove [][]string) {
	add = true
	for _, line := range listing {
		args := splitArgs(line)
		if len(args) < 2 || args[0] != "-A" || args[1] != j.chain {
			continue
		}
		args = args[2:]
		if i := slices.Index(args, "-j"); i < 0 || i+1 >= len(args) || args[i+1] != j.target() {
			continue
		}
		if add && slices.Equal(args, j.args()) {
			add = false
			continue
		}
		remove = append(remove, args)
	}
	return add, remove
}

// rulesByTable parses the output of iptables-save(8): a line *TABLE, then the table's rules as lines of arguments.
func rulesByTable(saved string) map[string][]string {
	rules := map[string][]string{}
	table := ""
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = name
		} else if strings.HasPrefix(line, "-A ") {
			rules[table] = append(rules[table], line)
		}
	}
	return rules
}

// splitArgs undoes the quoting of iptables-save: double quotes around an argument, with backslash escapes inside.
func splitArgs(line string) []string {
	var args []string
	var arg strings.Builder
	started, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\' && i+1 < len(line):
			i++
			arg.WriteByte(line[i])
		case c == '"':
			quoted, started = !quoted, true
		case c == ' ' && !quoted:
			if started {
				args = append(args, arg.String())
				arg.Reset()
				started = false
			}
		default:
			arg.WriteByte(c)
			started = true
		}
	}
	if started {
		args = append(args, arg.String())
	}
	return args
}
