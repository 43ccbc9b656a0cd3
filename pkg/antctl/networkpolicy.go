// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const typeUsage = "Only policies whose source is of this type: K8sNP, ACNP, ANNP, BANP, ANP or K8sCNP"

var networkPolicyDefinitions = []Definition{
	{
		Use: "networkpolicy", Aliases: []string{"networkpolicies", "netpol"}, Group: Get,
		Short:   "Print the NetworkPolicies that concern the Node",
		Example: "  antctl get networkpolicy\n  antctl get networkpolicy -p ns1/pod1\n  antctl get networkpolicy -S allow-web -n ns1 -o yaml\n  antctl get networkpolicy -T ACNP --sort-by effectivePriority",
		Args:    []Arg{{Name: "name"}},
		Flags: []Flag{
			{Name: "namespace", Shorthand: "n", Usage: "Only policies whose source is in this Namespace"},
			{Name: "pod", Shorthand: "p", Usage: "Only policies applied to this local Pod, NAMESPACE/NAME; not together with --namespace"},
			{Name: "source", Shorthand: "S", Usage: "Only policies whose source has this name"},
			{Name: "type", Shorthand: "T", Usage: typeUsage},
			sortByFlag,
		},
		Agent: &Endpoint{Path: "/networkpolicies", Query: withoutSort, ResponseFor: policies(
			func(list []apis.NetworkPolicy) []apis.NetworkPolicy { return list },
		)},
	},
	{
		Use: "appliedtogroup", Aliases: []string{"appliedtogroups", "atg"}, Group: Get,
		Short: "Print the groups of local Pods, Nodes and Services that policies are applied to",
		Args:  []Arg{{Name: "name"}},
		Agent: &Endpoint{Path: "/appliedtogroups", Response: List(appliedToGroupColumns...)},
	},
	{
		Use: "addressgroup", Aliases: []string{"addressgroups", "ag"}, Group: Get,
		Short: "Print the groups of Pods and Nodes that rules name as peers",
		Args:  []Arg{{Name: "name"}},
		Agent: &Endpoint{Path: "/addressgroups", Response: List(addressGroupColumns...)},
	},
}

var (
	appliedToGroupColumns = []Column[v1beta2.AppliedToGroup]{
		{"NAME", func(g v1beta2.AppliedToGroup) string { return g.Name }},
		{"PODS", func(g v1beta2.AppliedToGroup) string { return Summary(memberNames(g.GroupMembers)) }},
	}
	addressGroupColumns = []Column[v1beta2.AddressGroup]{
		{"NAME", func(g v1beta2.AddressGroup) string { return g.Name }},
		{"POD-IPS", func(g v1beta2.AddressGroup) string { return Summary(memberIPs(g.GroupMembers, false)) }},
		{"NODE-IPS", func(g v1beta2.AddressGroup) string { return Summary(memberIPs(g.GroupMembers, true)) }},
	}
)

// Policies of Kubernetes have neither tiers nor priorities.
var networkPolicyColumns = []Column[apis.NetworkPolicy]{
	{"NAME", func(p apis.NetworkPolicy) string { return p.Name }},
	{"APPLIED-TO", func(p apis.NetworkPolicy) string { return Summary(appliedTo(p)) }},
	{"RULES", func(p apis.NetworkPolicy) string { return strconv.Itoa(len(p.Rules)) }},
	{"SOURCE", func(p apis.NetworkPolicy) string { return sourceText(p.SourceRef) }},
	{"TIER-PRIORITY", func(p apis.NetworkPolicy) string {
		if p.TierPriority == nil {
			return ""
		}
		return strconv.Itoa(int(*p.TierPriority))
	}},
	{"PRIORITY", func(p apis.NetworkPolicy) string {
		if p.Priority == nil {
			return ""
		}
		return strconv.FormatFloat(*p.Priority, 'f', -1, 64)
	}},
}

func sourceText(ref *v1beta2.NetworkPolicyReference) string {
	if ref == nil {
		return ""
	}
	return ref.ToString()
}

// appliedTo are the groups of a policy or, if each rule has its own, of the rules.
func appliedTo(p apis.NetworkPolicy) []string {
	groups := p.AppliedToGroups
	if len(groups) > 0 {
		return groups
	}
	for _, rule := range p.Rules {
		for _, group := range rule.AppliedToGroups {
			if !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
	}
	return groups
}

// memberNames are the names of Pods, and the names of other members with their kinds.
func memberNames(members []v1beta2.GroupMember) []string {
	var names []string
	for _, m := range members {
		switch {
		case m.Pod != nil:
			names = append(names, m.Pod.Namespace+"/"+m.Pod.Name)
		case m.Node != nil:
			names = append(names, "Node:"+m.Node.Name)
		case m.Service != nil:
			names = append(names, "Service:"+m.Service.Namespace+"/"+m.Service.Name)
		case m.ExternalEntity != nil:
			names = append(names, "ExternalEntity:"+m.ExternalEntity.Namespace+"/"+m.ExternalEntity.Name)
		}
	}
	return names
}

// memberIPs are the addresses of Nodes, or of the other members.
func memberIPs(members []v1beta2.GroupMember, ofNodes bool) []string {
	var ips []string
	for _, m := range members {
		if (m.Node != nil) != ofNodes {
			continue
		}
		for _, ip := range m.IPs {
			if addr, ok := netip.AddrFromSlice(ip); ok {
				ips = append(ips, addr.String())
			}
		}
	}
	return ips
}
