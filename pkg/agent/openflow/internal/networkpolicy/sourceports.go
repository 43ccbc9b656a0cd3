// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"slices"

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
func (n *Policies) concernSourcePorts(interfaceName string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sourcePorts.rules[interfaceName] > 0 || n.sourcePorts.coming[interfaceName]
}

// expectSourcePorts is called before the change is sent.
func (n *Policies) expectSourcePorts(change *policyChange) {
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
	before, rules := map[string]bool{}, n.sourcePorts.rules
	for id, r := range change.rules {
		for _, name := range n.sourcePorts.of(change.state.rules[id]) {
			rules[name]--
			before[name] = true
		}
		for _, name := range n.sourcePorts.of(r) {
			rules[name]++
		}
	}
	clear(n.sourcePorts.coming)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if rules[name] == 0 {
			delete(rules, name)
			freed = append(freed, name)
		}
	}
	return freed
}

// markFreed gets marks for Pods that no rule about source ports concerns any more. It needs a change of its own: marks that are sent without a
// change, at any time, must not meet the former rules.
func markFreed(t pipeline.Turn, freed []string) error {
	if len(freed) == 0 || !t.G.Features.Openings {
		return nil
	}
	if err := t.Commit(coherency.Change{Interfaces: freed}, nil); err != nil {
		return fmt.Errorf("mark packets of interfaces %q, for which there are no more rules about source ports: %w", freed, err)
	}
	return nil
}
