// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// Groups of reasons; the rest of the enum belongs to the learning programs. See bpf/oncache/reasons.h.
var (
	missReasons        = []string{"no_entry", "not_proved", "stale_endpoint", "stale_node", "stale_all", "lease", "spoof", "mtu", "ecn", "offload"}
	uncacheableReasons = []string{"off", "not_ip", "malformed", "ip_options", "fragment", "protocol", "tcp_flags", "ttl", "no_endpoint", "not_remote", "outer_header", "outer_source"}
)

// Status reads the summary. It walks the flow maps: tens of milliseconds for a million flows.
func (m *Manager) Status() (*api.Status, error) {
	s := &api.Status{
		Uplink:       m.config.Uplink,
		Tunnel:       fmt.Sprintf("%s/%d", m.config.TunnelType, m.config.TunnelPort),
		Rewrite:      m.rewriteText(),
		LeaseSeconds: int(m.config.Lease / time.Second),
	}
	switch reason := m.Unavailable(); {
	case errors.Is(reason, errNotStarted):
		s.State, s.Mode, s.Reason = api.StateSuspended, m.config.Mode.String(), reason.Error()
		return s, nil
	case reason != nil:
		return &api.Status{State: api.StateUnavailable, Reason: reason.Error()}, nil
	}
	s.Hook = string(m.dp.Hook())
	if reason := m.uplink.refusal.now(); reason != nil {
		s.NotRewriting = reason.Error()
	}
	s.Mode, s.State, s.Reason = m.stateNow()
	s.Time = time.Now()
	counters, err := m.dp.Counters()
	if err != nil {
		return nil, err
	}
	s.Egress = directionStats(counters["egress"], counters["egress_init"])
	s.Ingress = directionStats(counters["ingress"], counters["ingress_init"])
	s.Ingress.Restored, s.Ingress.UnknownKeys = counters["ingress"]["restored"], counters["ingress"]["unknown_key"]
	if s.Keys, err = m.dp.KeysKept(); err != nil {
		return nil, err
	}
	s.Programs = datapath.Counters{}
	for program, reasons := range counters {
		s.Programs[program] = nonZero(reasons, slices.Collect(maps.Keys(reasons)))
	}
	if err := m.readMaps(s); err != nil {
		return nil, err
	}
	if s.Openings, err = m.openingStats(counters); err != nil {
		return nil, err
	}
	updates := m.tracking.Stats()
	s.Conntrack = api.Conntrack{Segments: updates.Passed, Idle: updates.Idle, Failed: updates.Failed}
	s.PodsOnOVS = m.pods.podsOnOVS()
	s.OpenVSwitchAway = m.absence.status(s.Time)
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	s.Endpoints, s.Nodes, s.NodesOnOVS, s.Evictions = m.ledger.podCount(), len(m.ledger.nodes), len(m.ledger.plain), m.ledger.evictions
	s.Evictions.All += m.uplink.evictions.Load()
	s.Evictions.Node += m.uplink.evictedNodes.Load()
	return s, nil
}

// readMaps counts the entries of the flow maps and the memory of all maps.
func (m *Manager) readMaps(s *api.Status) error {
	if err := m.dp.Flows(func(f datapath.Flow) bool {
		stats := &s.Egress
		if f.Direction == datapath.DirectionIngress {
			stats = &s.Ingress
		}
		stats.Entries++
		if f.Active() {
			stats.Active++
		}
		return true
	}); err != nil {
		return err
	}
	mapStats, err := m.dp.MapStats()
	if err != nil {
		return err
	}
	for _, ms := range mapStats {
		s.MemoryBytes += ms.Bytes
		if ms.Name == "egress_flows4" {
			s.MaxFlows = ms.MaxEntries
		}
	}
	return nil
}

// rewriteText returns the port for rewritten packets, empty if hits are encapsulated.
func (m *Manager) rewriteText() string {
	if !m.config.Rewrite {
		return ""
	}
	return fmt.Sprintf("tcp+udp/%d", m.config.RewritePort)
}

// stateNow returns the wanted mode, and the cache's present state with the reason why it is not active.
func (m *Manager) stateNow() (mode, state, reason string) {
	wanted, suspended := m.uplink.mode.state()
	switch {
	case suspended != nil:
		return wanted.String(), api.StateSuspended, suspended.Error()
	case wanted == datapath.ModeObserve:
		return wanted.String(), api.StateObserving, ""
	case wanted == datapath.ModeOff:
		return wanted.String(), api.StateOff, ""
	}
	return wanted.String(), api.StateActive, ""
}

