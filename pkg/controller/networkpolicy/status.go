// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Reasons of conditions. The first two and their messages are Antrea's.
const (
	reasonFailedOnNode     = "NetworkPolicyRealizationFailedOnNode"
	reasonUnsupportedGroup = "NetworkPolicyAppliedToUnsupportedGroup"
	reasonUnsupported      = "NetworkPolicyUnsupported"
)

// StatusKey names an object whose status the controller writes. Kind is a kind of crd.antrea.io, or the type of an internal policy whose
// source is in another group.
type StatusKey struct {
	Kind string
	types.NamespacedName
}

func (p *policy) statusKey() StatusKey {
	if p.admin != nil {
		return StatusKey{string(p.source.Type), types.NamespacedName{Name: p.source.Name}}
	}
	kind := v1beta1.NetworkPolicyKind
	if p.antrea.namespace == "" {
		kind = v1beta1.ClusterNetworkPolicyKind
	}
	return StatusKey{kind, types.NamespacedName{Namespace: p.antrea.namespace, Name: p.source.Name}}
}

func (s *groupSource) statusKey() StatusKey {
	kind := v1beta1.GroupKind
	if s.namespace == "" {
		kind = v1beta1.ClusterGroupKind
	}
	return StatusKey{kind, types.NamespacedName{Namespace: s.namespace, Name: s.name}}
}

// status returns the status of a policy of Antrea. Its conditions have no times.
func (c *core) status(p *policy) v1beta1.NetworkPolicyStatus {
	status := v1beta1.NetworkPolicyStatus{ObservedGeneration: p.source.generation}
	realizable := v1beta1.NetworkPolicyCondition{Type: v1beta1.NetworkPolicyConditionRealizable, Status: metav1.ConditionTrue}
	if group := c.foreignGroup(p); group != "" {
		realizable.Status, realizable.Reason = metav1.ConditionFalse, reasonUnsupportedGroup
		realizable.Message = fmt.Sprintf("Group %s with Pods in other Namespaces can not be used as AppliedTo", group)
		status.Phase, status.Conditions = v1beta1.NetworkPolicyPending, []v1beta1.NetworkPolicyCondition{realizable}
		return status
	}
	realized, failures := p.realization()
	status.CurrentNodesRealized = realized
	status.DesiredNodesRealized = int32(len(p.span))
	status.Phase = phase(&status, len(failures))
	if len(p.translation.unreadable) > 0 {
		realizable.Status, realizable.Reason, realizable.Message = metav1.ConditionFalse, reasonUnsupported, p.translation.complaint()
		if status.Phase != v1beta1.NetworkPolicyFailed {
			status.Phase = v1beta1.NetworkPolicyPending
		}
	}
	status.Conditions = []v1beta1.NetworkPolicyCondition{realizable}
	if status.Phase == v1beta1.NetworkPolicyFailed {
		status.Conditions = append(status.Conditions, v1beta1.NetworkPolicyCondition{
			Type: v1beta1.NetworkPolicyConditionRealizationFailure, Status: metav1.ConditionTrue,
			Reason: reasonFailedOnNode, Message: failureMessage(failures),
		})
	}
	return status
}

// realization returns the number of Nodes that have realized the latest version of the policy, and the messages of those that failed to.
func (p *policy) realization() (realized int32, failures map[string]string) {
	failures = map[string]string{}
	for node, report := range p.reports {
		switch {
		case report.Generation != p.source.generation:
		case report.RealizationFailure:
			failures[node] = report.Message
		default:
			realized++
		}
	}
	return realized, failures
}

// phase returns the phase of a policy that some Nodes have realized and some have failed to.
func phase(status *v1beta1.NetworkPolicyStatus, failed int) v1beta1.NetworkPolicyPhase {
	switch {
	case status.CurrentNodesRealized == status.DesiredNodesRealized:
		return v1beta1.NetworkPolicyRealized
	case int(status.CurrentNodesRealized)+failed == int(status.DesiredNodesRealized):
		return v1beta1.NetworkPolicyFailed
	default:
		return v1beta1.NetworkPolicyRealizing
	}
}

