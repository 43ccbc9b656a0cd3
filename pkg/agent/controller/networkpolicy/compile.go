// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// ruleKey identifies a rule on the switch. A rule with named ports becomes several: one for each set of numbers that the
// names stand for.
type ruleKey struct {
	// policy is the name of the internal policy, the UID of its source.
	policy string
	// rule is a hash of what the rule says, without its groups' members: a rule that is edited is another rule.
	rule string
	// ports are the services with names replaced by numbers.
	ports string
}

// wantedRule is a rule as it should be on the switch, but for its flow id.
type wantedRule struct {
	policy.Rule
	// index is the rule's place in the policy.
	index int
}

// compile returns the rules of a policy all groups of which are known. It fails for a policy that makes no sense.
func (s *state) compile(np *v1beta2.NetworkPolicy) (map[ruleKey]*wantedRule, error) {
	c := compilation{state: s, np: np, targets: map[string]target{}, rules: map[ruleKey]*wantedRule{}}
	for i := range np.Rules {
		if err := c.compileRule(i); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i, err)
		}
	}
	return c.rules, nil
}

// compilation makes the rules of one policy.
type compilation struct {
	*state
	np *v1beta2.NetworkPolicy
	// targets are the targets of AppliedToGroups, by the text of the groups' names.
	targets map[string]target
	rules   map[ruleKey]*wantedRule
}

// targetOf returns what a rule applies to.
func (c *compilation) targetOf(rule *v1beta2.NetworkPolicyRule) target {
	names := targetsOf(c.np, rule)
	key := strings.Join(names, " ")
	t, known := c.targets[key]
	if !known {
		t = c.target(names)
		c.targets[key] = t
	}
	return t
}

func (c *compilation) compileRule(index int) error {
	rule := &c.np.Rules[index]
	direction, peer, err := otherEnd(rule)
	if err != nil {
		return err
	}
	effect, closed, err := c.effectOf(c.np, rule)
	if err != nil {
		return err
	}
	hash, err := ruleHash(rule)
	if err != nil {
		return err
	}
	target := c.targetOf(rule)
	if len(target.pods) > 0 && closed {
		c.add(index, ruleKey{c.np.Name, hash, ""}, policy.Closing(effect, direction, podsOf(target.pods)))
	}
	if len(target.services) > 0 && direction == policy.Ingress && effect.Order.Stage != policy.StageKubernetes {
		if err := c.compileForServices(index, hash, effect, closed, target.services); err != nil {
			return err
		}
	}
	if len(target.pods) == 0 || closed {
		return nil
	}
	return c.compileForPods(index, hash, effect, target.pods, peer)
}

// compileForPods adds the parts of a rule for the Pods that it applies to.
func (c *compilation) compileForPods(index int, hash string, effect policy.Effect, pods map[podName]appliedPod, peer v1beta2.NetworkPolicyPeer) error {
	rule := &c.np.Rules[index]
	blocks, err := peerBlocks(peer)
	if err != nil {
		return err
	}
	split, direction := c.splitIngress, policyDirections[rule.Direction]
	if direction == policy.Egress {
		split = c.splitEgress
	}
	parts, err := split(rule.Services, pods, peer, blocks)
	if err != nil {
		return err
	}
	for ports, p := range parts {
		compiled := policy.Rule{
			Effect: effect, Direction: direction, AppliedTo: p.applied, Peers: p.peers, PeerAddresses: p.addresses, PeerServices: p.peerServices, Services: p.services,
		}
		if ports == noPorts {
			compiled.Peers, compiled.PeerAddresses, compiled.PeerServices = nil, nil, nil
		}
		c.add(index, ruleKey{c.np.Name, hash, ports}, compiled)
	}
	return nil
}

// compileForServices adds the part of a rule for connections to the NodePorts of Services. Names of ports have no meaning there: a rule that allows
// does without them, others close.
func (c *compilation) compileForServices(index int, hash string, effect policy.Effect, closed bool, groups []uint32) error {
	rule := &c.np.Rules[index]
	compiled := policy.Closing(effect, policy.Ingress, nil)
	if !closed && (effect.Action == policy.Allow || !slices.ContainsFunc(rule.Services, isNamed)) {
		blocks, err := peerBlocks(rule.From)
		if err != nil {
			return err
		}
		services, err := resolveServices(rule.Services, nil)
		if err != nil {
			return err
		}
		compiled = policy.Rule{Effect: effect, Direction: policy.Ingress, Peers: blocks, PeerAddresses: c.addressesOf(rule.From), Services: services}
		if len(services) == 0 && len(rule.Services) > 0 {
			compiled.Peers, compiled.PeerAddresses = nil, nil
		}
	}
	compiled.AppliedToServices = groups
	c.add(index, ruleKey{c.np.Name, hash, nodePorts}, compiled)
	return nil
}

// nodePorts is the key of the part of a rule that is about connections to NodePorts.
const nodePorts = "NodePorts"

// add adds a rule with what the log and statistics show of it.
func (c *compilation) add(index int, key ruleKey, compiled policy.Rule) {
	rule := &c.np.Rules[index]
	compiled.Name = rule.Name
	if rule.EnableLogging {
		compiled.LogReference, compiled.LogLabel = logReference(c.np), rule.LogLabel
	}
	c.rules[key] = &wantedRule{Rule: compiled, index: index}
}

