// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	apiserverapis "github.com/antrea-oncache/antrea/pkg/httpapi/apis"
)

// definitions are all commands.
var definitions = slices.Concat([]Definition{versionDefinition, oncacheDefinition, oncacheModeDefinition, oncacheFlushDefinition, oncacheExplainDefinition, controllerInfoDefinition},
	agentDefinitions, networkPolicyDefinitions, controlPlaneDefinitions, queryDefinitions)

// agentDefinitions are the commands for inspecting an agent. Some of them also exist in controller mode.
var agentDefinitions = []Definition{
	{
		Use: "log-level", Group: Flat,
		Short:   "Show or set the log verbosity",
		Example: "  antctl log-level\n  antctl log-level 4",
		Args:    []Arg{{Name: "level"}},
		Agent: &Endpoint{Path: "/loglevel", ChangedBy: "level", Response: Object(
			Column[apis.LogLevel]{"LEVEL", func(l apis.LogLevel) string { return strconv.Itoa(l.Level) }},
		)},
	},
	{
		Use: "agentinfo", Aliases: []string{"agentinfos", "ai"}, Group: Get,
		Short: "Print the agent's basic information",
		Agent: &Endpoint{Path: "/agentinfo", Response: Object(agentInfoColumns...)},
	},
	{
		Use: "podinterface", Aliases: []string{"podinterfaces", "pi"}, Group: Get,
		Short:   "Print the interfaces of local Pods",
		Example: "  antctl get podinterface\n  antctl get podinterface pod1 -n ns1\n  antctl get podinterface -n ns1 -o json",
		Args:    []Arg{{Name: "name"}},
		Flags:   []Flag{{Name: "namespace", Shorthand: "n", Usage: "Only Pods of this Namespace"}},
		Agent:   &Endpoint{Path: "/podinterfaces", Response: List(podInterfaceColumns...)},
	},
	{
		Use: "ovsflows", Aliases: []string{"of"}, Group: Get,
		Short:   "Dump OVS flows",
		Long:    "Dump all OVS flows, or the flows of a local Pod, a Service, a NetworkPolicy or tables.",
		Example: "  antctl get ovsflows\n  antctl get ovsflows -p pod1 -n ns1\n  antctl get ovsflows -S svc1 -n ns1\n  antctl get ovsflows -N acnp1\n  antctl get ovsflows -N np1 -n ns1 --type ANNP\n  antctl get ovsflows -T Classifier,Output\n  antctl get ovsflows --table-names-only",
		Flags: []Flag{
			{Name: "pod", Shorthand: "p", Usage: "Name of a local Pod; needs --namespace"},
			{Name: "service", Shorthand: "S", Usage: "Name of a Service; needs --namespace"},
			{Name: "networkpolicy", Shorthand: "N", Usage: "Name of a policy; needs --namespace unless it is of the cluster"},
			{Name: "type", Usage: "Type of the policy, if the name is not enough: K8sNP, ACNP, ANNP, BANP, ANP or K8sCNP"},
			{Name: "namespace", Shorthand: "n", Usage: "Namespace of the object"},
			{Name: "table", Shorthand: "T", Usage: "Comma-separated names or numbers of flow tables"},
			{Name: "table-names-only", Usage: "Print the names of the flow tables", Bool: true},
			{Name: "groups", Shorthand: "G", Usage: "Comma-separated numbers of groups, or all"},
		},
		Agent: &Endpoint{Path: "/ovsflows", Response: UnsortedList(
			Column[apis.OVSFlow]{"", func(f apis.OVSFlow) string { return f.Flow }},
		)},
	},
	{
		Use: "fqdncache", Group: Get,
		Short:   "Print the addresses of names in policies that the agent knows",
		Example: "  antctl get fqdncache\n  antctl get fqdncache -d example.com\n  antctl get fqdncache -d '*.example.com' -o json",
		Flags:   []Flag{{Name: "domain", Shorthand: "d", Usage: "Only this name, or names that match this pattern with '*'"}},
		Agent:   &Endpoint{Path: "/fqdncache", Response: List(fqdnColumns...)},
	},
	{
		Use: "memberlist", Aliases: []string{"ml"}, Group: Get,
		Short: "Print which Nodes may have addresses of ExternalIPPools",
		Agent: &Endpoint{Path: "/memberlist", Response: List(memberColumns...)},
	},
	{
		Use: "serviceexternalip", Aliases: []string{"seip"}, Group: Get,
		Short:   "Print Services with addresses of ExternalIPPools, and the Nodes that answer for them",
		Example: "  antctl get serviceexternalip\n  antctl get serviceexternalip svc1 -n ns1\n  antctl get serviceexternalip -n ns1 -o json",
		Args:    []Arg{{Name: "name"}},
		Flags:   []Flag{{Name: "namespace", Shorthand: "n", Usage: "Only Services of this Namespace"}},
		Agent:   &Endpoint{Path: "/serviceexternalip", Response: List(externalIPColumns...)},
	},
	{
		Use: "egress", Aliases: []string{"egresses", "eg"}, Group: Get,
		Short:   "Print Egresses, and the Pods of this Node that leave the cluster with their addresses",
		Example: "  antctl get egress\n  antctl get egress egress1 -o json",
		Args:    []Arg{{Name: "name"}},
		Agent:   &Endpoint{Path: "/egresses", Response: List(egressColumns...)},
	},
	{
		Use: "problems", Aliases: []string{"problem"}, Group: Get,
		Short: "Print what the agent refuses or cannot handle; docs/operate/troubleshooting.md lists remedies",
		Agent: &Endpoint{Path: "/problems", Response: UnsortedList(problemColumns...)},
	},
	{
		Use: "featuregates", Group: Get,
		Short:      "Print the feature gates",
		Agent:      &Endpoint{Path: "/featuregates", Response: Text(featureGatesText), TextOnly: true},
		Controller: &Endpoint{Path: "/featuregates", Response: Text(featureGatesText), TextOnly: true, Direct: true},
	},
}

