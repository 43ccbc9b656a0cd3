// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ForeignMarks watches for other people's rules that change the mark of packets.
type ForeignMarks struct {
	// Bits are the bits of the mark that no other program may change.
	Bits uint32
	// Found is called after each look at the rules, about once a minute, with those that change any of Bits: each is its table and the rule as
	// iptables-save(8) prints it. program is iptables or ip6tables. There may be none.
	Found func(program string, rules []string)
}

func (m ForeignMarks) report(f family, rules map[string][]string) {
	if m.Found != nil {
		m.Found(f.protocolName(), markRules(rules, m.Bits))
	}
}

// hostPortMarks is the chain in which the CNI plugin portmap marks connections to ports of the host. It leads them to a Pod of this Node through the
// host, where nothing is cached and no other rule reads the mark before portmap has read it.
const hostPortMarks = "CNI-HOSTPORT-SETMARK"

// markRules returns the rules outside of our chains that change any of these bits, each after the name of its table.
func markRules(rules map[string][]string, bits uint32) (found []string) {
	for _, table := range slices.Sorted(maps.Keys(rules)) {
		for _, line := range rules[table] {
			if !strings.Contains(line, "MARK --") { // as nearly all of kube-proxy's thousands
				continue
			}
			args := splitArgs(line)
			if len(args) > 1 && !strings.HasPrefix(args[1], chainPrefix) && args[1] != hostPortMarks && changedMark(args)&bits != 0 {
				found = append(found, table+" "+line)
			}
		}
	}
	return found
}

// changedMark returns the bits of the packet mark that a rule may change, from its arguments as iptables-save(8) prints them: MARK with
// --set-xmark VALUE/MASK, CONNMARK with --restore-mark [--nfmask MASK] (iptables-extensions(8)).
func changedMark(args []string) uint32 {
	switch {
	case leadsTo(args, []string{"MARK"}):
		value, mask, _ := strings.Cut(argument(args, "--set-xmark"), "/")
		return number(value, 0) | number(mask, ^uint32(0))
	case leadsTo(args, []string{"CONNMARK"}) && slices.Contains(args, "--restore-mark"):
		return number(argument(args, "--nfmask"), ^uint32(0))
	}
	return 0
}

// number parses 0x1f or 31; other is for a text that is not a number.
func number(text string, other uint32) uint32 {
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return other
	}
	return uint32(n)
}
