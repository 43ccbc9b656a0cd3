// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/antrea-oncache/antrea/test/policy"
)

// state is the observable state of a world at the end of a phase.
type state struct {
	phase *phase
	// ready has, by Node, the reason why its agent is not ready; "" if it is.
	ready map[string]string
	// outcomes are the outcomes of the phase's probes.
	outcomes []string
	// flows are the flows that do not belong to policies, by Node and key.
	flows map[string]map[string]string
	// routes and addresses are the state of the host network.
	routes    map[string]map[netip.Prefix]string
	addresses map[string]map[string]string
	// policies are the good policies that the agent of a Node knows.
	policies  map[string][]string
	incidents []string
	// problems are the agents' reports, printed when there are differences.
	problems []string

	// The fields below say what may differ; connected are the connected Pods, by namespace/name.
	connected map[string]bool
	present   []*bad
	damaged   map[string]bool
}

// look observes a world.
func (w *World) look(p *phase) *state {
	s := &state{
		phase: p, ready: map[string]string{}, flows: map[string]map[string]string{}, routes: map[string]map[netip.Prefix]string{},
		addresses: map[string]map[string]string{}, policies: map[string][]string{}, incidents: w.takeIncidents(),
		present: slices.Collect(maps.Keys(w.present)), damaged: maps.Clone(w.damaged), connected: map[string]bool{},
	}
	for _, pod := range p.world.Pods {
		s.connected[pod.Namespace+"/"+pod.Name] = w.host(pod.Node).interfaceConfig(pod) != nil
	}
	for _, probe := range p.probes {
		s.outcomes = append(s.outcomes, w.send(probe))
	}
	for _, h := range w.hosts {
		if !h.isReady() {
			s.ready[h.name()] = fmt.Sprintf("not ready, waits for %v", h.missing())
		}
		s.flows[h.name()] = h.flowTexts(p.world)
		s.routes[h.name()], s.addresses[h.name()] = h.routes.snapshot()
		for _, np := range h.policies.NetworkPolicies() {
			s.policies[h.name()] = append(s.policies[h.name()], np.Name)
		}
		problems, _ := h.problems.List()
		for _, p := range problems {
			s.problems = append(s.problems, fmt.Sprintf("%s reports %s of %s since %s: %s", h.name(), p.Reason, p.Subject, p.Since.Format(time.TimeOnly), p.Message))
		}
	}
	return s
}

// policyTables have flows that rules share; their effect on packets is compared instead.
var policyTables = []string{"EgressRule", "EgressDefaultRule", "EgressMetric", "IngressRule", "IngressDefaultRule", "IngressMetric"}

// flowTexts returns the flows by match. It replaces MAC addresses of Pods, which are random, and leaves out rounds.
func (h *host) flowTexts(world *policy.World) map[string]string {
	names, _ := h.bridge.TableNames() // the bridge exists
	var macs []string
	for _, pod := range world.Pods {
		if c := h.interfaceConfig(pod); c != nil && pod.Node == h.name() {
			mac := c.MAC.String()
			macs = append(macs, mac, "MAC of "+c.InterfaceName, "0x"+strings.ReplaceAll(mac, ":", ""), "MAC of "+c.InterfaceName, linkLocal(c.MAC), "LL of "+c.InterfaceName)
		}
	}
	replacer := strings.NewReplacer(macs...)
	texts := map[string]string{}
	for key, flow := range h.flows.all() {
		if !slices.Contains(policyTables, names[flow.Table]) {
			flow.Cookie = 0
			texts[replacer.Replace(key)] = replacer.Replace(flow.String())
		}
	}
	return texts
}

func linkLocal(mac []byte) string {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}).String()
}

// differences returns the differences between b, which has met bad things, and a, which has not, except those that the bad
// things may cause.
func differences(a, b *state) (all []string) {
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(b.ready)) {
		if a.ready[name] == "" {
			note("%s is %s", name, b.ready[name])
		}
	}
	for _, incident := range b.incidents {
		if !slices.Contains(a.incidents, incident) && !b.explainsIncident(incident) {
			note("%s", incident)
		}
	}
	for i, probe := range a.phase.probes {
		if text := b.compareOutcome(probe, a.outcomes[i], b.outcomes[i]); text != "" {
			note("%s: %s", probeText(probe), text)
		}
	}
	for name := range a.flows {
		all = append(all, b.compareTexts("flow", name, a.flows[name], b.flows[name])...)
		all = append(all, b.compareTexts("route", name, byText(a.routes[name]), byText(b.routes[name]))...)
		for node, addresses := range a.addresses[name] {
			if b.addresses[name][node] != addresses {
				note("addresses of %s at %s: %s, want %s", node, name, b.addresses[name][node], addresses)
			}
		}
		for _, uid := range a.policies[name] {
			if !slices.Contains(b.policies[name], uid) && !b.damaged[name] {
				note("%s does not know the policy %s", name, uid)
			}
		}
	}
	return all
}

