// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Reasons and messages of the condition IPAssigned.
const (
	assigned          = "Assigned"
	assignedMessage   = "EgressIP is successfully assigned to EgressNode"
	assignmentError   = "AssignmentError"
	assignmentMessage = "Failed to assign the IP to EgressNode: "

	// Of the condition BandwidthLimited, which is this project's and only there if a bandwidth is not kept.
	notLimited       = "NotLimited"
	unlimitedMessage = "packets have no limit by its bandwidth: "

	requestTimeout = 10 * time.Second
	// takeInterval is the time after which a Node may write itself over another one again.
	takeInterval = 15 * time.Second
)

// statusOf returns the status that an Egress should have as far as this Node knows: the Node with its address writes it, and the Node that had
// it ends it. failure says why no Node has it, if this Node reports that. changed is false if that is the present one. A Node that does not know the
// members leaves the reason of one that does: that would write it again, without end.
func statusOf(e *v1beta1.Egress, p *plan, w *world, node string, failure error) (status v1beta1.EgressStatus, changed bool) {
	addr := addrOf(e)
	here, refused := p.marks[addr] != 0, p.refused[addr]
	if reason := unassigned(e.Status); errors.Is(failure, assign.ErrMembersUnknown) && reason != "" && !strings.Contains(reason, assign.ErrMembersUnknown.Error()) {
		failure = nil
	}
	if !here && e.Status.EgressNode != node && failure == nil && (refused == nil || !w.local.Has(addr)) && !isOff(e) {
		return e.Status, false
	}
	status = withoutAssigned(e)
	condition := v1beta1.EgressCondition{Type: v1beta1.IPAssigned, Status: corev1.ConditionFalse, Reason: assignmentError}
	switch {
	case refused != nil:
		condition.Message = assignmentMessage + refused.Error() + "; packets of its Pods to outside the cluster are dropped"
	case here:
		status.EgressNode, status.EgressIP = node, e.Spec.EgressIP
		condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, assigned, assignedMessage
	case failure != nil:
		condition.Message = assignmentMessage + failure.Error()
	}
	// As in Antrea, only Egresses with a pool report that an address is there.
	if condition.Message != "" && (refused != nil || e.Spec.ExternalIPPool != "") {
		status.Conditions = slices.Insert(status.Conditions, 0, keepTime(e, condition))
	}
	if reason := p.unlimitedHere(e); reason != nil {
		status.Conditions = append(status.Conditions, keepTime(e, v1beta1.EgressCondition{
			Type: v1beta1.BandwidthLimited, Status: corev1.ConditionFalse, Reason: notLimited, Message: unlimitedMessage + reason.Error(),
		}))
	}
	return status, differs(e, status)
}

// unassigned returns the reason for which no Node has the address, as a status says; "" if it does not.
func unassigned(status v1beta1.EgressStatus) string { return failureOf(status, v1beta1.IPAssigned) }

// withoutAssigned returns the status of an Egress without Node, address and the conditions about them.
func withoutAssigned(e *v1beta1.Egress) v1beta1.EgressStatus {
	return v1beta1.EgressStatus{Conditions: slices.DeleteFunc(slices.Clone(e.Status.Conditions), func(c v1beta1.EgressCondition) bool {
		return c.Type == v1beta1.IPAssigned || c.Type == v1beta1.BandwidthLimited
	})}
}

// differs reports whether a status is not the present one.
func differs(e *v1beta1.Egress, status v1beta1.EgressStatus) bool {
	return status.EgressNode != e.Status.EgressNode || status.EgressIP != e.Status.EgressIP || !slices.Equal(status.Conditions, e.Status.Conditions)
}

// keepTime gives a condition the time of the present one, if that has the same status.
func keepTime(e *v1beta1.Egress, condition v1beta1.EgressCondition) v1beta1.EgressCondition {
	for _, present := range e.Status.Conditions {
		if present.Type == condition.Type && present.Status == condition.Status {
			condition.LastTransitionTime = present.LastTransitionTime
			return condition
		}
	}
	condition.LastTransitionTime = metav1.Now().Rfc3339Copy()
	return condition
}

// writeStatuses writes what has changed. The informer shows what others have written, and wakes the controller again.
func (c *Controller) writeStatuses(ctx context.Context, w *world, p *plan) error {
	var errs []error
	failures := c.Failures()
	for name := range c.taken {
		if w.egresses[name] == nil {
			delete(c.taken, name)
		}
	}
	for _, e := range w.egresses {
		status, changed := statusOf(e, p, w, c.NodeName, failures[e.Name])
		if changed && c.mayTake(e, status, time.Now()) {
			written, err := writeStatus(ctx, c.Statuses, e, status)
			if written {
				c.counts.statusUpdates.Add(1)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// mayTake reports whether this Node may write the status now. Where two Nodes have an address, see different reasons why none has it, or have different
// traffic modes, each writes over the other now and then only.
func (c *Controller) mayTake(e *v1beta1.Egress, status v1beta1.EgressStatus, now time.Time) bool {
	contested := isOff(e) || unassigned(e.Status) != "" && unassigned(status) != ""
	if e.Status.EgressNode == "" && !contested || e.Status.EgressNode == c.NodeName {
		return true
	}
	if at, ok := c.taken[e.Name]; ok && now.Sub(at) < takeInterval {
		return false
	}
	c.taken[e.Name] = now
	return true
}

// writeStatus writes a status into the version of the Egress that the informer has shown. If that is not the present one, nothing is written; the informer
// will show another.
func writeStatus(ctx context.Context, statuses dynamic.Interface, e *v1beta1.Egress, status v1beta1.EgressStatus) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object := crd.New(v1beta1.EgressKind, e.Name)
	object.SetUID(e.UID)
	object.SetResourceVersion(e.ResourceVersion)
	if err := crd.Fill(object, &v1beta1.Egress{Spec: e.Spec, Status: status}); err != nil {
		return false, err
	}
	_, err = statuses.Resource(crd.Egresses).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("writing the status of Egress %s: %w", e.Name, err)
	}
	return true, nil
}
