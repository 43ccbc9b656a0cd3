// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// sourcePorts knows the Pods with rules about source ports, by interface: what such a rule decides about one connection of a client to a server's
// port says nothing about the next. So the packets that open their connections are not marked. It is protected by the feature's mu.
type sourcePorts struct {
	// rules is the number of these rules on the switch, by interface. coming are the interfaces of those that the switch may also have, since a
	// change was last accepted.
	rules  map[string]int
	coming map[string]bool
}

func newSourcePorts() sourcePorts {
	return sourcePorts{rules: map[string]int{}, coming: map[string]bool{}}
}

// of returns the interfaces to which the rule is applied if it is about source ports.
func (*sourcePorts) of(r *policy.Rule) (interfaces []string) {
	if r == nil || !slices.ContainsFunc(r.Services, func(s policy.Service) bool { return s.SourceMask != 0 }) {
		return nil
	}
	for _, pod := range r.AppliedTo {
		if !slices.Contains(interfaces, pod.InterfaceName) {
			interfaces = append(interfaces, pod.InterfaceName)
		}
	}
	return interfaces
}

// concernSourcePorts reports whether such rules concern the Pod, also one that the switch may get, or may have until it has accepted the change.
// The rules of former rounds are not known, and those that log may not exclude the mark: while they may be in force, they concern all Pods.
func (n *Policies) concernSourcePorts(interfaceName string) bool {
	former := len(n.socket.FormerRounds()) > 0
	n.mu.Lock()
	defer n.mu.Unlock()
	return former && !n.stalePoliciesDeleted || n.sourcePorts.rules[interfaceName] > 0 || n.sourcePorts.coming[interfaceName]
}

// expectSourcePorts is called before the change is sent.
func (n *Policies) expectSourcePorts(t pipeline.Turn, change *policyChange) {
	if !t.G.Features.Openings {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range change.rules {
		for _, name := range n.sourcePorts.of(r) {
			n.sourcePorts.coming[name] = true
		}
	}
}

// countSourcePorts records a change that the switch has accepted, before it is applied to the state. It returns the interfaces that no
// such rule concerns any more. The caller holds mu.
func (n *Policies) countSourcePorts(change *policyChange) (freed []string) {
	before, rules := n.sourcePorts.coming, n.sourcePorts.rules
	for id, r := range change.rules {
		for _, name := range n.sourcePorts.of(change.state.rules[id]) {
			rules[name]--
			before[name] = true
		}
		for _, name := range n.sourcePorts.of(r) {
			rules[name]++
		}
	}
	n.sourcePorts.coming = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if rules[name] == 0 {
			delete(rules, name)
			freed = append(freed, name)
		}
	}
	return freed
}

// markFreed gets marks for Pods that no rule about source ports concerns any more. It needs a change of its own: marks that are sent without a
// change, at any time, must not meet the former rules. The rules are on the switch already, so a failure is not theirs: the Pods have no marks
// of openings until their next change.
func markFreed(t pipeline.Turn, freed coherency.Change) {
	if !t.G.Features.Openings || len(freed.Interfaces) == 0 && !freed.All {
		return
	}
	if err := t.Commit(freed, nil); err != nil {
		klog.ErrorS(err, "Failed to mark the packets that open connections of Pods which no rule about source ports concerns any more; their openings are not learned until their next change",
			"interfaces", freed.Interfaces, "all", freed.All)
	}
}