func directionStats(fast, learn map[string]uint64) api.DirectionStats {
	s := api.DirectionStats{
		Hits: fast["hit"] + fast["hit_local"] + fast["hit_rewritten"] + fast["hit_untracked"], LocalHits: fast["hit_local"], RewrittenHits: fast["hit_rewritten"], WouldHit: fast["observed"], Learned: learn["learned"], Renewed: learn["renewed"],
		MissReasons: nonZero(fast, missReasons), Uncacheable: nonZero(fast, uncacheableReasons),
	}
	for _, n := range s.MissReasons {
		s.Misses += n
	}
	return s
}

func nonZero(from map[string]uint64, keys []string) map[string]uint64 {
	out := map[string]uint64{}
	for _, k := range keys {
		if from[k] > 0 {
			out[k] = from[k]
		}
	}
	return out
}

// FlowFilter selects flows; zero fields select everything.
type FlowFilter struct {
	// Namespace and Pod name the local Pod, or either of the two of a flow within the Node; Node is the name of the remote Node.
	Namespace, Pod, Node string
	// Address is one end of the flow, before or after translation.
	Address netip.Addr
	// Limit is the largest number of rows; 0 means no limit.
	Limit int
}

// Flows lists entries of the cache, starting with the most packets.
func (m *Manager) Flows(filter FlowFilter) ([]api.FlowInfo, error) {
	out := []api.FlowInfo{}
	if m.Unavailable() != nil {
		return out, nil
	}
	names := m.slotNames()
	selected := busiest{limit: filter.Limit}
	err := m.dp.Flows(func(f datapath.Flow) bool {
		if filter.selects(&f, names) {
			selected.add(f)
		}
		return true
	})
	for _, f := range selected.take() {
		out = append(out, flowInfo(&f, names))
	}
	return out, err
}

// selects reports whether the filter lets a flow pass.
func (filter *FlowFilter) selects(f *datapath.Flow, names slotNames) bool {
	pod, peer := names.podsOf(f)
	isOf := func(pod string) bool {
		return (filter.Namespace == "" || strings.HasPrefix(pod, filter.Namespace+"/")) && (filter.Pod == "" || pod == filter.Namespace+"/"+filter.Pod)
	}
	return (isOf(pod) || peer != "" && isOf(peer)) &&
		(filter.Node == "" || names.nodes[f.NodeSlot] == filter.Node) &&
		(!filter.Address.IsValid() || slices.Contains([]netip.Addr{f.Source.Addr(), f.Destination.Addr(), f.Translated.Addr()}, filter.Address))
}

func flowInfo(f *datapath.Flow, names slotNames) api.FlowInfo {
	pod, peer := names.podsOf(f)
	info := api.FlowInfo{
		Direction: string(f.Direction), Protocol: protocolName(f.Protocol),
		Source: f.Source.String(), Destination: f.Destination.String(),
		Pod: pod, Peer: peer, Node: names.nodes[f.NodeSlot], State: flowState(f),
		Packets: f.Packets, Bytes: f.Bytes, LeaseSeconds: f.LeaseLeft.Seconds(), AgeSeconds: f.Age.Seconds(),
		Rewritten: f.Rewritten && f.Active(),
	}
	if f.Translated.IsValid() {
		info.Translated, info.SourceTranslated = f.Translated.String(), f.SourceTranslated
	}
	return info
}

// busiest keeps the limit flows with the most packets; all for 0. A full cache has millions.
type busiest struct {
	limit int
	flows []datapath.Flow
}

func (b *busiest) add(f datapath.Flow) {
	b.flows = append(b.flows, f)
	if b.limit > 0 && len(b.flows) >= 2*b.limit+flowSlack {
		b.take()
	}
}

// flowSlack makes small limits sort less often.
const flowSlack = 1000

// take sorts and cuts.
func (b *busiest) take() []datapath.Flow {
	slices.SortFunc(b.flows, func(x, y datapath.Flow) int { return cmp.Compare(y.Packets, x.Packets) })
	if b.limit > 0 && len(b.flows) > b.limit {
		b.flows = b.flows[:b.limit]
	}
	return b.flows
}

// flowState returns the first condition that the entry does not meet, as the reason under which a packet would be counted.
func flowState(f *datapath.Flow) string {
	switch {
	case f.Active():
		return "active"
	case !f.CurrentEverybody:
		return "stale_all"
	case !f.CurrentEndpoint, f.Local && !f.CurrentNode:
		return "stale_endpoint"
	case !f.CurrentNode:
		return "stale_node"
	case !f.Proved():
		return "not_proved"
	default:
		return "lease"
	}
}

func protocolName(p uint8) string {
	switch p {
	case 6:
		return "TCP"
	case 17:
		return "UDP"
	}
	return fmt.Sprint(p)
}

// slotNames maps slots to their present owners.
type slotNames struct {
	pods  map[int]Pod
	nodes map[int]string
}

