// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// fqdnCharacters are the characters of names and patterns.
var fqdnCharacters = regexp.MustCompile(`^[-0-9a-zA-Z.*]+$`)

func peerFields(p *v1beta1.NetworkPolicyPeer) []string {
	return setFields([]field{
		{"ipBlock", p.IPBlock != nil}, {"podSelector", p.PodSelector != nil}, {"namespaceSelector", p.NamespaceSelector != nil},
		{"namespaces", p.Namespaces != nil}, {"externalEntitySelector", p.ExternalEntitySelector != nil}, {"group", p.Group != ""},
		{"fqdn", p.FQDN != ""}, {"serviceAccount", p.ServiceAccount != nil}, {"nodeSelector", p.NodeSelector != nil}, {"scope", p.Scope != ""},
	})
}

// peers checks the peers of all rules.
func (p *policy) peers() string {
	for i := range p.rules {
		r := &p.rules[i]
		used, unused, name := r.From, r.To, "to"
		if r.egress {
			used, unused, name = r.To, r.From, "from"
		}
		if len(unused) > 0 {
			return fmt.Sprintf("%s cannot be set in %s", name, p.describe(place{r}))
		}
		if refusal := p.toServices(r); refusal != "" {
			return refusal
		}
		for j := range used {
			if refusal := p.peer(r, &used[j]); refusal != "" {
				return refusal
			}
		}
	}
	return ""
}

func (p *policy) toServices(r *rule) string {
	if len(r.ToServices) == 0 {
		return ""
	}
	if !r.egress {
		return fmt.Sprintf("toServices cannot be set in %s", p.describe(place{r}))
	}
	if len(r.To) > 0 || len(r.Ports) > 0 || len(r.Protocols) > 0 {
		return "`toServices` cannot be used with `to`, `ports` or `protocols`"
	}
	for _, s := range r.ToServices {
		if s.Name == "" || p.clusterWide && s.Namespace == "" {
			return fmt.Sprintf("`toServices` needs the name and the namespace of a Service in %s", p.describe(place{r}))
		}
	}
	return ""
}

func (p *policy) peer(r *rule, peer *v1beta1.NetworkPolicyPeer) string {
	set := peerFields(peer)
	if foreign := foreignField(set, p.peerAllowed(r.egress)); foreign != "" {
		return fmt.Sprintf("%s cannot be set in a peer of %s", foreign, p.describe(place{r}))
	}
	if peer.NamespaceSelector != nil && peer.Namespaces != nil {
		return "namespaces and namespaceSelector cannot be set at the same time for a single NetworkPolicyPeer"
	}
	if refusal := peerNamespaces(peer.Namespaces); refusal != "" {
		return refusal
	}
	if refusal := ipBlock(peer.IPBlock); refusal != "" {
		return refusal
	}
	if f := alone(set, "group", "serviceAccount", "nodeSelector"); f != "" {
		return fmt.Sprintf("%s cannot be set with other peers in rules", f)
	}
	if peer.FQDN != "" && !fqdnCharacters.MatchString(peer.FQDN) {
		return fmt.Sprintf("invalid characters in egress rule fqdn field: %s", peer.FQDN)
	}
	if refusal := firstSelector(peer.PodSelector, peer.NamespaceSelector, peer.ExternalEntitySelector, peer.NodeSelector); refusal != "" {
		return refusal
	}
	multicast := peer.IPBlock != nil && isMulticast(peer.IPBlock.CIDR)
	if f := alone(slices.DeleteFunc(set, func(f string) bool { return f == "scope" }), "ipBlock", "fqdn"); f != "" && !multicast {
		return fmt.Sprintf("%s cannot be set with other peers in rules", f)
	}
	return ""
}

// peerAllowed returns the fields of peers that a kind has in a direction.
func (p *policy) peerAllowed(egress bool) []string {
	fields := []string{"ipBlock", "podSelector", "namespaceSelector", "group", "nodeSelector"}
	if p.clusterWide {
		fields = append(fields, "namespaces", "serviceAccount")
	} else {
		fields = append(fields, "externalEntitySelector")
	}
	if egress {
		return append(fields, "fqdn")
	}
	return append(fields, "scope")
}

func peerNamespaces(n *v1beta1.PeerNamespaces) string {
	if n == nil {
		return ""
	}
	if (n.Match != "") == (len(n.SameLabels) > 0) {
		return "only one matching criteria can be specified in a single peer namespaces field"
	}
	for _, key := range n.SameLabels {
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			return fmt.Sprintf("Invalid label key in sameLabels rule: %s: %s", key, strings.Join(errs, "; "))
		}
	}
	return ""
}

// serviceIngress refuses selectors of Pods for clients of Services: they come from outside the cluster.
func (p *policy) serviceIngress() string {
	services := func(entries []v1beta1.AppliedTo) bool {
		return slices.ContainsFunc(entries, func(a v1beta1.AppliedTo) bool { return a.Service != nil })
	}
	for _, r := range p.rules {
		if r.egress || !services(p.AppliedTo) && !services(r.AppliedTo) {
			continue
		}
		for i := range r.From {
			if set := peerFields(&r.From[i]); len(set) != 1 || set[0] != "ipBlock" {
				return "a rule/policy that is applied to Services can only use ipBlock to select workloads"
			}
		}
	}
	return ""
}

// multicast checks egress rules to multicast addresses.
func (p *policy) multicast() string {
	for _, r := range p.rules {
		multicast, others := 0, false
		for i := range r.To {
			peer := &r.To[i]
			if peer.IPBlock == nil || !isMulticast(peer.IPBlock.CIDR) {
				others = others || peer.IPBlock != nil
				continue
			}
			multicast++
			if len(peerFields(peer)) > 1 {
				return "can not set multicast groupAddress and selectors in the same peer"
			}
		}
		switch {
		case multicast == 0:
		case *r.Action == v1beta1.RuleActionPass || *r.Action == v1beta1.RuleActionReject:
			return "multicast does not support action Pass or Reject"
		case others:
			return "can not set multicast groupAddress and unicast ip address at the same time"
		}
	}
	return ""
}
