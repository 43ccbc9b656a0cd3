// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

var oncacheExplainDefinition = Definition{
	Use: "explain", Group: ONCache,
	Short: "Explain how connections from one Pod to a port of another are treated",
	Long: "Explain how connections from one Pod to a port of another are treated, if one of the Pods is on this Node: whether\n" +
		"policies allow them, by which rule, whether they take the fast path, and if not, why.",
	Example: "  antctl oncache explain --from ns1/client --to ns2/server --port 80\n  antctl oncache explain --from ns1/client --to ns2/dns --port 53 --protocol UDP",
	Flags: []Flag{
		{Name: "from", Usage: "Pod that opens the connection, NAMESPACE/NAME"},
		{Name: "to", Usage: "Pod that the connection goes to, NAMESPACE/NAME"},
		{Name: "port", Usage: "Port that the connection goes to"},
		{Name: "protocol", Usage: "TCP, UDP or SCTP; the default is TCP"},
	},
	Agent: &Endpoint{Path: "/oncache/explain", Response: Layout[api.Explanation]{func(e api.Explanation) Result {
		return Result{Data: e, Table: explanationTable(e)}
	}}},
}

func explanationTable(e api.Explanation) Table {
	t := Table{Header: []string{"ITEM", "ANSWER"}, Unsorted: true}
	row := func(item, answer string) { t.Rows = append(t.Rows, []string{item, answer}) }
	row("connection", fmt.Sprintf("%s %s (%s) to %s (%s) port %d", e.Protocol, e.From.Pod, e.From.IP, e.To.Pod, e.To.IP, e.Port))
	row("path", e.Path)
	row("reason", e.Reason)
	row("egress policy", verdictText(e.Egress))
	row("ingress policy", verdictText(e.Ingress))
	if e.LeaseSeconds > 0 {
		row("lease", seconds(float64(e.LeaseSeconds)))
	}
	for _, f := range e.Flows {
		row(fmt.Sprintf("%s %s to %s", f.Direction, f.Source, f.Destination),
			fmt.Sprintf("%s, age %s, lease %s, %d packets, %d bytes", f.State, seconds(f.AgeSeconds), seconds(max(f.LeaseSeconds, 0)), f.Packets, f.Bytes))
	}
	return t
}

func verdictText(v *api.ExplainedVerdict) string {
	switch {
	case v == nil:
		return "decided on the other Node"
	case !v.Isolated:
		return "allowed: no policy is applied to the Pod"
	case v.Allowed:
		return fmt.Sprintf("allowed by rule %d of %s", v.FlowID, v.Policy)
	default:
		return "denied: no rule of " + strings.Join(v.AppliedTo, ", ") + " allows it"
	}
}
