// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apis"
)

// endpointPath is the path of the controller for antctl query endpoint.
const endpointPath = "/endpoint"

// queryDefinitions are questions to the controller.
var queryDefinitions = []Definition{
	{
		Use: "endpoint", Aliases: []string{"endpoints"}, Group: Query,
		Short:   "Print the policies that concern a Pod",
		Long:    "Print the policies that are applied to a Pod, and the rules that name it as their source or destination. Rules that match every peer are not among them.",
		Example: "  antctl query endpoint -p pod1 -n ns1\n  antctl query endpoint -p pod1 -o json",
		Flags: []Flag{
			{Name: "pod", Shorthand: "p", Usage: "Name of the Pod"},
			{Name: "namespace", Shorthand: "n", Usage: "Namespace of the Pod (default \"default\")"},
		},
		Controller: &Endpoint{Path: endpointPath, Direct: true, Response: Text(endpointText)},
	},
	{
		Use: "networkpolicyevaluation", Aliases: []string{"networkpoliciesevaluation", "netpoleval"}, Group: Query,
		Short: "Print the rule that decides about connections between two Pods",
		Long: "Print the rule that decides about connections between two Pods. Only rules that name the other Pod by a selector or a group are considered, " +
			"whatever their ports are; antctl oncache explain considers everything.",
		Example: "  antctl query networkpolicyevaluation -S ns1/pod1 -D ns2/pod2\n  antctl query netpoleval -S ns1/pod1 -D ns2/pod2 -o json",
		Flags: []Flag{
			{Name: "source", Shorthand: "S", Usage: "The client Pod, NAMESPACE/NAME"},
			{Name: "destination", Shorthand: "D", Usage: "The server Pod, NAMESPACE/NAME"},
		},
		Controller: &Endpoint{
			Path: controlPlanePath + "/networkpolicyevaluation", Query: func(url.Values) url.Values { return nil }, Body: evaluationBody,
			Response: Object(evaluationColumns...),
		},
	},
}

// endpointText is a section for each part of the answer.
func endpointText(answer apis.EndpointAnswer) string {
	var text strings.Builder
	for _, e := range answer.Endpoints {
		fmt.Fprintf(&text, "Endpoint %s/%s\n", e.Namespace, e.Name)
		policies := Table{Header: []string{"Name", "Namespace", "UID"}, Unsorted: true}
		for _, p := range e.Policies {
			policies.Rows = append(policies.Rows, []string{p.Name, p.Namespace, string(p.UID)})
		}
		section(&text, "Applied Policies on Endpoint:", policies)
		section(&text, "Egress Rules Referencing Endpoint as Destination:", ruleTable(e.EgressDstRules))
		section(&text, "Ingress Rules Referencing Endpoint as Source:", ruleTable(e.IngressSrcRules))
	}
	return text.String()
}

func ruleTable(rules []apis.EndpointRule) Table {
	table := Table{Header: []string{"Name", "Namespace", "Index", "UID"}, Unsorted: true}
	for _, r := range rules {
		table.Rows = append(table.Rows, []string{r.PolicyRef.Name, r.PolicyRef.Namespace, strconv.Itoa(r.RuleIndex), string(r.PolicyRef.UID)})
	}
	return table
}

// section writes a title and a table, or that there is nothing.
func section(text *strings.Builder, title string, table Table) {
	text.WriteString(title)
	if len(table.Rows) == 0 {
		text.WriteString(" None\n")
		return
	}
	text.WriteString("\n" + table.String())
}

// evaluationBody makes the object that asks.
func evaluationBody(query url.Values) ([]byte, error) {
	question := v1beta2.NetworkPolicyEvaluation{
		TypeMeta: metav1.TypeMeta{Kind: "NetworkPolicyEvaluation", APIVersion: v1beta2.SchemeGroupVersion.String()},
		Request:  &v1beta2.NetworkPolicyEvaluationRequest{},
	}
	for flag, entity := range map[string]*v1beta2.Entity{"source": &question.Request.Source, "destination": &question.Request.Destination} {
		namespace, name, ok := strings.Cut(query.Get(flag), "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("--%s: %q is not a Pod; allowed: NAMESPACE/NAME", flag, query.Get(flag))
		}
		entity.Pod = &v1beta2.PodReference{Namespace: namespace, Name: name}
	}
	return json.Marshal(question)
}

var evaluationColumns = []Column[v1beta2.NetworkPolicyEvaluation]{
	evaluationColumn("NAME", func(r *v1beta2.NetworkPolicyEvaluationResponse) string { return r.NetworkPolicy.Name }),
	evaluationColumn("NAMESPACE", func(r *v1beta2.NetworkPolicyEvaluationResponse) string { return r.NetworkPolicy.Namespace }),
	evaluationColumn("POLICY-TYPE", func(r *v1beta2.NetworkPolicyEvaluationResponse) string { return string(r.NetworkPolicy.Type) }),
	evaluationColumn("RULE-INDEX", func(r *v1beta2.NetworkPolicyEvaluationResponse) string { return strconv.Itoa(int(r.RuleIndex)) }),
	evaluationColumn("DIRECTION", func(r *v1beta2.NetworkPolicyEvaluationResponse) string { return string(r.Rule.Direction) }),
	evaluationColumn("ACTION", evaluationAction),
}

// evaluationColumn is empty if no rule decides.
func evaluationColumn(header string, value func(*v1beta2.NetworkPolicyEvaluationResponse) string) Column[v1beta2.NetworkPolicyEvaluation] {
	return Column[v1beta2.NetworkPolicyEvaluation]{header, func(e v1beta2.NetworkPolicyEvaluation) string {
		if e.Response == nil {
			return ""
		}
		return value(e.Response)
	}}
}

// evaluationAction is the action; rules of Kubernetes' policies have none, and allow.
func evaluationAction(r *v1beta2.NetworkPolicyEvaluationResponse) string {
	switch {
	case r.RuleIndex == math.MaxInt32:
		return "Isolate"
	case r.Rule.Action != nil:
		return string(*r.Rule.Action)
	default:
		return string(v1beta2.RuleActionAllow)
	}
}
