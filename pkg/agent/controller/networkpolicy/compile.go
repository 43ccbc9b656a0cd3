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

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
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
	openflow.PolicyRule
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

// part is what a rule allows to some of its Pods or peers: those for which the services' names stand for the same ports.
type part struct {
	applied   []openflow.PolicyPod
	peers     []netip.Prefix
	addresses []openflow.AddressSet
}

func (s *state) compileRule(np *v1beta2.NetworkPolicy, index int, rules map[ruleKey]*wantedRule) error {
	rule := &np.Rules[index]
	direction, peer := openflow.PolicyIngress, rule.From
	switch rule.Direction {
	case v1beta2.DirectionIn:
	case v1beta2.DirectionOut:
		direction, peer = openflow.PolicyEgress, rule.To
	default:
		return fmt.Errorf("direction %q: must be %s or %s", rule.Direction, v1beta2.DirectionIn, v1beta2.DirectionOut)
	}
	hash, err := ruleHash(rule)
	if err != nil {
		return err
	}
	applied := s.appliedPods(np)
	if len(applied) == 0 {
		return nil
	}
	var blocks []netip.Prefix
	for _, block := range peer.IPBlocks {
		prefixes, err := blockPrefixes(block)
		if err != nil {
			return err
		}
		blocks = append(blocks, prefixes...)
	}

	// Ports belong to the destination, and names are resolved there.
	parts := map[string]*part{}
	services := map[string][]openflow.PolicyService{}
	partFor := func(ports []v1beta2.NamedPort) (*part, error) {
		resolved, err := resolveServices(rule.Services, ports)
		if err != nil {
			return nil, err
		}
		key := servicesText(resolved)
		if len(resolved) == 0 && len(rule.Services) > 0 {
			key = "none" // Nothing is allowed here, as opposed to everything.
		}
		if parts[key] == nil {
			parts[key], services[key] = &part{}, resolved
		}
		return parts[key], nil
	}
	if direction == openflow.PolicyIngress {
		addresses := s.addressesOf(peer)
		for _, name := range sortedPods(applied) {
			p, err := partFor(applied[name].ports)
			if err != nil {
				return err
			}
			p.applied = append(p.applied, applied[name].interfaces...)
			p.peers, p.addresses = blocks, addresses
		}
	} else {
		var pods []openflow.PolicyPod
		for _, name := range sortedPods(applied) {
			pods = append(pods, applied[name].interfaces...)
		}
		p, err := partFor(nil)
		if err != nil {
			return err
		}
		p.applied, p.peers = pods, blocks
		var classes []portClass
		if slices.ContainsFunc(rule.Services, isNamed) {
			classes = s.portClassesOf(peer)
		} else {
			p.addresses = s.addressesOf(peer)
		}
		for _, class := range classes {
			if p, err = partFor(class.ports); err != nil {
				return err
			}
			p.applied = pods
			p.addresses = append(p.addresses, class.addresses)
		}
	}
	for ports, p := range parts {
		wanted := &wantedRule{index: index, PolicyRule: openflow.PolicyRule{
			Direction: direction, AppliedTo: p.applied, Peers: p.peers, PeerAddresses: p.addresses, Services: services[ports],
		}}
		if ports == "none" {
			wanted.Peers, wanted.PeerAddresses = nil, nil
		}
		rules[ruleKey{np.Name, hash, ports}] = wanted
	}
	return nil
}

func ruleHash(rule *v1beta2.NetworkPolicyRule) (string, error) {
	content, err := json.Marshal(rule)
	if err != nil {
		return "", fmt.Errorf("hash the rule: %w", err)
	}
	sum := sha1.Sum(content)
	return hex.EncodeToString(sum[:8]), nil
}

// appliedPod is a local Pod that a policy is applied to.
type appliedPod struct {
	interfaces []openflow.PolicyPod
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
func (s *state) addressesOf(peer v1beta2.NetworkPolicyPeer) []openflow.AddressSet {
	var sets []openflow.AddressSet
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
func resolveServices(services []v1beta2.Service, ports []v1beta2.NamedPort) ([]openflow.PolicyService, error) {
	var resolved []openflow.PolicyService
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
			resolved = append(resolved, openflow.PolicyService{Protocol: number})
		case isNamed(service):
			for _, port := range ports {
				if port.Name == service.Port.StrVal && port.Protocol == protocol {
					resolved = append(resolved, openflow.PortRange(number, uint16(port.Port), uint16(port.Port))...)
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
			resolved = append(resolved, openflow.PortRange(number, uint16(first), uint16(last))...)
		}
	}
	slices.SortFunc(resolved, func(a, b openflow.PolicyService) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Mask, b.Mask))
	})
	return slices.Compact(resolved), nil
}

// servicesText is equal for equal services only.
func servicesText(services []openflow.PolicyService) string {
	var b strings.Builder
	for _, s := range services {
		fmt.Fprintf(&b, "%d:%d/%#x,", s.Protocol, s.Port, s.Mask)
	}
	return b.String()
}
