// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// jump leads from a built-in chain to the custom chain, by one rule for each of matches.
type jump struct {
	table, chain string
	// to is the custom chain if that is not named after the built-in one; such a jump exists while the chain is empty.
	to string
	// first puts a new jump at the head of the chain: accept rules are useless below a firewall's final REJECT, and so are
	// drop rules below another program's ACCEPT. In FORWARD of the filter table and in POSTROUTING jumps are appended, because
	// packets must meet kube-proxy's rules first (source ranges of LoadBalancers, its own masquerade).
	first bool
	// matches are arguments of iptables: every packet that a rule of the custom chain can match meets one of them. The host's
	// other packets are spared the jump, which takes as long as several comparisons. The most frequent come first. Without any,
	// nothing leads to the chain.
	matches [][]string
}

// everyPacket are the matches of a jump without condition.
var everyPacket = [][]string{nil}

// desiredJumps returns the jumps that lead to chains of desiredTables, in the order of the tables. Jumps to empty chains have no
// matches.
func desiredJumps(p ruleParams) []jump {
	all := []jump{
		{table: tableRaw, chain: chainPrerouting, first: true, matches: slices.Concat(tunnelMatches(p), p.plainPods(), p.fromClusters())},
		{table: tableRaw, chain: chainOutput, matches: tunnelMatches(p)},
		{table: tableMangle, chain: chainForward, first: true, matches: slices.Concat(forwardMatches(p), p.throughClusters())},
		{table: tableMangle, chain: chainOutput, matches: [][]string{{"-o", p.gateway}}},
		{table: tableFilter, chain: chainInput, first: true, matches: inputMatches(p)},
		{table: tableFilter, chain: chainForward, matches: everyPacket},
		{table: tableFilter, chain: chainOutput, first: true, matches: outputMatches(p)},
		{table: tableNAT, chain: chainPostrouting, matches: everyPacket},
	}
	if p.podPortsOn && p.podCIDR.IsValid() {
		all = append(all, podPortJumps...)
	}
	if p.proxyAll() {
		all = append(all, proxyAllJumps(p)...)
		i := slices.IndexFunc(all, func(j jump) bool { return j.table == tableMangle && j.chain == chainOutput })
		all[i].matches = append(all[i].matches, []string{"-m", "set", "--match-set", p.serviceSet, "dst,dst"})
	}
	if leaving := slices.Concat(p.leavingPods(), p.leavingClusters()); len(leaving) > 0 {
		all = withLeaving(all, leaving)
	}
	tables := desiredTables(p)
	for i, j := range all {
		t := tables[slices.IndexFunc(tables, func(t table) bool { return t.name == j.table })]
		if j.to == "" && !slices.ContainsFunc(t.rules, func(r rule) bool { return r.chain == j.target() }) {
			all[i].matches = nil
		}
	}
	return all
}

// withLeaving leads packets that leave without being encrypted to the chain of POSTROUTING, which exists without proxyAll, then.
func withLeaving(all []jump, leaving [][]string) []jump {
	i := slices.IndexFunc(all, func(j jump) bool { return j.table == tableMangle && j.chain == chainPostrouting })
	if i < 0 {
		return append(all, jump{table: tableMangle, chain: chainPostrouting, first: true, matches: leaving})
	}
	all[i].first, all[i].matches = true, append(all[i].matches, leaving...)
	return all
}

// proxyAllJumps are the jumps to chains that exist only with proxyAll. NodePorts come before kube-proxy's, so that they are the agent's while both run.
func proxyAllJumps(p ruleParams) []jump {
	bit := fmt.Sprintf("%#x", config.ServiceMark)
	return []jump{
		{table: tableMangle, chain: chainPrerouting, matches: [][]string{{"!", "-i", p.gateway, "-m", "set", "--match-set", p.serviceSet, "dst,dst"}}},
		{table: tableMangle, chain: chainPostrouting, matches: [][]string{{"-o", p.gateway, "-m", "mark", "--mark", bit + "/" + bit}}},
		{table: tableNAT, chain: chainPrerouting, first: true, matches: everyPacket},
		{table: tableNAT, chain: chainOutput, first: true, matches: everyPacket},
	}
}

