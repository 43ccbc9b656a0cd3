// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// ReportInterval is Antrea's.
	ReportInterval = time.Minute
	// requestTimeout bounds the wait for an answer.
	requestTimeout = 10 * time.Second
)

var backoff = retry.Backoff{Min: 5 * time.Second, Max: ReportInterval}

// Reporter reports to antrea-controller what the NetworkPolicies of this Node have admitted. Each packet is in one report, and
// each report is counted once, even if the answer is lost or the agent is replaced: a report is stored before it is sent, and sent
// unchanged until it is confirmed.
type Reporter struct {
	// Node is the name of this Node, File where the state is kept.
	Node, File string
	Counts     func(context.Context) (Counts, error)
	Owners     func() Owners
	// Names returns the names of the rules in their policies, by flow id; nil if no rule has a name.
	Names func() map[uint32]string
	// Send returns nil when antrea-controller has confirmed the report.
	Send func(context.Context, *v1beta2.NodeStatsSummary) error
	// FastPath is nil without ONCache.
	FastPath *networkpolicy.FastStats

	ledger *ledger
	// stored is set when File has Pending.
	stored bool
}

// Restore continues what an earlier agent has begun. It is called before FastPath reads for the first time, and before Run.
func (r *Reporter) Restore() {
	s, err := load(r.File)
	if err != nil {
		klog.ErrorS(err, "Cannot continue the statistics of NetworkPolicies: what was counted since the last report of the earlier agent is lost")
		r.ledger = newLedger()
		r.ledger.Adopt = true
		return
	}
	if s == nil {
		r.ledger = newLedger()
		return
	}
	r.ledger, r.stored = &s.Ledger, true
	if r.ledger.Reported == nil {
		r.ledger.Reported = map[uint32]Count{}
	}
	if r.ledger.Owners == nil {
		r.ledger.Owners = Owners{}
	}
	if r.ledger.Names == nil {
		r.ledger.Names = map[uint32]string{}
	}
	var fast networkpolicy.FastState
	if r.FastPath != nil {
		fast = s.FastPath
		r.FastPath.Restore(fast)
	}
	// Agents without ONCache keep no counts of the fast path.
	for id, c := range r.ledger.Reported {
		if now := fast.Rules[id]; now.Packets < c.FastPackets || now.Bytes < c.FastBytes {
			r.ledger.restartFast(id)
		}
	}
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	task := retry.NewTask("The report of the traffic of NetworkPolicies to antrea-controller", ReportInterval, backoff)
	// Agents that start together do not report together.
	for wait := retry.Spread(ReportInterval); retry.Sleep(ctx, wait) == nil; {
		err := r.report(ctx)
		if ctx.Err() != nil {
			break
		}
		wait = task.Done(err)
	}
	// Only this process's memory holds the fast path's counts since the last report, and their owners.
	if r.FastPath != nil {
		r.ledger.own(maps.Keys(r.FastPath.State().Rules), r.Owners(), r.names())
	}
	if err := r.store(); err != nil {
		klog.ErrorS(err, "The next agent will not know all that the fast path has carried")
	}
}

// report sends what has not been confirmed, and then what has been counted since.
func (r *Reporter) report(ctx context.Context) error {
	if err := r.sendPending(ctx); err != nil {
		return err
	}
	counts, err := r.Counts(ctx)
	if err != nil {
		return fmt.Errorf("read the traffic of NetworkPolicies: %w", err)
	}
	owners := r.Owners()
	for r.ledger.next(counts, owners, r.names()) {
		r.stored = false
		if err := r.sendPending(ctx); err != nil {
			return err
		}
	}
	r.forget(owners)
	return nil
}

func (r *Reporter) names() map[uint32]string {
	if r.Names == nil {
		return nil
	}
	return r.Names()
}

// forget drops the fast path's counts of rules that are no more, once they are reported.
func (r *Reporter) forget(owners Owners) {
	if r.FastPath == nil {
		return
	}
	forgotten := r.FastPath.Forget(func(id uint32, count networkpolicy.FastCount) bool {
		_, owned := owners[id]
		return owned || !r.ledger.reported(id, count)
	})
	for _, id := range forgotten {
		r.ledger.restartFast(id)
	}
}

func (r *Reporter) sendPending(ctx context.Context) error {
	if r.ledger.Pending == nil {
		return nil
	}
	if !r.stored {
		if err := r.store(); err != nil {
			return err
		}
		r.stored = true
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := r.Send(ctx, r.ledger.report(r.Node))
	if apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
		// The next attempt would also fail.
		lost := len(r.ledger.Pending)
		r.ledger.Pending = nil
		return fmt.Errorf("antrea-controller has refused a report of the traffic of %d NetworkPolicies, which is lost: %w", lost, err)
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("antrea-controller does not accept reports; is its feature gate NetworkPolicyStats on? %w", err)
	}
	if err != nil {
		return err
	}
	r.ledger.Pending = nil
	return nil
}

func (r *Reporter) store() error {
	s := state{Ledger: *r.ledger}
	if r.FastPath != nil {
		s.FastPath = r.FastPath.State()
	}
	return s.store(r.File)
}
