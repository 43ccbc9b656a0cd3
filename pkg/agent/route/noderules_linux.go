// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// Chains and sets of Node policies, under Antrea's names.
const (
	chainPolicyPrefix = chainPrefix + "POL-"

	chainPreIngress      = chainPolicyPrefix + "PRE-INGRESS-RULES"
	chainIngress         = chainPolicyPrefix + "INGRESS-RULES"
	chainIngressBaseline = chainPolicyPrefix + "INGRESS-BASELINE"
	chainPreEgress       = chainPolicyPrefix + "PRE-EGRESS-RULES"
	chainEgress          = chainPolicyPrefix + "EGRESS-RULES"
	chainEgressBaseline  = chainPolicyPrefix + "EGRESS-BASELINE"

	// The chains of a trial: of rules in the chains above, and of the others.
	chainTrial, chainTrialPart = chainPolicyPrefix + "TRIAL", chainPolicyPrefix + "TRIAL-PART"

	// maxPolicyID is the number of characters of a NodePolicyRule's ID that fit a chain (28) and an ipset (31) with prefix and suffix.
	maxPolicyID = 16
	// maxComment is the number of characters of a comment (XT_MAX_COMMENT_LEN, include/uapi/linux/netfilter/xt_comment.h), maxLogPrefix of a
	// log prefix (xt_LOG.h).
	maxComment, maxLogPrefix = 255, 29
)

// NodePolicyRule is a rule of an Antrea-native policy that applies to this Node. It concerns connections of the host's own programs:
// packets that the Node forwards, such as Pods', do not meet it.
type NodePolicyRule struct {
	// ID names the rule's chain and sets. It has at most 16 of the characters 0-9 and A-Z, and is unique.
	ID string
	// Comment names rule and policy. A long one is cut.
	Comment   string
	Direction policy.Direction
	// Baseline reports whether the rule belongs to the baseline tier.
	Baseline bool
	Action   policy.Action
	// Peers are the sources of ingress, and the destinations of egress, of both IP versions. A rule without peers of an IP version does not
	// exist there; 0.0.0.0/0 and ::/0 match everything.
	Peers []netip.Prefix
	// Services are alternatives. A rule without Services matches every protocol and port.
	Services []NodePolicyService
	// LogPrefix is the beginning of the kernel's log line about each packet that the rule matches; empty for none. A long one is cut.
	LogPrefix string
}

// NodePolicyService is a protocol, with ranges of ports that include both ends.
type NodePolicyService struct {
	// Protocol is the IP protocol number of TCP, UDP, SCTP or ICMP. The last stands for ICMPv6 in IPv6.
	Protocol uint8
	// Ports and SourcePorts are nil for any.
	Ports, SourcePorts *PortRange
	// ICMPType and ICMPCode are nil for any. ICMPCode needs ICMPType.
	ICMPType, ICMPCode *uint8
}

// PortRange contains First, Last and the ports between them.
type PortRange struct{ First, Last uint16 }

func (r PortRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return fmt.Sprintf("%d:%d", r.First, r.Last)
}

// nodePolicy is the desired content of the chains and sets of one family.
type nodePolicy struct {
	chains []string
	rules  []rule
	// sets has the entries of each set.
	sets map[string]map[netip.Prefix]bool
}