func (m *Manager) slotNames() slotNames {
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	names := slotNames{pods: map[int]Pod{}, nodes: map[int]string{}}
	for _, e := range m.ledger.endpoints {
		names.pods[e.slot] = e.pod
	}
	for _, n := range m.ledger.eachNode() {
		names.nodes[n.slot] = n.Name
	}
	return names
}

// podsOf returns the local Pod of a flow, and the receiving Pod if it is another Pod of this Node. An entry from before the agent's
// start may have a slot that belongs to another Pod now: such a Pod has another address, and the name is empty.
func (s slotNames) podsOf(f *datapath.Flow) (pod, peer string) {
	name := func(slot int, address netip.AddrPort) string {
		if p, ok := s.pods[slot]; ok && slices.Contains(p.IPs, address.Addr()) {
			return p.String()
		}
		return ""
	}
	switch {
	case f.Direction == datapath.DirectionIngress:
		return name(f.EndpointSlot, f.Destination), ""
	case !f.Local:
		return name(f.EndpointSlot, f.Source), ""
	}
	receiver := f.Destination
	if f.Translated.IsValid() && !f.SourceTranslated {
		receiver = f.Translated
	}
	return name(f.EndpointSlot, f.Source), name(f.PeerSlot, receiver)
}

// Nodes lists the transport addresses of the remote Nodes, by name, also of Nodes to which there are no hits.
func (m *Manager) Nodes() []api.NodeInfo {
	out := []api.NodeInfo{}
	if m.Unavailable() != nil {
		return out
	}
	gateway := m.pods.gatewayOnOVS()
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	for _, n := range m.ledger.eachNode() {
		info := nodeInfo(n.Node, n.slot)
		if n.Reach.Kind == reach.Direct && !m.ledger.directMarks {
			info.OnOVS = fmt.Sprintf("%s, and %s stays on Open vSwitch: %s", WithoutTunnel, m.config.Gateway.Name, gateway)
		}
		out = append(out, info)
	}
	for _, plain := range m.ledger.plain {
		for _, n := range plain {
			info := nodeInfo(n, datapath.MaxNodes)
			info.OnOVS = fmt.Sprintf("%s (%s)", WithoutTunnel, n.Reach.Kind)
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b api.NodeInfo) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Slot, b.Slot), slices.Compare(a.PodCIDRs, b.PodCIDRs))
	})
	return out
}

func nodeInfo(n coherency.Node, slot int) api.NodeInfo {
	info := api.NodeInfo{Name: n.Name, Reach: n.Reach.Kind.String(), TunnelIP: n.Reach.Address.String(), Slot: slot, PodCIDRs: []string{}}
	for _, p := range n.PodCIDRs {
		info.PodCIDRs = append(info.PodCIDRs, p.String())
	}
	return info
}

// onOVS lists the Pods that were not announced, and the gateway if it was not, with the reasons.
func (a *podAnnouncer) onOVS() []api.EndpointInfo {
	out := []api.EndpointInfo{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pods {
		if p.onOVS == "" {
			continue
		}
		info := api.EndpointInfo{
			Pod: p.Pod.String(), InterfaceName: p.InterfaceName, Kind: p.kind, IfIndex: p.ifIndex, OnOVS: p.onOVS,
		}
		for _, ip := range p.IPs {
			info.IPs = append(info.IPs, ip.String())
		}
		out = append(out, info)
	}
	return out
}

// gatewayOnOVS says why the gateway was not announced.
func (a *podAnnouncer) gatewayOnOVS() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.pods[a.config.Gateway.Name]; p != nil {
		return p.onOVS
	}
	return ""
}

// podsOnOVS is the number of Pods that were not announced.
func (a *podAnnouncer) podsOnOVS() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pods {
		if p.onOVS != "" && !p.Gateway {
			n++
		}
	}
	return n
}

// Endpoints lists the local Pods, and the gateway, by name.
func (m *Manager) Endpoints() []api.EndpointInfo {
	if m.Unavailable() != nil {
		return []api.EndpointInfo{}
	}
	out := m.pods.onOVS()
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	for _, e := range m.ledger.endpoints {
		info := api.EndpointInfo{
			Pod: e.pod.String(), InterfaceName: e.pod.InterfaceName, Kind: e.kind, IfIndex: e.ifIndex,
			Slot: e.slot, Generation: e.generation, Epoch: e.epoch, Flows: m.dp.FlowCount(e.slot),
			ShareUsedUp: m.dp.ShareUsedUp(e.slot),
		}
		for _, ip := range e.pod.IPs {
			info.IPs = append(info.IPs, ip.String())
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b api.EndpointInfo) int { return cmp.Compare(a.Pod, b.Pod) })
	return out
}
