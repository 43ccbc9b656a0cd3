// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
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
	rules := map[ruleKey]*wantedRule{}
	for i := range np.Rules {
		if err := s.compileRule(np, i, rules); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i, err)
		}
	}
	return rules, nil
}

func (s *state) compileRule(np *v1beta2.NetworkPolicy, index int, rules map[ruleKey]*wantedRule) error {
	rule := &np.Rules[index]
	direction, peer, err := otherEnd(rule)
	if err != nil {
		return err
	}
	effect, closed, err := s.effectOf(np, rule)
	if err != nil {
		return err
	}
	hash, err := ruleHash(rule)
	if err != nil {
		return err
	}
	applied := s.appliedPods(np)
	if len(applied) == 0 {
		return nil
	}
	if closed {
		rules[ruleKey{np.Name, hash, ""}] = &wantedRule{index: index, Rule: policy.Closing(effect, direction, podsOf(applied))}
		return nil
	}
	blocks, err := peerBlocks(peer)
	if err != nil {
		return err
	}
	split := s.splitIngress
	if direction == policy.Egress {
		split = s.splitEgress
	}
	parts, err := split(rule.Services, applied, peer, blocks)
	if err != nil {
		return err
	}
	for ports, p := range parts {
		wanted := &wantedRule{index: index, Rule: policy.Rule{
			Effect: effect, Direction: direction, AppliedTo: p.applied, Peers: p.peers, PeerAddresses: p.addresses, Services: p.services,
		}}
		if rule.EnableLogging {
			wanted.LogReference = logReference(np)
		}
		if ports == noPorts {
			wanted.Peers, wanted.PeerAddresses = nil, nil
		}
		rules[ruleKey{np.Name, hash, ports}] = wanted
	}
	return nil
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
	applied   []policy.Pod
	peers     []netip.Prefix
	addresses []policy.AddressSet
	services  []policy.Service
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

// splitEgress has a part for each meaning that the names have at peers, and one for blocks, where they have none.
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
	p.applied, p.peers = pods, blocks
	if !slices.ContainsFunc(services, isNamed) {
		p.addresses = s.addressesOf(peer)
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

// ruleHash does not depend on whether the rule is logged: it stays the same rule, with its counters and its connections.
func ruleHash(rule *v1beta2.NetworkPolicyRule) (string, error) {
	unlogged := *rule
	unlogged.EnableLogging = false
	content, err := json.Marshal(&unlogged)
	if err != nil {
		return "", fmt.Errorf("hash the rule: %w", err)
	}
	sum := sha1.Sum(content)
	return hex.EncodeToString(sum[:8]), nil
}

// appliedPod is a local Pod that a policy is applied to.
type appliedPod struct {
	interfaces []policy.Pod
	ports      []v1beta2.NamedPort
}

func (s *state) appliedPods(np *v1beta2.NetworkPolicy) map[podName]appliedPod {
	pods := map[podName]appliedPod{}
	for _, name := range np.AppliedToGroups {
		for pod, m := range s.appliedToGroups[name].all() {
			interfaces := s.interfaces[pod]
			if len(interfaces) == 0 {
				continue // Its ADD has not come yet, or its DEL has.
			}
			a := appliedPod{ports: m.ports}
			for _, i := range slices.Sorted(maps.Keys(interfaces)) {
				a.interfaces = append(a.interfaces, interfaces[i])
			}
			pods[pod] = a
		}
	}
	return pods
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

var protocolNumbers = map[v1beta2.Protocol]uint8{
	v1beta2.ProtocolTCP: of.IPProtoTCP, v1beta2.ProtocolUDP: of.IPProtoUDP, v1beta2.ProtocolSCTP: of.IPProtoSCTP,
}

func isNamed(s v1beta2.Service) bool { return s.Port != nil && s.Port.Type == intstr.String }

// resolveServices replaces names by the numbers that they have in ports, and leaves out what has no number there.
func resolveServices(services []v1beta2.Service, ports []v1beta2.NamedPort) ([]policy.Service, error) {
	var resolved []policy.Service
	for _, service := range services {
		protocol := v1beta2.ProtocolTCP
		if service.Protocol != nil {
			protocol = *service.Protocol
		}
		number, ok := protocolNumbers[protocol]
		if !ok {
			return nil, fmt.Errorf("protocol %q: must be TCP, UDP or SCTP", protocol)
		}
		switch {
		case service.Port == nil && service.EndPort != nil:
			return nil, fmt.Errorf("ports up to %d: must have a first port", *service.EndPort)
		case service.Port == nil:
			resolved = append(resolved, policy.Service{Protocol: number})
		case isNamed(service):
			for _, port := range ports {
				if port.Name == service.Port.StrVal && port.Protocol == protocol {
					resolved = append(resolved, policy.PortRange(number, uint16(port.Port), uint16(port.Port))...)
				}
			}
		default:
			first, last := service.Port.IntVal, service.Port.IntVal
			if service.EndPort != nil {
				last = *service.EndPort
			}
			if first < 0 || last > 65535 || last < first {
				return nil, fmt.Errorf("ports %d to %d: must be within 0 to 65535, in this order", first, last)
			}
			resolved = append(resolved, policy.PortRange(number, uint16(first), uint16(last))...)
		}
	}
	slices.SortFunc(resolved, func(a, b policy.Service) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Mask, b.Mask))
	})
	return slices.Compact(resolved), nil
}

// servicesText is equal for equal services only.
func servicesText(services []policy.Service) string {
	var b strings.Builder
	for _, s := range services {
		fmt.Fprintf(&b, "%d:%d/%#x,", s.Protocol, s.Port, s.Mask)
	}
	return b.String()
}
