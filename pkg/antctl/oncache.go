// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

var oncacheDefinition = Definition{
	Use: "oncache", Aliases: []string{"onc"}, Group: Get,
	Short: "Print the state of the ONCache fast path",
	Long: "Print a summary of the ONCache fast path of this Node, or one of its views:\n" +
		"  flows      cached flows, one row per direction, the busiest first\n" +
		"  nodes      remote Nodes, and whether flows may go to them\n" +
		"  endpoints  local Pods that may use the cache\n" +
		"  openings   verdicts of Open vSwitch about new TCP connections, with oncache.openings",
	Example: "  antctl get oncache\n  antctl get oncache --watch\n  antctl get oncache flows -n ns1 -p pod1\n  antctl get oncache flows --ip 10.10.1.2 --limit 20\n  antctl get oncache nodes -o json",
	Args:    []Arg{{Name: "view"}},
	Watch:   true,
	Flags: []Flag{
		{Name: "namespace", Shorthand: "n", Usage: "Only flows of local Pods of this Namespace"},
		{Name: "pod", Shorthand: "p", Usage: "Only flows of this local Pod; needs --namespace"},
		{Name: "remote-node", Parameter: "node", Usage: "Only flows to and from this remote Node"},
		{Name: "ip", Usage: "Only flows with this source or destination address"},
		{Name: "limit", Usage: "Maximum number of flows"},
	},
	Agent: &Endpoint{Path: "/oncache", ResponseFor: func(query url.Values) Response {
		switch query.Get("view") {
		case "flows":
			return UnsortedList(oncacheFlowColumns...)
		case "nodes":
			return List(oncacheNodeColumns...)
		case "endpoints":
			return List(oncacheEndpointColumns...)
		case "openings":
			return List(oncacheOpeningColumns...)
		default:
			return Layout[api.Status]{func(s api.Status) Result { return Result{Data: s, Table: oncacheSummary(s)} }}
		}
	}},
}

var oncacheModeDefinition = Definition{
	Use: "mode", Group: ONCache,
	Short: "Show or change the mode of the ONCache fast path on this Node",
	Long: "Show or change the mode of the ONCache fast path on this Node, at once and without losing a packet:\n" +
		"  enforce  established flows take the fast path\n" +
		"  observe  flows are learned and would-be hits counted, but all traffic takes the slow path\n" +
		"  off      all traffic takes the slow path\n" +
		"A restart of the agent returns to oncache.mode of its configuration.",
	Example: "  antctl oncache mode\n  antctl oncache mode observe",
	Args:    []Arg{{Name: "mode"}},
	Agent: &Endpoint{Path: "/oncache/mode", ChangedBy: "mode", Response: Object(
		Column[api.ModeInfo]{"MODE", func(m api.ModeInfo) string { return m.Mode }},
	)},
}

var oncacheFlushDefinition = Definition{
	Use: "flush", Group: ONCache,
	Short: "Evict entries of the ONCache fast path on this Node",
	Long: "Evict the entries of a local Pod, the entries to and from a remote Node, or all entries of the ONCache fast path on this Node.\n" +
		"No connection is interrupted: its next packets go through Open vSwitch, and the cache learns from them again.",
	Example: "  antctl oncache flush --pod ns1/pod1\n  antctl oncache flush --remote-node node-2\n  antctl oncache flush --all",
	Flags: []Flag{
		{Name: "pod", Shorthand: "p", Usage: "Local Pod whose entries are evicted, NAMESPACE/NAME"},
		{Name: "remote-node", Parameter: "node", Usage: "Remote Node whose entries are evicted, with the outer header of packets to it"},
		{Name: "all", Usage: "Evict all entries and all outer headers", Bool: true},
	},
	Agent: &Endpoint{Path: "/oncache/flush", Changes: true, Response: Object(
		Column[api.Flushed]{"FLUSHED", func(f api.Flushed) string { return f.Scope }},
		Column[api.Flushed]{"ENTRIES", func(f api.Flushed) string { return fmt.Sprint(f.Entries) }},
	)},
}

