// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// statusWriters is the number of reports that are under way at a time, statusTimeout bounds each.
	statusWriters = 4
	statusTimeout = 10 * time.Second
)

// statusBackoff is the delay before reports that antrea-controller has not accepted are sent again.
var statusBackoff = retry.Backoff{Min: 200 * time.Millisecond, Max: 30 * time.Second}

// StatusSender sends to antrea-controller what a Node says about a policy. It returns nil when the report was accepted.
type StatusSender func(ctx context.Context, status *v1beta2.NetworkPolicyStatus) error

// reporter reports to antrea-controller which versions of policies are in force on this Node. Reports about one policy are merged: only the
// latest is sent, and only if it differs from the last one that was accepted.
type reporter struct {
	c    *Controller
	node string
	send StatusSender
	// wake has a value when there may be something to report.
	wake chan struct{}

	mu sync.Mutex
	// pending are the policies about which there may be something new.
	pending sets.Set[string]
	// sent has the last accepted reports, by policy.
	sent map[string]v1beta2.NetworkPolicyNodeStatus
	// connections counts the complete sets of policies, and deletions: what was accepted before may be forgotten.
	connections int
}

// ReportStatus makes the controller report the status of policies that have one. It must be called before Run.
func (c *Controller) ReportStatus(node string, send StatusSender) {
	c.reporter = &reporter{
		c: c, node: node, send: send, wake: make(chan struct{}, 1), pending: sets.New[string](), sent: map[string]v1beta2.NetworkPolicyNodeStatus{},
	}
}

// touch records that there may be something new about policies. r may be nil.
func (r *reporter) touch(names sets.Set[string]) {
	if r == nil || len(names) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = r.pending.Union(names)
	notify(r.wake)
}

// reconnected makes all be reported again: antrea-controller keeps no reports when it restarts. r may be nil. The caller holds the controller's mu.
func (r *reporter) reconnected() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.sent)
	r.connections++
	r.pending = r.pending.Union(sets.KeySet(r.c.state.policies))
	notify(r.wake)
}

// forget makes a policy be reported again if it comes back: antrea-controller has forgotten its report. r may be nil. The caller holds the
// controller's mu.
func (r *reporter) forget(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sent, name)
	r.connections++ // A report that is under way is one from before.
}

// run reports until ctx ends.
func (r *reporter) run(ctx context.Context) {
	backoff := statusBackoff
	delay := backoff.Min
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		failed := r.reportAll(ctx)
		if len(failed) == 0 {
			delay = backoff.Min
			continue
		}
		time.AfterFunc(delay, func() { r.touch(failed) })
		delay = min(2*delay, backoff.Max)
	}
}

// reportAll sends what is pending, and returns the policies whose reports were not accepted.
func (r *reporter) reportAll(ctx context.Context) (failed sets.Set[string]) {
	r.mu.Lock()
	names := sets.List(r.pending)
	r.pending = sets.New[string]()
	r.mu.Unlock()
	var mu sync.Mutex
	failed = sets.New[string]()
	var running sync.WaitGroup
	queue := make(chan string)
	for range min(statusWriters, len(names)) {
		running.Go(func() {
			for name := range queue {
				err := recovery.Call(controllerName, recovery.Part("status of policies"), func() error { return r.report(ctx, name) })
				if err == nil {
					continue
				}
				if !apierrors.IsNotFound(err) {
					klog.V(1).InfoS("Could not report the status of a policy, will try again", "policy", name, "err", err)
				}
				mu.Lock()
				failed.Insert(name)
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	running.Wait()
	return failed
}

// report sends the status of a policy if it is new.
func (r *reporter) report(ctx context.Context, name string) error {
	status, ok := r.c.statusOf(name)
	status.NodeName = r.node
	gone := !ok && r.c.isGone(name) // The controller's mu comes before r.mu.
	r.mu.Lock()
	if gone {
		delete(r.sent, name)
	}
	last, known := r.sent[name]
	connections := r.connections
	r.mu.Unlock()
	if !ok || known && last == status {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	report := &v1beta2.NetworkPolicyStatus{Nodes: []v1beta2.NetworkPolicyNodeStatus{status}}
	report.Name = name
	if err := r.send(ctx, report); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connections == connections {
		r.sent[name] = status
	}
	return nil
}

func (c *Controller) isGone(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.policies[name] == nil
}

// hasStatus reports whether antrea-controller keeps a status for policies of the kind.
func hasStatus(np *v1beta2.NetworkPolicy) bool {
	return !isKubernetes(np)
}

// statusOf returns what there is to report about a policy: that its latest version cannot be realized, or that the datapath follows it. ok
// is false until one is so, and if no rule of the policy is applied to a group that this Node knows.
func (c *Controller) statusOf(name string) (status v1beta2.NetworkPolicyNodeStatus, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.state.policies[name]
	if p == nil || !hasStatus(p.latest) {
		return status, false
	}
	if !slices.ContainsFunc(appliedToGroupsOf(p.latest), func(g string) bool { _, known := c.state.appliedToGroups[g]; return known }) {
		return status, false
	}
	status.Generation = p.latest.Generation
	if r := c.refusals[name]; r != nil && r.version == p.latest {
		status.RealizationFailure, status.Message = true, r.message()
		return status, true
	}
	if p.effective != p.latest || p.accepted != p.latest || c.isUnsettled(name) {
		return status, false
	}
	settled, failure := c.nodes.status(name, p.latest)
	if !settled {
		return status, false
	}
	messages := c.state.unbuilt(p.latest)
	if failure != "" {
		messages = append(messages, failure)
	}
	if len(messages) > 0 {
		status.RealizationFailure, status.Message = true, shortened(strings.Join(messages, "; "))
	}
	return status, true
}
