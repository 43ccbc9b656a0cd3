// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// maxExplainedRows limits the Endpoints and the connections of a Service in the table.
const maxExplainedRows = 10

var oncacheExplainDefinition = Definition{
	Use: "explain", Group: ONCache,
	Short: "Explain how connections from a Pod to a port of another Pod or of a Service are treated",
	Long: "Explain how connections from a Pod to a port of another Pod are treated, if one of the Pods is on this Node, or to a port of a\n" +
		"Service, if the Pod is: whether policies allow them, by which rule, to which Endpoints they go, whether they take the fast\n" +
		"path, and if not, why.",
	Example: "  antctl oncache explain --from ns1/client --to ns2/server --port 80\n" +
		"  antctl oncache explain --from ns1/client --to ns2/dns --port 53 --protocol UDP\n" +
		"  antctl oncache explain --from ns1/client --service ns2/web --port 80\n" +
		"  antctl oncache explain --from ns1/client --to 10.96.0.10 --port 53 --protocol UDP\n" +
		"  antctl oncache explain --from 10.10.1.5:40122 --to 10.10.2.17:5432",
	Flags: []Flag{
		{Name: "from", Usage: "Pod that opens the connection, NAMESPACE/NAME or its address; ADDRESS:PORT means one connection"},
		{Name: "to", Usage: "Pod that the connection goes to, NAMESPACE/NAME, or an address of a Pod or Service; ADDRESS:PORT instead of --port"},
		{Name: "service", Usage: "Service that the connection goes to, NAMESPACE/NAME; instead of --to"},
		{Name: "port", Usage: "Port that the connection goes to"},
		{Name: "protocol", Usage: "TCP, UDP or SCTP; the default is TCP"},
	},
	Agent: &Endpoint{Path: "/oncache/explain", Response: Layout[api.Explanation]{func(e api.Explanation) Result {
		return Result{Data: e, Table: explanationTable(e)}
	}}},
}

// explanation is a table of items and what is said about them.
type explanation struct{ Table }

func (t *explanation) row(item, format string, args ...any) {
	t.Rows = append(t.Rows, []string{item, fmt.Sprintf(format, args...)})
}

func explanationTable(e api.Explanation) Table {
	t := explanation{Table{Header: []string{"ITEM", "ANSWER"}, Unsorted: true}}
	t.row("connection", "%s %s to %s port %d", e.Protocol, explainedEnd(e.From), explainedDestination(e), e.Port)
	t.row("path", "%s", e.Path)
	t.row("reason", "%s", reasonText(e.Treatment))
	if e.Service != nil && e.Egress != nil {
		t.row("egress policy", "%s", verdictText(e.Egress))
	}
	if e.Service == nil {
		t.row("egress policy", "%s", verdictText(e.Egress))
		t.row("ingress policy", "%s", verdictText(e.Ingress))
	}
	if e.LeaseSeconds > 0 {
		t.row("lease", "%s", seconds(float64(e.LeaseSeconds)))
	}
	if e.Service != nil {
		t.service(e.Service)
	}
	t.flows("", e.Flows)
	return t.Table
}

// explainedEnd has only the address of a Pod that is not on this Node and was not named.
func explainedEnd(p api.ExplainedPod) string {
	if p.Pod == "" {
		return p.IP
	}
	return fmt.Sprintf("%s (%s)", p.Pod, p.IP)
}

func explainedDestination(e api.Explanation) string {
	switch {
	case e.Service == nil:
		return explainedEnd(e.To)
	case e.Service.Service == "":
		return e.To.IP
	}
	return fmt.Sprintf("Service %s (%s)", e.Service.Service, e.To.IP)
}

func (t *explanation) service(s *api.ExplainedService) {
	for i, e := range s.Endpoints {
		if i == maxExplainedRows {
			t.row("more Endpoints", "%d", len(s.Endpoints)-i)
			break
		}
		t.row("Endpoint "+e.Address, "%s: %s", endpointPlace(e), treatmentText(e.Treatment))
		for _, verdict := range []struct {
			direction string
			*api.ExplainedVerdict
		}{{"egress", e.Egress}, {"ingress", e.Ingress}} {
			if verdict.ExplainedVerdict != nil && (verdict.Isolated || verdict.FlowID != 0) {
				t.row("  "+verdict.direction+" policy", "%s", verdictText(verdict.ExplainedVerdict))
			}
		}
	}
	for i, c := range s.Connections {
		if i == maxExplainedRows {
			t.row("more connections", "%d", len(s.Connections)-i)
			break
		}
		t.row("open from "+c.Client, "to %s: %s", c.Endpoint, treatmentText(c.Treatment))
		t.flows("  ", c.Flows)
	}
}

func endpointPlace(e api.ExplainedEndpoint) string {
	switch {
	case e.Node != "":
		return "on Node " + e.Node
	case e.Pod != "":
		return "Pod " + e.Pod + " on this Node"
	}
	return "not a known Pod"
}

func (t *explanation) flows(indent string, flows []api.FlowInfo) {
	for _, f := range flows {
		translated := ""
		if f.Translated != "" {
			end := "destination"
			if f.SourceTranslated {
				end = "source"
			}
			translated = fmt.Sprintf(", %s becomes %s", end, f.Translated)
		}
		t.row(fmt.Sprintf("%s%s %s to %s", indent, f.Direction, f.Source, f.Destination), "%s%s, age %s, lease %s, %d packets, %d bytes",
			f.State, translated, seconds(f.AgeSeconds), seconds(max(f.LeaseSeconds, 0)), f.Packets, f.Bytes)
	}
}

func treatmentText(t api.Treatment) string {
	if t.Path == api.PathFast && t.Detail == "" {
		return t.Path
	}
	return fmt.Sprintf("%s, %s", t.Path, reasonText(t))
}

func reasonText(t api.Treatment) string {
	if t.Detail == "" {
		return t.Reason
	}
	return fmt.Sprintf("%s (%s)", t.Reason, t.Detail)
}

func verdictText(v *api.ExplainedVerdict) string {
	if v == nil {
		return "decided on the other Node"
	}
	text := decisionText(v)
	if v.PassedBy != nil {
		text += ", after Pass by " + ruleText(v.PassedBy)
	}
	return text
}

func decisionText(v *api.ExplainedVerdict) string {
	switch {
	case v.FlowID != 0:
		return map[string]string{"Drop": "denied", "Reject": "rejected"}[v.Action] + map[bool]string{true: "allowed"}[v.Allowed] + " by " + ruleText(&api.ExplainedRule{FlowID: v.FlowID, Policy: v.Policy, Rule: v.Rule, Tier: v.Tier})
	case v.Allowed && !v.Isolated:
		return "allowed: no policy decides about it"
	default:
		return "denied: no rule of " + strings.Join(v.AppliedTo, ", ") + " allows it"
	}
}

// tierText returns the priority of a tier, with its name if the controller creates it.
func tierText(priority int32) string {
	for name, p := range v1beta1.DefaultTiers {
		if p == priority {
			return fmt.Sprintf("%s (%d)", name, priority)
		}
	}
	return fmt.Sprint(priority)
}

// ruleText names a rule, its policy and its tier.
func ruleText(r *api.ExplainedRule) string {
	text := fmt.Sprintf("rule %d of %s", r.FlowID, r.Policy)
	if r.Rule != "" {
		text = fmt.Sprintf("rule %s (%d) of %s", r.Rule, r.FlowID, r.Policy)
	}
	if r.Tier != nil {
		text += ", tier " + tierText(*r.Tier)
	}
	return text
}
