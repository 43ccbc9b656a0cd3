// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// PolicyNotRealized is the reason of problems with policies that are not in force unchanged.
const PolicyNotRealized problem.Reason = "PolicyNotRealized"

const (
	// minRefusalDelay and maxRefusalDelay bound the time, which doubles, until a refused policy is retried.
	minRefusalDelay = time.Second
	maxRefusalDelay = 5 * time.Minute
	// maxRetries bounds how many refused policies are retried at a time: Pods may be waiting.
	maxRetries = 20
	// maxErrorText bounds the reported part of an error: it may name a flow of 64 KB.
	maxErrorText = 600
)

// refusal is a policy that cannot be realized. Its guard is in force instead.
type refusal struct {
	version *v1beta2.NetworkPolicy
	subject problem.Subject
	err     error
	// open is set when the switch also refuses the guard.
	open bool
	// delay is the time between the last attempt and the next one at due. Both are 0 for an invalid policy: nothing changes
	// until the policy does.
	delay time.Duration
	due   time.Time
}

// unanswered is the error of a change that the switch did not answer although it answered others.
type unanswered struct{ err error }

func (e *unanswered) Error() string {
	return fmt.Sprintf("the switch answers other changes, but not this one: %v", e.err)
}

func (e *unanswered) Unwrap() error { return e.err }

// errUnwell is part of the error of a switch that accepts no change at all.
var errUnwell = errors.New("the switch does not accept changes")

// notIsolatedError means that the switch refuses both a policy and the isolation in its place.
type notIsolatedError struct {
	policy problem.Subject
	err    error
}

func (e *notIsolatedError) Error() string {
	return fmt.Sprintf("%v can neither be realized nor be replaced by isolation: %v", e.policy, e.err)
}

func (e *notIsolatedError) Unwrap() error { return e.err }

// Lasting reports that there is no use in asking again at once: the policy is retried after a growing delay.
func (e *notIsolatedError) Lasting() bool { return true }

// isRefused reports whether an error is about the content of a change, as opposed to a switch that does not answer.
func isRefused(err error) bool {
	if silent := (*unanswered)(nil); errors.As(err, &silent) {
		return true
	}
	return err != nil && !errors.Is(err, errUnwell) && !errors.Is(err, of.ErrDisconnected) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// subjectOf returns the object from which a policy was made.
func subjectOf(np *v1beta2.NetworkPolicy) problem.Subject {
	if ref := np.SourceRef; ref != nil {
		kind := "NetworkPolicy"
		if !isKubernetes(np) {
			kind = string(ref.Type)
		}
		return problem.Subject{Kind: kind, Namespace: ref.Namespace, Name: ref.Name, UID: string(ref.UID)}
	}
	return problem.Subject{Kind: "NetworkPolicy", Name: np.Name}
}

// refuse records that a version of a policy cannot be realized, and reports it. The caller holds mu.
func (c *Controller) refuse(version *v1beta2.NetworkPolicy, err error, open bool) {
	r := c.refusals[version.Name]
	if r == nil || r.version != version {
		r = &refusal{version: version, subject: subjectOf(version)}
		c.refusals[version.Name] = r
		r.postpone()
	}
	r.err, r.open = err, open
	c.report(r)
}

// postpone schedules the policy with a longer delay than the last time.
func (r *refusal) postpone() {
	r.delay = min(max(2*r.delay, minRefusalDelay), maxRefusalDelay)
	r.due = time.Now().Add(r.delay)
}

// isolated records that the guard is in force. The caller holds mu.
func (c *Controller) isolated(r *refusal) {
	if r.open {
		r.open = false
		c.report(r)
	}
}

// refuseSenseless does the same for an invalid policy. The caller holds mu.
func (c *Controller) refuseSenseless(version *v1beta2.NetworkPolicy, err error) {
	r := &refusal{version: version, subject: subjectOf(version), err: err}
	c.refusals[version.Name] = r
	c.report(r)
}

func (c *Controller) report(r *refusal) {
	c.problems.Report(PolicyNotRealized, r.subject, r.message())
	c.reporter.touch(sets.New(r.version.Name))
}

// message says why the policy is not in force, and what is instead.
func (r *refusal) message() string {
	effect := "its Pods are isolated on this Node, but for what was in force of it before"
	if r.open {
		effect = "its Pods on this Node are not isolated either, because Open vSwitch also refuses that; new ones are not started, and an agent that starts leaves the present ones disconnected"
	}
	return fmt.Sprintf("cannot be realized: %s; %s", shortened(r.err.Error()), effect)
}

// shortened returns the text without its middle if it is longer than maxErrorText.
func shortened(text string) string {
	if len(text) > maxErrorText {
		return text[:maxErrorText/2] + " ... " + text[len(text)-maxErrorText/2:]
	}
	return text
}

// accept records that a policy is in force, or deleted. The caller holds mu.
func (c *Controller) accept(name string) {
	if r := c.refusals[name]; r != nil {
		delete(c.refusals, name)
		c.problems.Resolve(PolicyNotRealized, r.subject)
	}
}

// isRefusedVersion reports whether the version is known to be refused. The caller holds mu.
func (c *Controller) isRefusedVersion(name string, version *v1beta2.NetworkPolicy) bool {
	r := c.refusals[name]
	return r != nil && r.version == version
}

// dueRefusals returns the policies that are due for another attempt, longest waiting first. The caller holds mu.
func (c *Controller) dueRefusals(limit int) []string {
	now := time.Now()
	var names []string
	for name, r := range c.refusals {
		if r.delay > 0 && !r.due.After(now) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(c.refusals[a].due.Compare(c.refusals[b].due), cmp.Compare(a, b))
	})
	return names[:min(limit, len(names))]
}

// scheduleRetry wakes the controller when the next refused policy is due.
func (c *Controller) scheduleRetry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var next time.Time
	for _, r := range c.refusals {
		if r.delay > 0 && (next.IsZero() || r.due.Before(next)) {
			next = r.due
		}
	}
	c.retry.Stop()
	if !next.IsZero() {
		c.retry.Reset(max(time.Until(next), 0))
	}
}