var agentInfoColumns = []Column[apis.AgentInfo]{
	{"POD", func(i apis.AgentInfo) string { return namespacedName(i.PodRef) }},
	{"NODE", func(i apis.AgentInfo) string { return i.NodeRef.Name }},
	{"STATUS", agentStatus},
	{"NODE-SUBNET", func(i apis.AgentInfo) string { return Summary(i.NodeSubnets) }},
	{"NETWORK-POLICIES", func(i apis.AgentInfo) string {
		return fmt.Sprint(i.NetworkPolicyControllerInfo.NetworkPolicyNum)
	}},
	{"ADDRESS-GROUPS", func(i apis.AgentInfo) string {
		return fmt.Sprint(i.NetworkPolicyControllerInfo.AddressGroupNum)
	}},
	{"APPLIED-TO-GROUPS", func(i apis.AgentInfo) string {
		return fmt.Sprint(i.NetworkPolicyControllerInfo.AppliedToGroupNum)
	}},
	{"LOCAL-PODS", func(i apis.AgentInfo) string { return fmt.Sprint(i.LocalPodNum) }},
}

// shortContainerID is the number of characters of a container ID that the table shows.
const shortContainerID = 11

var podInterfaceColumns = []Column[apis.PodInterface]{
	{"NAMESPACE", func(p apis.PodInterface) string { return p.PodNamespace }},
	{"NAME", func(p apis.PodInterface) string { return p.PodName }},
	{"INTERFACE-NAME", func(p apis.PodInterface) string { return p.InterfaceName }},
	{"IP", func(p apis.PodInterface) string { return Summary(p.IPs) }},
	{"MAC", func(p apis.PodInterface) string { return p.MAC }},
	{"PORT-UUID", func(p apis.PodInterface) string { return p.PortUUID }},
	{"OF-PORT", func(p apis.PodInterface) string { return fmt.Sprint(p.OFPort) }},
	{"CONTAINER-ID", func(p apis.PodInterface) string {
		return p.ContainerID[:min(len(p.ContainerID), shortContainerID)]
	}},
}