// newNodePolicy renders rules, which are in the order of evaluation, for a family.
func newNodePolicy(f family, rules []NodePolicyRule) (*nodePolicy, error) {
	t := table{chains: []string{chainIngress, chainIngressBaseline, chainEgress, chainEgressBaseline}}
	p := &nodePolicy{sets: map[string]map[netip.Prefix]bool{}}
	for _, r := range rules {
		if err := r.validate(); err != nil {
			return nil, fmt.Errorf("rule %s for the Node (%s): %w", r.ID, r.Comment, err)
		}
		address, ok := p.addressMatch(f, r)
		if !ok {
			continue
		}
		target, matches := r.chain(), r.serviceMatches(f)
		if len(matches) > 1 && r.Action != policy.Pass { // which returns from the chain of the tiers
			target = chainPolicyPrefix + r.ID
			t.chains = append(t.chains, target)
			t.addPolicy(r.chain(), r.comment(), slices.Concat(address, []string{"-j", target}))
			address = nil
		}
		for _, match := range matches {
			if r.LogPrefix != "" {
				t.addPolicy(target, r.comment(), slices.Concat(address, match, []string{"-j", "LOG", "--log-prefix", printable(r.LogPrefix, maxLogPrefix)}))
			}
			t.addPolicy(target, r.comment(), slices.Concat(address, match, r.verdict()))
		}
	}
	p.chains, p.rules = t.chains, t.rules
	return p, nil
}

// trial returns the rules in two chains of their own.
func (p *nodePolicy) trial() table {
	t := table{name: tableFilter, chains: []string{chainTrial, chainTrialPart}}
	for _, r := range p.rules {
		args, chain := slices.Clone(r.args), chainTrialPart
		if last := len(args) - 1; strings.HasPrefix(args[last], chainPolicyPrefix) {
			args[last], chain = chainTrialPart, chainTrial // It leads to a chain of its own.
		}
		t.rules = append(t.rules, rule{chain, args})
	}
	return t
}

func (r NodePolicyRule) validate() error {
	if r.ID == "" || len(r.ID) > maxPolicyID {
		return fmt.Errorf("id %q: must have 1 to %d characters", r.ID, maxPolicyID)
	}
	if r.Action < policy.Allow || r.Action > policy.Pass {
		return fmt.Errorf("action %v: must be %v, %v, %v or %v", r.Action, policy.Allow, policy.Drop, policy.Reject, policy.Pass)
	}
	if r.Direction != policy.Ingress && r.Direction != policy.Egress {
		return fmt.Errorf("direction %v: must be %v or %v", r.Direction, policy.Ingress, policy.Egress)
	}
	for _, s := range r.Services {
		switch s.Protocol {
		case unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP, unix.IPPROTO_ICMP:
		default:
			return fmt.Errorf("protocol %d: must be TCP, UDP, SCTP or ICMP", s.Protocol)
		}
	}
	return nil
}

func (r NodePolicyRule) chain() string {
	switch {
	case r.Direction == policy.Egress && r.Baseline:
		return chainEgressBaseline
	case r.Direction == policy.Egress:
		return chainEgress
	case r.Baseline:
		return chainIngressBaseline
	}
	return chainIngress
}

func (r NodePolicyRule) comment() string { return printable("Antrea: "+r.Comment, maxComment) }

// printable returns the beginning of a text, with spaces instead of control characters: a line feed in one rule would make iptables-restore
// refuse all.
func printable(text string, length int) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	return text[:min(len(text), length)]
}

// addressMatch returns the match of the rule's peers. ok is false if none is of the family.
func (p *nodePolicy) addressMatch(f family, r NodePolicyRule) (match []string, ok bool) {
	entries := map[netip.Prefix]bool{}
	for _, peer := range r.Peers {
		if f.has(peer.Addr()) && peer.Bits() == 0 {
			return nil, true
		}
		if f.has(peer.Addr()) {
			entries[peer.Masked()] = true
		}
	}
	option, side := "-s", "src"
	if r.Direction == policy.Egress {
		option, side = "-d", "dst"
	}
	switch len(entries) {
	case 0:
		return nil, false
	case 1:
		for peer := range entries {
			return []string{option, peer.String()}, true
		}
	}
	set := chainPolicyPrefix + r.ID + f.policySetSuffix
	p.sets[set] = entries
	return []string{"-m", "set", "--match-set", set, side}, true
}

