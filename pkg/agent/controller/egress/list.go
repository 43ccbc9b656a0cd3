// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

var errUnread = errors.New("the agent has not read the Egresses yet")

// List returns all Egresses as this Node sees them, by name.
func (c *Controller) List() ([]apis.Egress, error) {
	w := c.snapshot()
	if w.egresses == nil {
		return nil, errUnread
	}
	p := c.inForce.Load()
	if p == nil {
		p = &plan{}
	}
	return w.list(p), nil
}

// List returns all Egresses, by name.
func (o *Off) List() ([]apis.Egress, error) {
	if !o.egresses.HasSynced() {
		return nil, errUnread
	}
	w := world{egresses: map[string]*v1beta1.Egress{}}
	for _, e := range crd.Stored[v1beta1.Egress](o.egresses) {
		w.egresses[e.Name] = e
	}
	return w.list(&plan{}), nil
}

// list returns the Egresses with the reasons for which packets do not leave with their addresses, as far as the plan in force and their statuses say.
func (w *world) list(p *plan) []apis.Egress {
	pods := map[string][]string{}
	for pod, deciding := range w.deciding() {
		for _, e := range deciding {
			pods[e.Name] = append(pods[e.Name], pod.String())
		}
	}
	list := []apis.Egress{}
	for _, e := range w.egresses {
		own := pods[e.Name]
		slices.Sort(own)
		state, reason := stateOf(e, p)
		reasons := []string{reason}
		if older := w.groups[e.Name].Len() - len(own); older > 0 && addrOf(e).IsValid() {
			reasons = append(reasons, fmt.Sprintf("an older Egress decides for %d of its Pods here", older))
		}
		if e.Spec.AppliedTo.PodSelector == nil && e.Spec.AppliedTo.NamespaceSelector == nil {
			reasons = append(reasons, "it has no Pods, because spec.appliedTo has no selector")
		}
		if w.stored {
			reasons = append(reasons, "antrea-controller has not named its Pods since the agent started")
		}
		list = append(list, apis.Egress{
			Name: e.Name, EgressIP: e.Spec.EgressIP, ExternalIPPool: e.Spec.ExternalIPPool, EgressNode: e.Status.EgressNode, Pods: own,
			State: state, Reason: strings.Join(slices.DeleteFunc(reasons, func(s string) bool { return s == "" }), "; "),
		})
	}
	slices.SortFunc(list, func(a, b apis.Egress) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// stateOf returns whether packets of Pods can leave with the address of an Egress, and why not.
func stateOf(e *v1beta1.Egress, p *plan) (state, reason string) {
	addr := addrOf(e)
	unallocated := failureOf(e.Status, v1beta1.IPAllocated)
	switch {
	case unallocated != "":
		return apis.EgressNoAddress, unallocated
	case e.Spec.EgressIP == "":
		return apis.EgressNoAddress, "antrea-controller has not allocated an address of ExternalIPPool " + e.Spec.ExternalIPPool + " yet"
	case !addr.IsValid():
		return apis.EgressNoAddress, fmt.Sprintf("spec.egressIP %q is not an address", e.Spec.EgressIP)
	case p.refused[addr] != nil:
		return apis.EgressRefused, "packets of its Pods to outside the cluster are dropped: " + p.refused[addr].Error()
	case e.Status.EgressNode != "":
		return apis.EgressAssigned, failureOf(e.Status, v1beta1.BandwidthLimited)
	}
	if reason = unassigned(e.Status); reason != "" {
		return apis.EgressNoNode, reason
	}
	if e.Spec.ExternalIPPool != "" {
		return apis.EgressNoNode, "no Node has taken the address yet"
	}
	return apis.EgressNoNode, "no Node has the address: give it to a device of one (ip address add)"
}

// failureOf returns the message of a condition that is false; empty if it is not.
func failureOf(status v1beta1.EgressStatus, kind v1beta1.EgressConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}