var oncacheFlowColumns = []Column[api.FlowInfo]{
	{"DIRECTION", func(f api.FlowInfo) string { return f.Direction }},
	{"PROTO", func(f api.FlowInfo) string { return f.Protocol }},
	{"SOURCE", func(f api.FlowInfo) string { return f.Source }},
	{"DESTINATION", func(f api.FlowInfo) string { return f.Destination }},
	{"TRANSLATED", func(f api.FlowInfo) string { return cmp.Or(f.Translated, "-") }},
	{"LOCAL-POD", func(f api.FlowInfo) string { return f.Pod }},
	{"REMOTE-NODE", func(f api.FlowInfo) string { return cmp.Or(f.Node, "-") }},
	{"LOCAL-PEER", func(f api.FlowInfo) string { return cmp.Or(f.Peer, "-") }},
	{"STATE", func(f api.FlowInfo) string { return f.State }},
	{"REWRITTEN", func(f api.FlowInfo) string {
		if f.Rewritten {
			return "yes"
		}
		return "-"
	}},
	{"PACKETS", func(f api.FlowInfo) string { return fmt.Sprint(f.Packets) }},
	{"BYTES", func(f api.FlowInfo) string { return fmt.Sprint(f.Bytes) }},
	{"LEASE", func(f api.FlowInfo) string { return seconds(max(f.LeaseSeconds, 0)) }},
	{"AGE", func(f api.FlowInfo) string { return seconds(f.AgeSeconds) }},
}

var oncacheNodeColumns = []Column[api.NodeInfo]{
	{"NODE", func(n api.NodeInfo) string { return n.Name }},
	{"REACH", func(n api.NodeInfo) string { return n.Reach }},
	{"TUNNEL-IP", func(n api.NodeInfo) string { return n.TunnelIP }},
	{"POD-CIDRS", func(n api.NodeInfo) string { return Summary(n.PodCIDRs) }},
	{"SLOT", func(n api.NodeInfo) string {
		if n.OnOVS != "" {
			return "-"
		}
		return fmt.Sprint(n.Slot)
	}},
	{"ON-OVS", func(n api.NodeInfo) string { return cmp.Or(n.OnOVS, "-") }},
}

var oncacheOpeningColumns = []Column[api.OpeningInfo]{
	{"CLIENT", func(o api.OpeningInfo) string { return o.Client }},
	{"SERVER", func(o api.OpeningInfo) string { return o.Server }},
	{"LOCAL-POD", func(o api.OpeningInfo) string { return o.Pod }},
	{"REMOTE-NODE", func(o api.OpeningInfo) string { return o.Node }},
	{"STATE", func(o api.OpeningInfo) string { return o.State }},
	{"COVERED", func(o api.OpeningInfo) string { return fmt.Sprint(o.Covered) }},
	{"LEASE", func(o api.OpeningInfo) string { return seconds(max(o.LeaseSeconds, 0)) }},
	{"AGE", func(o api.OpeningInfo) string { return seconds(o.AgeSeconds) }},
}