// tunnelMatches match tunnel packets, and all packets for protocols without ports: iptables-save writes their name or their
// number, depending on the machine's /etc/protocols.
func tunnelMatches(p ruleParams) [][]string {
	if p.tunnelPort == 0 {
		return everyPacket
	}
	return p.tunnelPackets()
}

// forwardMatches match what mangleTable drops in FORWARD.
func forwardMatches(p ruleParams) [][]string {
	matches := slices.Concat(tunnelMatches(p), p.keptPorts())
	if p.tunnelPort != 0 && p.egress && p.podCIDR.IsValid() {
		matches = append(matches, p.anyEgressMark(), p.remotePods())
	}
	if p.tunnelPort != 0 {
		matches = append(append(matches, p.forgedPods()...), p.untranslated()...)
	}
	return matches
}

// inputMatches match what filterTable accepts or drops in INPUT.
func inputMatches(p ruleParams) [][]string {
	if p.tunnelPort == 0 || p.nodePolicies {
		return everyPacket
	}
	return slices.Concat(tunnelMatches(p), p.encryptedPackets(), rangeMatches("--dport", p.ports.services()), p.healthChecks())
}

// outputMatches match what filterTable accepts or marks in OUTPUT.
func outputMatches(p ruleParams) [][]string {
	if p.tunnelPort == 0 || p.nodePolicies {
		return everyPacket
	}
	all := p.ports.services()
	dialled := slices.DeleteFunc(slices.Clone(all), func(s service) bool { return !s.dialled })
	matches := slices.Concat([][]string{p.tunnelPacket()}, p.encryptedPackets(), rangeMatches("--sport", all), rangeMatches("--dport", dialled))
	for _, destination := range p.translatedToPods() {
		matches = append(matches, []string{"-d", destination})
	}
	return matches
}

// rangeMatches match the ports of services, and the ports between them: one comparison for each protocol.
func rangeMatches(direction string, services []service) (matches [][]string) {
	for _, protocol := range []string{"tcp", "udp"} {
		var ports []uint16
		for _, s := range services {
			if s.protocol == protocol {
				ports = append(ports, s.port)
			}
		}
		if len(ports) == 0 {
			continue
		}
		match := portMatch(protocol, direction, slices.Min(ports))
		if low, high := slices.Min(ports), slices.Max(ports); low < high {
			match[len(match)-1] = fmt.Sprintf("%d:%d", low, high)
		}
		matches = append(matches, match)
	}
	return matches
}

func (j jump) target() string {
	if j.to != "" {
		return j.to
	}
	return chainPrefix + j.chain
}

// rules returns the arguments of each of the jump's rules.
func (j jump) rules() [][]string {
	var rules [][]string
	for _, match := range j.matches {
		rules = append(rules, slices.Concat(match, []string{"-j", j.target()}))
	}
	return rules
}

// jumpChanges compares a chain, as iptables-save lists it, with the jump's rules that it should have. It returns which rules
// (arguments after "-A chain", with repetitions) to add, and which to delete.
func jumpChanges(j jump, listing []string) (add, remove [][]string) {
	add = j.rules()
	for _, line := range listing {
		if !strings.HasPrefix(line, "-A "+j.chain+" ") {
			continue
		}
		args := splitArgs(line)[2:]
		if i := slices.Index(args, "-j"); i < 0 || i+1 >= len(args) || args[i+1] != j.target() {
			continue
		}
		if i := slices.IndexFunc(add, func(want []string) bool { return sameArgs(want, args) }); i >= 0 {
			add = slices.Delete(add, i, i+1)
			continue
		}
		remove = append(remove, args)
	}
	return add, remove
}

// sameArgs compares without order, which iptables-save may change.
func sameArgs(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
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

// argument returns what follows an option in the arguments of a rule, empty if it is not there.
func argument(args []string, option string) string {
	if i := slices.Index(args, option); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
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