// explainsIncident reports whether it is expected that a Pod is not connected, because a bad thing concerns it.
func (b *state) explainsIncident(incident string) bool {
	if !strings.HasPrefix(incident, "ADD of") {
		return false
	}
	for _, pod := range b.phase.world.Pods {
		if strings.HasPrefix(incident, fmt.Sprintf("ADD of %s/%s:", pod.Namespace, pod.Name)) && b.mayClose(pod) {
			return true
		}
	}
	return false
}

// compareOutcome returns what is wrong with the outcome of a probe.
func (b *state) compareOutcome(p *policy.Probe, want, have string) string {
	switch {
	case (want == delivered) == (have == delivered) && (want == absent) == (have == absent):
		return ""
	case want != delivered && have == delivered && !b.aliasAllows(p):
		return "open; without bad things it is " + want
	case want == delivered && !b.mayClose(p.From) && !b.mayClose(p.To):
		return "closed (" + have + "); without bad things it is open"
	}
	return ""
}

// mayClose reports whether a bad thing concerns the Pod so that it may be isolated.
func (b *state) mayClose(pod *policy.Pod) bool {
	return b.damaged[pod.Node] || slices.ContainsFunc(b.present, func(x *bad) bool { return x.selects != nil && x.selects(pod) })
}

// aliasAllows reports whether the probe is allowed because another Pod claims the address of one of its ends, as far as
// Kubernetes knows.
func (b *state) aliasAllows(p *policy.Probe) bool {
	world := *b.phase.world
	identities := func(pod *policy.Pod) []*policy.Pod {
		all := []*policy.Pod{pod}
		for _, x := range b.present {
			if x.alias != nil && x.alias.IPv4 == pod.IPv4 {
				all = append(all, x.alias)
			}
		}
		return all
	}
	// Each end is subject to its own policies, and is a peer in the role of every Pod that claims its address.
	allowed := func(direction networkingv1.PolicyType, peers []*policy.Pod) bool {
		return slices.ContainsFunc(peers, func(peer *policy.Pod) bool {
			probe := *p
			if direction == networkingv1.PolicyTypeIngress {
				probe.From = peer
			} else {
				probe.To = peer
			}
			return world.AllowedBy(&probe, direction)
		})
	}
	return allowed(networkingv1.PolicyTypeIngress, identities(p.From)) && allowed(networkingv1.PolicyTypeEgress, identities(p.To))
}

// compareTexts compares flows or routes by key. Additional ones must concern only networks that a bad Node claims.
func (b *state) compareTexts(what, node string, want, have map[string]string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have[key] != want[key] && !(have[key] == "" && b.mayLack(key)) {
			all = append(all, fmt.Sprintf("%s of %s: %q, want %q", what, node, have[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if want[key] == "" && !b.explains(key) {
			all = append(all, fmt.Sprintf("%s of %s that nothing explains: %q", what, node, have[key]))
		}
	}
	return all
}

// mayLack reports whether the key of a flow names a Pod that is not connected because a bad thing concerns it.
func (b *state) mayLack(key string) bool {
	fields := strings.FieldsFunc(key, func(r rune) bool { return r == ',' })
	return slices.ContainsFunc(b.phase.world.Pods, func(pod *policy.Pod) bool {
		if !b.mayClose(pod) || b.connected[pod.Namespace+"/"+pod.Name] {
			return false
		}
		port := pod.IPv4.As4()[3]
		return slices.Contains(fields, fmt.Sprint("in_port=", port)) || slices.Contains(fields, "nw_dst="+pod.IPv4.String()) || strings.Contains(key, "MAC of "+interfaceOf(pod))
	})
}

func byText(routes map[netip.Prefix]string) map[string]string {
	texts := map[string]string{}
	for prefix, text := range routes {
		texts[prefix.String()] = prefix.String() + " " + text
	}
	return texts
}

// explains reports whether the key of a flow or route names something that a bad Node may have: a Pod network that belongs
// to no good Node, or its gateway; or its address.
func (b *state) explains(key string) bool {
	fields := strings.FieldsFunc(key, func(r rune) bool { return r == ',' || r == '=' || r == ' ' })
	for _, x := range b.present {
		if x.Kind != "Node" {
			continue
		}
		if slices.ContainsFunc(x.addresses, func(addr netip.Addr) bool { return strings.HasSuffix(key, ",nw_dst="+addr.String()) }) {
			return true
		}
		for _, prefix := range x.prefixes {
			if b.takesFromOthers(prefix) {
				continue
			}
			if slices.Contains(fields, prefix.String()) || slices.Contains(fields, prefix.Addr().Next().String()) {
				return true
			}
		}
	}
	return false
}

// takesFromOthers reports whether a network belongs to a good Node, or contains its address.
func (b *state) takesFromOthers(prefix netip.Prefix) bool {
	return slices.ContainsFunc(b.phase.nodes, func(number byte) bool {
		return prefix.Overlaps(podCIDR(number)) || prefix.Contains(transportIP(number))
	})
}