var oncacheEndpointColumns = []Column[api.EndpointInfo]{
	{"POD", func(e api.EndpointInfo) string { return e.Pod }},
	{"INTERFACE-NAME", func(e api.EndpointInfo) string { return e.InterfaceName }},
	{"KIND", func(e api.EndpointInfo) string { return e.Kind }},
	{"IPS", func(e api.EndpointInfo) string { return Summary(e.IPs) }},
	{"IFINDEX", func(e api.EndpointInfo) string { return fmt.Sprint(e.IfIndex) }},
	{"SLOT", func(e api.EndpointInfo) string { return fmt.Sprint(e.Slot) }},
	{"GENERATION", func(e api.EndpointInfo) string { return fmt.Sprint(e.Generation) }},
	{"EPOCH", func(e api.EndpointInfo) string { return fmt.Sprint(e.Epoch) }},
	{"FLOWS", func(e api.EndpointInfo) string { return fmt.Sprint(e.Flows) }},
	{"ON-OVS", func(e api.EndpointInfo) string { return cmp.Or(e.OnOVS, "-") }},
}

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// oncacheSummary shows both directions next to each other. Values that belong to neither are in the first column.
func oncacheSummary(s api.Status) Table {
	t := Table{Header: []string{"ITEM", "EGRESS", "INGRESS"}, Unsorted: true}
	row := func(item, egress, ingress string) { t.Rows = append(t.Rows, []string{item, egress, ingress}) }
	one := func(item, value string) { row(item, value, "-") }
	one("state", s.State)
	if s.Reason != "" {
		one("reason", s.Reason)
	}
	if s.State == api.StateUnavailable {
		return t
	}
	if s.OpenVSwitchAway != nil {
		one("open vswitch", s.OpenVSwitchAway.String())
	}
	one("hook", s.Hook)
	one("uplink", s.Uplink)
	one("tunnel", s.Tunnel)
	if s.Rewrite != "" {
		one("rewritten packets", s.Rewrite)
		one("  keys in use", fmt.Sprint(s.Keys))
		if s.NotRewriting != "" {
			one("  none to this node", s.NotRewriting)
		}
	}
	one("lease", seconds(float64(s.LeaseSeconds)))
	one("local pods", fmt.Sprint(s.Endpoints))
	if s.PodsOnOVS > 0 {
		one("  kept on Open vSwitch", fmt.Sprint(s.PodsOnOVS))
	}
	t.Rows = append(t.Rows, nodeRows(s)...)
	both := func(item string, value func(api.DirectionStats) string) { row(item, value(s.Egress), value(s.Ingress)) }
	both("flows active", func(d api.DirectionStats) string { return fmt.Sprint(d.Active) })
	both("flows cached", func(d api.DirectionStats) string { return fmt.Sprintf("%d of %d", d.Entries, s.MaxFlows) })
	both("packets fast", func(d api.DirectionStats) string { return fmt.Sprint(d.Hits) })
	if s.Egress.LocalHits > 0 {
		one("  within this node", fmt.Sprint(s.Egress.LocalHits))
	}
	if s.Egress.RewrittenHits+s.Ingress.RewrittenHits > 0 {
		both("  rewritten", func(d api.DirectionStats) string { return fmt.Sprint(d.RewrittenHits) })
	}
	if s.Ingress.Restored+s.Ingress.UnknownKeys > 0 {
		row("  restored for Open vSwitch", "-", fmt.Sprint(s.Ingress.Restored))
		row("  dropped, key unknown", "-", fmt.Sprint(s.Ingress.UnknownKeys))
	}
	both("packets missed", func(d api.DirectionStats) string { return fmt.Sprint(d.Misses) })
	if s.Egress.WouldHit+s.Ingress.WouldHit > 0 {
		both("packets that would be fast", func(d api.DirectionStats) string { return fmt.Sprint(d.WouldHit) })
	}
	both("hit rate", func(d api.DirectionStats) string { return percent(d.Hits+d.WouldHit, d.Hits+d.WouldHit+d.Misses) })
	counts := func(prefix string, of func(api.DirectionStats) map[string]uint64) {
		for _, k := range reasonsOf(of(s.Egress), of(s.Ingress)) {
			both(prefix+strings.ReplaceAll(k, "_", " "), func(d api.DirectionStats) string { return fmt.Sprint(of(d)[k]) })
		}
	}
	counts("  missed: ", func(d api.DirectionStats) map[string]uint64 { return d.MissReasons })
	counts("  not cacheable: ", func(d api.DirectionStats) map[string]uint64 { return d.Uncacheable })
	t.Rows = append(append(t.Rows, openingRows(s.Openings)...), upkeepRows(s)...)
	return t
}

// openingRows are about openings, if the Node has them.
func openingRows(o *api.Openings) [][]string {
	if o == nil {
		return nil
	}
	return [][]string{
		{"openings", fmt.Sprint(o.Entries), "-"},
		{"  connections covered", fmt.Sprint(o.Covered), "-"},
		{"  learned", fmt.Sprint(o.Learned), "-"},
		{"  renewed", fmt.Sprint(o.Renewed), "-"},
	}
}

func nodeRows(s api.Status) [][]string {
	rows := [][]string{{"remote nodes", fmt.Sprint(s.Nodes), "-"}}
	if s.NodesOnOVS > 0 {
		rows = append(rows, []string{"  without hits: reached without the tunnel", fmt.Sprint(s.NodesOnOVS), "-"})
	}
	return rows
}

// upkeepRows are the rows about changes and memory.
func upkeepRows(s api.Status) [][]string {
	return [][]string{
		{"entries learned", fmt.Sprint(s.Egress.Learned), fmt.Sprint(s.Ingress.Learned)},
		{"leases renewed", fmt.Sprint(s.Egress.Renewed), fmt.Sprint(s.Ingress.Renewed)},
		{"evictions", fmt.Sprintf("pod %d, node %d, all %d", s.Evictions.Endpoint, s.Evictions.Node, s.Evictions.All), "-"},
		{"conntrack updates", fmt.Sprintf("%d, failed %d", s.Conntrack.Segments+s.Conntrack.Idle, s.Conntrack.Failed), "-"},
		{"memory", fmt.Sprintf("%.1f MiB", float64(s.MemoryBytes)/(1<<20)), "-"},
	}
}

// reasonsOf returns the keys of both, each once, sorted.
func reasonsOf(egress, ingress map[string]uint64) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(egress)), maps.Keys(ingress))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(whole))
}