var fqdnColumns = []Column[apis.FQDNCacheEntry]{
	{"FQDN", func(e apis.FQDNCacheEntry) string { return e.FQDNName }},
	{"ADDRESS", func(e apis.FQDNCacheEntry) string { return e.IPAddress }},
	{"EXPIRATION TIME", func(e apis.FQDNCacheEntry) string { return e.ExpirationTime.Format(time.RFC3339) }},
}

var memberColumns = []Column[apis.Member]{
	{"NODE", func(m apis.Member) string { return m.NodeName }},
	{"IP", func(m apis.Member) string { return m.IP }},
	{"STATUS", func(m apis.Member) string { return m.Status }},
}

var externalIPColumns = []Column[apis.ServiceExternalIP]{
	{"NAMESPACE", func(s apis.ServiceExternalIP) string { return s.Namespace }},
	{"NAME", func(s apis.ServiceExternalIP) string { return s.ServiceName }},
	{"EXTERNAL-IP-POOL", func(s apis.ServiceExternalIP) string { return s.ExternalIPPool }},
	{"EXTERNAL-IP", func(s apis.ServiceExternalIP) string { return s.ExternalIP }},
	{"ASSIGNED-NODE", func(s apis.ServiceExternalIP) string { return s.AssignedNode }},
}

var egressColumns = []Column[apis.Egress]{
	{"NAME", func(e apis.Egress) string { return e.Name }},
	{"EGRESS-IP", func(e apis.Egress) string { return e.EgressIP }},
	{"NODE", func(e apis.Egress) string { return e.EgressNode }},
	{"PODS", func(e apis.Egress) string { return Summary(e.Pods) }},
	{"STATE", func(e apis.Egress) string { return e.State }},
	{"REASON", func(e apis.Egress) string { return e.Reason }},
}

var problemColumns = []Column[apis.Problem]{
	{"REASON", func(p apis.Problem) string { return p.Reason }},
	{"KIND", func(p apis.Problem) string { return p.Kind }},
	{"NAMESPACE", func(p apis.Problem) string { return p.Namespace }},
	{"NAME", func(p apis.Problem) string { return p.Name }},
	{"SINCE", func(p apis.Problem) string { return p.Since.UTC().Format(time.RFC3339) }},
	{"TIMES", func(p apis.Problem) string { return strconv.Itoa(p.Times) }},
	{"MESSAGE", func(p apis.Problem) string { return p.Message }},
}

func namespacedName(ref corev1.ObjectReference) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

func agentStatus(info apis.AgentInfo) string {
	for _, condition := range info.AgentConditions {
		if condition.Type == apis.AgentHealthy {
			return healthText(condition.Status)
		}
	}
	return healthText(corev1.ConditionUnknown)
}

func healthText(status corev1.ConditionStatus) string {
	switch status {
	case corev1.ConditionTrue:
		return "Healthy"
	case corev1.ConditionFalse:
		return "Unhealthy"
	default:
		return "Unknown"
	}
}

// featureGatesText is a titled table per component.
func featureGatesText(gates []apiserverapis.FeatureGate) string {
	var text string
	for _, component := range []struct{ name, title string }{
		{"agent", "Antrea Agent Feature Gates"}, {"controller", "Antrea Controller Feature Gates"},
	} {
		t := Table{Header: []string{"FEATUREGATE", "STATUS", "VERSION"}}
		for _, gate := range gates {
			if gate.Component == component.name {
				t.Rows = append(t.Rows, []string{gate.Name, gate.Status, gate.Version})
			}
		}
		if len(t.Rows) > 0 {
			text += component.title + "\n" + t.String()
		}
	}
	return text
}
