// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// maxLogLabel is the number of characters of a log label that the kernel's log shows.
const maxLogLabel = 12

// nodeRule is a rule for the host's own connections, with its place in the evaluation.
type nodeRule struct {
	route.NodePolicyRule
	Effect policy.Effect
}

// appliesToNode reports whether a policy has rules for this Node.
func (s *state) appliesToNode(np *v1beta2.NetworkPolicy) bool {
	return slices.ContainsFunc(np.Rules, func(rule v1beta2.NetworkPolicyRule) bool { return s.ruleAppliesToNode(np, &rule) })
}

func (s *state) ruleAppliesToNode(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) bool {
	return slices.ContainsFunc(targetsOf(np, rule), func(name string) bool {
		for m := range s.appliedToGroups[name].others() {
			if m.Node != nil && m.Node.Name == s.built.node {
				return true
			}
		}
		return false
	})
}

// compileForNode returns the rules of a policy for this Node. It fails if one cannot be applied as it is: rules that close in its place could
// lock out the users who must repair it, so the former version stays.
func (s *state) compileForNode(np *v1beta2.NetworkPolicy) (rules []nodeRule, err error) {
	for i := range np.Rules {
		rule := &np.Rules[i]
		if !s.ruleAppliesToNode(np, rule) {
			continue
		}
		compiled, err := s.compileRuleForNode(np, rule)
		if err != nil {
			return nil, fmt.Errorf("rule %q for Node %s: %w", rule.Name, s.built.node, err)
		}
		if compiled.ID, err = nodeRuleID(np.Name, i, rule); err != nil {
			return nil, err
		}
		rules = append(rules, compiled)
	}
	return rules, nil
}

// nodeRuleID returns the id of a rule by its policy, its place and what it says. The sets of an id get new peers before the firewall gets the
// new rules, and lose others later: in between, a former rule, which may allow, must not get the peers of another one.
func nodeRuleID(policy string, index int, rule *v1beta2.NetworkPolicyRule) (string, error) {
	content, err := ruleHash(rule)
	if err != nil {
		return "", err
	}
	hash := sha1.Sum(fmt.Appendf(nil, "%s/%d/%s", policy, index, content))
	return fmt.Sprintf("%X", hash[:8]), nil
}

func (s *state) compileRuleForNode(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (nodeRule, error) {
	direction, peer, err := otherEnd(rule)
	if err != nil {
		return nodeRule{}, err
	}
	effect, unknown, err := s.effectOf(np, rule)
	if err != nil {
		return nodeRule{}, err
	}
	switch {
	case unknown:
		return nodeRule{}, errors.New("not all connections that it matches are known")
	case effect.Order.Stage == policy.StageKubernetes:
		return nodeRule{}, errors.New("a NetworkPolicy of Kubernetes has no rules for Nodes")
	case len(peer.FQDNs) > 0:
		return nodeRule{}, fmt.Errorf("fqdn %q: rules for Nodes have no names as peers", peer.FQDNs[0])
	case len(peer.ToServices) > 0:
		return nodeRule{}, errors.New("toServices: rules for Nodes have no Services as peers")
	case slices.ContainsFunc(rule.Services, isNamed):
		return nodeRule{}, errors.New("a name of a port has no meaning at a Node: its ports have none")
	}
	r := nodeRule{Effect: effect, NodePolicyRule: route.NodePolicyRule{
		Comment: fmt.Sprintf("for rule %s, policy %s", rule.Name, logReference(np)), Direction: direction,
		Baseline: effect.Order.Stage == policy.StageBaseline, Action: effect.Action, LogPrefix: kernelLogPrefix(rule, direction, effect),
	}}
	if r.Peers, err = s.nodePeers(peer); err != nil {
		return nodeRule{}, err
	}
	services, err := resolveServices(rule.Services, nil)
	if err != nil {
		return nodeRule{}, err
	}
	if len(services) == 0 && len(rule.Services) > 0 {
		r.Peers = nil // They are of protocols that are not implemented.
	}
	for _, service := range services {
		r.Services = append(r.Services, nodeService(service))
	}
	return r, nil
}

// nodePeers returns the networks and addresses of a peer.
func (s *state) nodePeers(peer v1beta2.NetworkPolicyPeer) ([]netip.Prefix, error) {
	peers, err := peerBlocks(peer)
	if err != nil {
		return nil, err
	}
	for _, set := range s.addressesOf(peer) {
		for address := range set.All() {
			peers = append(peers, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return peers, nil
}

// nodeService returns a service with ranges instead of masks.
func nodeService(s policy.Service) route.NodePolicyService {
	converted := route.NodePolicyService{Protocol: s.Protocol, ICMPType: s.ICMPType, ICMPCode: s.ICMPCode}
	if s.Protocol == of.IPProtoICMP {
		return converted
	}
	if s.Mask != 0 {
		converted.Ports = &route.PortRange{First: s.Port, Last: s.Port | ^s.Mask}
	}
	if s.SourceMask != 0 {
		converted.SourcePorts = &route.PortRange{First: s.SourcePort, Last: s.SourcePort | ^s.SourceMask}
	}
	return converted
}

// kernelLogPrefix returns the beginning of the kernel's lines about packets of a rule, in Antrea's format: "Antrea:I:Drop:label:". It is empty
// for a rule without logging.
func kernelLogPrefix(rule *v1beta2.NetworkPolicyRule, direction policy.Direction, effect policy.Effect) string {
	if !rule.EnableLogging {
		return ""
	}
	parts := []string{"Antrea", "I", effect.Action.String()}
	if direction == policy.Egress {
		parts[1] = "O"
	}
	if label := rule.LogLabel; label != "" {
		parts = append(parts, label[:min(len(label), maxLogLabel)])
	}
	return strings.Join(parts, ":") + ":"
}