// serviceMatches returns a match for each service, and one without condition if there are none.
func (r NodePolicyRule) serviceMatches(f family) (matches [][]string) {
	if len(r.Services) == 0 {
		return everyPacket
	}
	for _, s := range r.Services {
		matches = append(matches, s.match(f))
	}
	return matches
}

func (s NodePolicyService) match(f family) []string {
	switch s.Protocol {
	case unix.IPPROTO_ICMP:
		match := []string{"-p", f.icmpName}
		if s.ICMPType == nil {
			return match
		}
		kind := strconv.Itoa(int(*s.ICMPType))
		if s.ICMPCode != nil {
			kind += "/" + strconv.Itoa(int(*s.ICMPCode))
		}
		return append(match, "-m", f.icmpMatch, "--"+f.icmpName+"-type", kind)
	case unix.IPPROTO_SCTP:
		// Few kernels have the module for SCTP's ports; multiport knows them as well. The name may be missing in /etc/protocols.
		match := []string{"-p", "132"}
		if s.Ports != nil {
			match = append(match, "-m", "multiport", "--dports", s.Ports.String())
		}
		if s.SourcePorts != nil {
			match = append(match, "-m", "multiport", "--sports", s.SourcePorts.String())
		}
		return match
	}
	name := "tcp"
	if s.Protocol == unix.IPPROTO_UDP {
		name = "udp"
	}
	match := []string{"-p", name}
	if s.Ports != nil || s.SourcePorts != nil {
		match = append(match, "-m", name)
	}
	if s.SourcePorts != nil {
		match = append(match, "--sport", s.SourcePorts.String())
	}
	if s.Ports != nil {
		match = append(match, "--dport", s.Ports.String())
	}
	return match
}

// verdict returns the target. Pass leaves the chain of the tiers before the baseline tier; Kubernetes NetworkPolicies do not apply to Nodes.
func (r NodePolicyRule) verdict() []string {
	switch r.Action {
	case policy.Allow:
		return []string{"-j", "ACCEPT"}
	case policy.Reject:
		return []string{"-j", "REJECT"}
	case policy.Pass:
		return []string{"-j", "RETURN"}
	}
	return []string{"-j", "DROP"}
}

// neighborDiscovery are the ICMPv6 types without which a Node reaches nothing by IPv6 (RFC 4861). A policy for all of ICMPv6 does not mean them.
var neighborDiscovery = []string{"133", "134", "135", "136"}

// addNodePolicies leads the host's packets to the chains of policies, after the ports that the agent itself needs. Established connections
// are not judged again.
func (t *table) addNodePolicies(p ruleParams) {
	for _, d := range []struct{ chain, device, pre, tiers, baseline string }{
		{chainPrefix + chainInput, "-i", chainPreIngress, chainIngress, chainIngressBaseline},
		{chainPrefix + chainOutput, "-o", chainPreEgress, chainEgress, chainEgressBaseline},
	} {
		t.chains = append(t.chains, d.pre)
		t.add(d.pre, "accept established connections", "-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "ACCEPT")
		t.add(d.pre, "accept connections of the Node to itself", d.device, "lo", "-j", "ACCEPT")
		if p.icmp == familyIPv6.icmpName {
			for _, kind := range neighborDiscovery {
				t.add(d.pre, "accept neighbor discovery", "-p", p.icmp, "-m", familyIPv6.icmpMatch, "--"+p.icmp+"-type", kind, "-j", "ACCEPT")
			}
		}
		for _, chain := range []string{d.pre, d.tiers, d.baseline} {
			t.add(d.chain, "apply policies of the Node", "-j", chain)
		}
	}
	if p.nodePolicy != nil {
		t.chains = append(t.chains, p.nodePolicy.chains...)
		t.rules = append(t.rules, p.nodePolicy.rules...)
	}
}

func (t *table) addPolicy(chain, comment string, args []string) {
	t.rules = append(t.rules, rule{chain: chain, args: append([]string{"-m", "comment", "--comment", comment}, args...)})
}
