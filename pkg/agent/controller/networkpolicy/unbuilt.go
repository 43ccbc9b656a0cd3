// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// built says which parts of rules other parts of the agent implement.
type built struct {
	// services is set if Services have groups in Open vSwitch, nodePorts if connections to NodePorts pass it.
	services, nodePorts bool
	// node is the name of this Node if policies apply to its own connections; empty if they do not.
	node string
}

// unbuiltPeers says which connections of a rule this agent cannot match. A rule that allows does without them; others close.
func (s *state) unbuiltPeers(rule *v1beta2.NetworkPolicyRule) (messages []string) {
	if slices.ContainsFunc(rule.Services, isIGMP) {
		messages = append(messages, "protocol IGMP is not implemented")
	}
	for _, peer := range []*v1beta2.NetworkPolicyPeer{&rule.From, &rule.To} {
		if len(peer.LabelIdentities) > 0 {
			messages = append(messages, "peers in other clusters (scope ClusterSet) are not implemented")
		}
		if len(peer.FQDNs) > 0 && (peer == &rule.From || s.fqdns == nil) {
			messages = append(messages, fmt.Sprintf("peers with names (fqdn %q) are not implemented", peer.FQDNs[0]))
		}
		if len(peer.ToServices) > 0 && peer == &rule.From {
			messages = append(messages, "Services as sources (toServices) are not implemented")
		}
		for _, name := range peer.AddressGroups {
			for m := range s.addressGroups[name].others() {
				if isUnknownKind(m) {
					messages = append(messages, "a peer is not implemented: "+memberText(m))
					break
				}
			}
		}
	}
	return messages
}

// unbuilt says which parts of a policy have no effect on this Node, or another one than they should. There are none for Kubernetes' policies.
func (s *state) unbuilt(np *v1beta2.NetworkPolicy) (messages []string) {
	say := func(rule *v1beta2.NetworkPolicyRule, message string) {
		messages = append(messages, fmt.Sprintf("rule %q: %s", rule.Name, message))
	}
	for i := range np.Rules {
		rule := &np.Rules[i]
		for _, message := range s.unbuiltPeers(rule) {
			say(rule, message)
		}
		if len(rule.L7Protocols) > 0 {
			say(rule, "layer 7 protocols are not implemented: the rule drops what it should inspect")
		}
		if len(rule.To.ToServices) > 0 && !s.built.services {
			say(rule, "toServices needs AntreaProxy: the rule matches no Service")
		}
		for _, message := range s.unbuiltTargets(np, rule) {
			say(rule, message)
		}
	}
	return messages
}

// unbuiltTargets says which members of a rule's AppliedToGroups the rule is not applied to.
func (s *state) unbuiltTargets(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (messages []string) {
	for _, name := range targetsOf(np, rule) {
		for m := range s.appliedToGroups[name].others() {
			switch {
			case m.Node != nil && s.built.node == "":
				return []string{"policies for Nodes need the feature gate NodeNetworkPolicy: the rule is not applied to the Node"}
			case m.Node != nil:
			case m.Service != nil && !s.built.nodePorts:
				return []string{"policies for Services need antreaProxy.proxyAll: the rule is not applied to " + memberText(m)}
			case m.Service != nil && slices.ContainsFunc(rule.Services, isNamed):
				return []string{"names of ports have no meaning at the NodePorts of " + memberText(m) + ": a rule that allows does without them, others deny all ports"}
			case m.Service == nil:
				return []string{"the rule is not applied to a member of its group: " + memberText(m)}
			}
		}
	}
	return nil
}
