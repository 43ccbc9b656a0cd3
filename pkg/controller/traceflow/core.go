// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Pods tells what is known of Pods.
type Pods interface {
	// PodNetwork reports whether a Pod exists, and whether it uses its Node's network.
	PodNetwork(namespace, name string) (hostNetwork, found bool)
	// PodsWithIPs returns the Pods, NAMESPACE/NAME, that have addresses of their own among these, by address.
	PodsWithIPs(ips sets.Set[string]) map[string]string
}

// change is a new status of a Traceflow.
type change struct {
	name   string
	uid    types.UID
	status v1beta1.TraceflowStatus
}

// registered reports whether the tag is a DSCP that applications are likely to use: one registered with IANA (class
// selectors, assured forwarding, expedited forwarding, voice-admit and lower effort).
func registered(tag int8) bool {
	const lowerEffort, voiceAdmit, expedited = 1, 44, 46
	class, precedence := tag>>3, tag&7
	if tag == lowerEffort || tag == voiceAdmit || tag == expedited || precedence == 0 {
		return true
	}
	return class >= 1 && class <= 4 && precedence%2 == 0
}

// core decides. It remembers nothing but the last tag: the rest is in the objects.
type core struct{ last int8 }

// plan returns the changes that the objects need now.
func (c *core) plan(traces []*v1beta1.Traceflow, pods Pods, now time.Time) []change {
	// Those that were made first get tags first, and keep theirs.
	slices.SortFunc(traces, func(a, b *v1beta1.Traceflow) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	taken := map[int8]bool{}
	var changes []change
	set := func(t *v1beta1.Traceflow, status v1beta1.TraceflowStatus) {
		changes = append(changes, change{t.Name, t.UID, status})
	}
	for _, t := range traces {
		status := t.Status
		switch status.Phase {
		case v1beta1.TraceflowRunning:
			if next := c.running(t, pods, taken, now); next != nil {
				next.Results = named(next.Results, pods)
				set(t, *next)
			} else {
				taken[status.DataplaneTag] = true
			}
		case v1beta1.TraceflowSucceeded, v1beta1.TraceflowFailed:
			if status.DataplaneTag != 0 {
				status.DataplaneTag = 0
				set(t, status)
			}
		}
	}
	for _, t := range traces {
		if t.Status.Phase != "" && t.Status.Phase != v1beta1.TraceflowPending {
			continue
		}
		next := t.Status
		if err := validate(t, pods); err != nil {
			next.Phase, next.Reason = v1beta1.TraceflowFailed, err.Error()
		} else if tag := c.newTag(taken); tag != 0 {
			start := metav1.NewTime(now)
			next = v1beta1.TraceflowStatus{Phase: v1beta1.TraceflowRunning, DataplaneTag: tag, StartTime: &start}
			taken[tag] = true
		} else if !now.Before(expiry(t)) {
			next.Phase = v1beta1.TraceflowFailed
			next.Reason = fmt.Sprintf("%s: %d other traces ran all the time", v1beta1.TraceflowTimedOut, v1beta1.MaxDataplaneTag)
		} else {
			next.Phase = v1beta1.TraceflowPending
			next.Reason = fmt.Sprintf("number of on-going Traceflow operations already reached the upper limit: %d", v1beta1.MaxDataplaneTag)
		}
		if next.Phase != t.Status.Phase || next.Reason != t.Status.Reason {
			set(t, next)
		}
	}
	return changes
}

// newTag returns a tag that is not taken, one that was free for as long as possible; 0 if there is none. Registered DSCPs are the last choice.
func (c *core) newTag(taken map[int8]bool) int8 {
	var second int8
	tag := c.last
	for range v1beta1.MaxDataplaneTag {
		if tag++; tag > v1beta1.MaxDataplaneTag {
			tag = 1
		}
		switch {
		case taken[tag]:
		case !registered(tag):
			c.last = tag
			return tag
		case second == 0:
			second = tag
		}
	}
	if second != 0 {
		c.last = second
	}
	return second
}

// running returns the final status of a trace; nil if it continues.
func (c *core) running(t *v1beta1.Traceflow, pods Pods, taken map[int8]bool, now time.Time) *v1beta1.TraceflowStatus {
	end := func(phase v1beta1.TraceflowPhase, reason string) *v1beta1.TraceflowStatus {
		status := t.Status
		status.Phase, status.Reason, status.DataplaneTag = phase, reason, 0
		return &status
	}
	gone := deleted(t, pods)
	switch tag := t.Status.DataplaneTag; {
	case complete(t):
		return end(v1beta1.TraceflowSucceeded, "")
	case gone != nil:
		return end(v1beta1.TraceflowFailed, gone.Error())
	case tag < 1 || tag > v1beta1.MaxDataplaneTag || t.Status.StartTime == nil:
		return end(v1beta1.TraceflowFailed, fmt.Sprintf("the status of the running trace has the data plane tag %d and the start time %v: want a tag from 1 to %d and a time",
			tag, t.Status.StartTime, v1beta1.MaxDataplaneTag))
	case taken[tag]:
		return end(v1beta1.TraceflowFailed, fmt.Sprintf("the data plane tag %d is in use by another Traceflow", tag))
	case !now.Before(deadline(t)):
		return end(v1beta1.TraceflowFailed, timeoutReason(t))
	}
	return nil
}

func deadline(t *v1beta1.Traceflow) time.Time { return t.Status.StartTime.Add(timeout(t)) }

// expiry is the time at which a waiting trace fails. Many traces created at once therefore cannot run forever.
func expiry(t *v1beta1.Traceflow) time.Time { return t.CreationTimestamp.Add(timeout(t)) }

func timeout(t *v1beta1.Traceflow) time.Duration {
	return time.Duration(t.Spec.TimeoutSeconds()) * time.Second
}

// timeoutReason says what is missing.
func timeoutReason(t *v1beta1.Traceflow) string {
	var sent, next, received string
	for _, result := range t.Status.Results {
		if result.Role != v1beta1.RoleSender {
			received = result.Node
			continue
		}
		sent = result.Node
		for _, o := range result.Observations {
			next = cmp.Or(o.TunnelDstIP, next)
		}
	}
	why := "no Node has reported the packet; does the agent of the source's Node run, with the feature gate Traceflow on?"
	switch {
	case sent != "":
		why = fmt.Sprintf("Node %s has sent the packet to Node %s, which has not reported it", sent, cmp.Or(next, "unknown"))
	case received != "":
		why = fmt.Sprintf("Node %s has received the packet, and the source's Node has not reported it", received)
	case t.Spec.DroppedOnly && t.Spec.LiveTraffic:
		why = "no NetworkPolicy has dropped a packet that opens a connection and matches"
	case t.Spec.LiveTraffic:
		why = "no packet that opens a connection has matched"
	}
	return v1beta1.TraceflowTimedOut + ": " + why
}

// named returns the results with the names of the Endpoints to which Services have led the packet.
func named(results []v1beta1.NodeResult, pods Pods) []v1beta1.NodeResult {
	ips := sets.New[string]()
	for _, result := range results {
		for _, o := range result.Observations {
			if o.TranslatedDstIP != "" {
				ips.Insert(o.TranslatedDstIP)
			}
		}
	}
	if ips.Len() == 0 {
		return results
	}
	names := pods.PodsWithIPs(ips)
	results = slices.Clone(results)
	for i := range results {
		results[i].Observations = slices.Clone(results[i].Observations)
		for j, o := range results[i].Observations {
			results[i].Observations[j].Pod = cmp.Or(names[o.TranslatedDstIP], o.Pod)
		}
	}
	return results
}

// complete reports whether the results name the packet's source and its end. If only drops are traced, only the
// dropping Node reports.
func complete(t *v1beta1.Traceflow) bool {
	sent, ended := t.Spec.ReceiverOnly() || t.Spec.LiveTraffic && t.Spec.DroppedOnly, false
	for _, result := range t.Status.Results {
		for _, o := range result.Observations {
			sent = sent || o.Component == v1beta1.ComponentSpoofGuard
			ended = ended || o.Action.Ends()
		}
	}
	return sent && ended
}