func failureMessage(failures map[string]string) string {
	var texts []string
	for _, node := range slices.Sorted(maps.Keys(failures)) {
		texts = append(texts, fmt.Sprintf("%q:%q", node, failures[node]))
	}
	return shortened(fmt.Sprintf("Failed Nodes count %d: %s", len(failures), strings.Join(texts, ", ")))
}

// foreignGroup returns the first group of appliedTo that has Pods of other Namespaces than the policy's; empty if none has.
func (c *core) foreignGroup(p *policy) string {
	for _, key := range slices.Sorted(maps.Keys(p.translation.uses.foreign)) {
		if source := c.antrea.sources[key]; source != nil && source.foreign > 0 {
			return key
		}
	}
	return ""
}

// condition returns the status of a group, without time.
func (s *groupSource) condition() v1beta1.GroupCondition {
	condition := v1beta1.GroupCondition{Type: v1beta1.GroupMembersComputed, Status: metav1.ConditionTrue}
	switch {
	case s.nested:
		condition.Status, condition.Reason = metav1.ConditionFalse, "ChildGroupsNestingExceeded"
		condition.Message = "a child group has child groups"
	case s.unknown != nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "GroupUnsupported", shortened(s.unknown.Error())
	case s.former != nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, "GroupUnsupported"
		condition.Message = shortened("the former version stays in force: " + s.former.Error())
	case !s.complete:
		condition.Status, condition.Reason = metav1.ConditionFalse, "ChildGroupsNotComputed"
		condition.Message = "a child group does not exist or is not computed"
	}
	return condition
}

// PolicyStatus returns the status that a policy of Antrea should have, without times; found is false if there is none.
func (s *Store) PolicyStatus(name types.NamespacedName) (status v1beta1.NetworkPolicyStatus, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.core.antrea.policies[name]
	if p == nil {
		return status, false
	}
	return s.core.status(p), true
}

// GroupStatus returns the condition that a Group, or without Namespace a ClusterGroup, should have, without time.
func (s *Store) GroupStatus(name types.NamespacedName) (condition v1beta1.GroupCondition, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source := s.core.antrea.sources[groupKey(name.Namespace, name.Name)]
	if source == nil {
		return condition, false
	}
	return source.condition(), true
}

// Report takes what Nodes say about the policy of that key, and reports whether there is such a policy with a status. Reports of Nodes outside
// of its span do not count.
func (s *Store) Report(key string, nodes []controlplane.NetworkPolicyNodeStatus) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.core.policies[key]
	if p == nil || !p.tiered() {
		return false
	}
	for _, report := range nodes {
		if !p.span.has(report.NodeName) || p.reports[report.NodeName] == report {
			continue
		}
		if p.reports == nil {
			p.reports = map[string]controlplane.NetworkPolicyNodeStatus{}
		}
		p.reports[report.NodeName] = report
		s.core.antrea.changed[p] = struct{}{}
	}
	s.tellStatus()
	return true
}

// OnStatus makes the store call notify, which must not wait, when the status of an object may have changed.
func (s *Store) OnStatus(notify func(StatusKey)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = notify
}

// noteStatus notes which status a change of a policy affects: a Node that leaves takes its report with it.
func (s *Store) noteStatus(ch *change) {
	p, ok := ch.object.(*policy)
	if !ok || !p.tiered() {
		return
	}
	for _, node := range ch.left {
		delete(p.reports, node)
	}
	if !ch.deleted {
		s.core.antrea.changed[p] = struct{}{}
	}
}

// tellStatus calls notify for what has changed.
func (s *Store) tellStatus() {
	antrea := &s.core.antrea
	if s.notify != nil {
		for p := range antrea.changed {
			if p.tiered() {
				s.notify(p.statusKey())
			}
		}
		for key := range antrea.changedSources {
			if source := antrea.sources[key]; source != nil {
				s.notify(source.statusKey())
			}
		}
	}
	clear(antrea.changed)
	clear(antrea.changedSources)
}