// logReference names a policy in the audit log. It is never empty.
func logReference(np *v1beta2.NetworkPolicy) string {
	if np.SourceRef == nil {
		return np.Name
	}
	return np.SourceRef.ToString()
}

// otherEnd returns the direction of a rule, and the other ends of the connections that it matches.
func otherEnd(rule *v1beta2.NetworkPolicyRule) (policy.Direction, v1beta2.NetworkPolicyPeer, error) {
	switch rule.Direction {
	case v1beta2.DirectionIn:
		return policy.Ingress, rule.From, nil
	case v1beta2.DirectionOut:
		return policy.Egress, rule.To, nil
	}
	return 0, v1beta2.NetworkPolicyPeer{}, fmt.Errorf("direction %q: must be %s or %s", rule.Direction, v1beta2.DirectionIn, v1beta2.DirectionOut)
}

func peerBlocks(peer v1beta2.NetworkPolicyPeer) (blocks []netip.Prefix, err error) {
	for _, block := range peer.IPBlocks {
		prefixes, err := blockPrefixes(block)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, prefixes...)
	}
	return blocks, nil
}

// part is a rule for some of its Pods or peers: the ones for which the names of services stand for the same ports. Ports belong to
// the destination, and names are resolved there.
type part struct {
	applied      []policy.Pod
	peers        []netip.Prefix
	addresses    []policy.AddressSet
	peerServices []uint32
	services     []policy.Service
}

// noPorts is the key of the part in which none of the services' names stands for a port: it matches nothing, as opposed to
// everything.
const noPorts = "none"

// ruleParts are the parts of a rule by the text of their services.
type ruleParts map[string]*part

// add returns the part for these ports, a new one if there is none.
func (parts ruleParts) add(services []v1beta2.Service, ports []v1beta2.NamedPort) (*part, error) {
	resolved, err := resolveServices(services, ports)
	if err != nil {
		return nil, err
	}
	key := servicesText(resolved)
	if len(resolved) == 0 && len(services) > 0 {
		key = noPorts
	}
	if parts[key] == nil {
		parts[key] = &part{services: resolved}
	}
	return parts[key], nil
}

// splitIngress has a part for each meaning that the names have at the Pods that the rule is applied to.
func (s *state) splitIngress(services []v1beta2.Service, applied map[podName]appliedPod, peer v1beta2.NetworkPolicyPeer, blocks []netip.Prefix) (ruleParts, error) {
	parts := ruleParts{}
	addresses := s.addressesOf(peer)
	for _, name := range sortedPods(applied) {
		p, err := parts.add(services, applied[name].ports)
		if err != nil {
			return nil, err
		}
		p.applied = append(p.applied, applied[name].interfaces...)
		p.peers, p.addresses = blocks, addresses
	}
	return parts, nil
}

// splitEgress has a part for each meaning that the names have at peers, and one for the other peers, where they have none.
func (s *state) splitEgress(services []v1beta2.Service, applied map[podName]appliedPod, peer v1beta2.NetworkPolicyPeer, blocks []netip.Prefix) (ruleParts, error) {
	parts := ruleParts{}
	var pods []policy.Pod
	for _, name := range sortedPods(applied) {
		pods = append(pods, applied[name].interfaces...)
	}
	p, err := parts.add(services, nil)
	if err != nil {
		return nil, err
	}
	p.applied, p.peers, p.addresses, p.peerServices = pods, blocks, s.namedAddressesOf(peer), s.groupsOf(peer.ToServices)
	if !slices.ContainsFunc(services, isNamed) {
		p.addresses = append(p.addresses, s.addressesOf(peer)...)
		return parts, nil
	}
	for _, class := range s.portClassesOf(peer) {
		if p, err = parts.add(services, class.ports); err != nil {
			return nil, err
		}
		p.applied = pods
		p.addresses = append(p.addresses, class.addresses)
	}
	return parts, nil
}

// ruleHash does not depend on the name of the rule and on how it is logged: it stays the same rule, with its counters and its connections.
func ruleHash(rule *v1beta2.NetworkPolicyRule) (string, error) {
	plain := *rule
	plain.EnableLogging, plain.Name, plain.LogLabel = false, "", ""
	content, err := json.Marshal(&plain)
	if err != nil {
		return "", fmt.Errorf("hash the rule: %w", err)
	}
	sum := sha1.Sum(content)
	return hex.EncodeToString(sum[:8]), nil
}

// addressesOf returns the addresses of each of the groups. The rule shares them: nothing is copied, whatever their number.
func (s *state) addressesOf(peer v1beta2.NetworkPolicyPeer) []policy.AddressSet {
	var sets []policy.AddressSet
	for _, name := range peer.AddressGroups {
		if addresses := s.addressGroups[name].addresses; addresses.Len() > 0 {
			sets = append(sets, addresses)
		}
	}
	return sets
}

// portClassesOf returns the members of the groups by what names of ports mean there.
func (s *state) portClassesOf(peer v1beta2.NetworkPolicyPeer) []portClass {
	var classes []portClass
	for _, name := range peer.AddressGroups {
		for _, class := range s.addressGroups[name].byPorts.All() {
			classes = append(classes, class)
		}
	}
	return classes
}
