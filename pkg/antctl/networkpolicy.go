// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"net/netip"
	"strconv"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

var networkPolicyDefinitions = []Definition{
	{
		Use: "networkpolicy", Aliases: []string{"networkpolicies", "netpol"}, Group: Get,
		Short:   "Print the NetworkPolicies that concern the Node",
		Example: "  antctl get networkpolicy\n  antctl get networkpolicy -p ns1/pod1\n  antctl get networkpolicy -S allow-web -n ns1 -o yaml",
		Args:    []Arg{{Name: "name"}},
		Flags: []Flag{
			{Name: "namespace", Shorthand: "n", Usage: "Only policies whose source is in this Namespace"},
			{Name: "pod", Shorthand: "p", Usage: "Only policies applied to this local Pod, NAMESPACE/NAME"},
			{Name: "source", Shorthand: "S", Usage: "Only policies whose source has this name"},
			{Name: "type", Shorthand: "T", Usage: "Only policies whose source is of this type: K8sNP"},
		},
		Agent: &Endpoint{Path: "/networkpolicies", Response: List(networkPolicyColumns...)},
	},
	{
		Use: "appliedtogroup", Aliases: []string{"appliedtogroups", "atg"}, Group: Get,
		Short: "Print the groups of local Pods that policies are applied to",
		Args:  []Arg{{Name: "name"}},
		Agent: &Endpoint{Path: "/appliedtogroups", Response: List(appliedToGroupColumns...)},
	},
	{
		Use: "addressgroup", Aliases: []string{"addressgroups", "ag"}, Group: Get,
		Short: "Print the groups of Pods that rules name as peers",
		Args:  []Arg{{Name: "name"}},
		Agent: &Endpoint{Path: "/addressgroups", Response: List(addressGroupColumns...)},
	},
}

var (
	appliedToGroupColumns = []Column[v1beta2.AppliedToGroup]{
		{"NAME", func(g v1beta2.AppliedToGroup) string { return g.Name }},
		{"PODS", func(g v1beta2.AppliedToGroup) string { return Summary(memberPods(g.GroupMembers)) }},
	}
	addressGroupColumns = []Column[v1beta2.AddressGroup]{
		{"NAME", func(g v1beta2.AddressGroup) string { return g.Name }},
		{"POD-IPS", func(g v1beta2.AddressGroup) string { return Summary(memberIPs(g.GroupMembers)) }},
		{"NODE-IPS", func(v1beta2.AddressGroup) string { return "" }},
	}
)

// Only policies of Antrea's own kinds have tiers and priorities.
var networkPolicyColumns = []Column[apis.NetworkPolicy]{
	{"NAME", func(p apis.NetworkPolicy) string { return p.Name }},
	{"APPLIED-TO", func(p apis.NetworkPolicy) string { return Summary(p.AppliedToGroups) }},
	{"RULES", func(p apis.NetworkPolicy) string { return strconv.Itoa(len(p.Rules)) }},
	{"SOURCE", func(p apis.NetworkPolicy) string { return sourceText(p.SourceRef) }},
	{"TIER-PRIORITY", func(apis.NetworkPolicy) string { return "" }},
	{"PRIORITY", func(apis.NetworkPolicy) string { return "" }},
}

func sourceText(ref *v1beta2.NetworkPolicyReference) string {
	if ref == nil {
		return ""
	}
	return ref.ToString()
}

func memberPods(members []v1beta2.GroupMember) []string {
	var pods []string
	for _, m := range members {
		if m.Pod != nil {
			pods = append(pods, m.Pod.Namespace+"/"+m.Pod.Name)
		}
	}
	return pods
}

func memberIPs(members []v1beta2.GroupMember) []string {
	var ips []string
	for _, m := range members {
		for _, ip := range m.IPs {
			if addr, ok := netip.AddrFromSlice(ip); ok {
				ips = append(ips, addr.String())
			}
		}
	}
	return ips
}
