// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package round ends rounds of flows: it waits until the controllers have installed their flows, lets Open vSwitch forward by them, deletes
// the former round's flows, and replays all flows when Open vSwitch has lost them.
package round

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

const (
	// flowRestoreWaitKey is the key of Open_vSwitch other_config that makes vswitchd keep the datapath's flows and answer
	// no upcalls until the agent has installed its flows. start_ovs sets it.
	flowRestoreWaitKey = "flow-restore-wait"

	// minRoundAge is the least time between the base flows of a round and the deletion of the previous round's flows.
	minRoundAge = 10 * time.Second
	// roundRetryInterval is the time between two attempts at a step of a round.
	roundRetryInterval = 2 * time.Second
	// waitCheckInterval is the time between two looks at flow-restore-wait.
	waitCheckInterval = 100 * time.Millisecond
	// applyTimeout bounds the wait for ovs-vswitchd to begin forwarding.
	applyTimeout = 10 * time.Second
	// revalidationTimeout bounds the wait for ovs-vswitchd to use new flows. Policies cannot change during that time.
	revalidationTimeout = 5 * time.Second
)

// Flows is the part of openflow.Client that rounds need.
type Flows interface {
	ReplayFlows(accepted func()) error
	DeleteStaleFlows() error
	GetFlowTableStatus(ctx context.Context) ([]openflow.TableStatus, error)
	MissingFlows(ctx context.Context) (missing string, err error)
}

// Store is the part of ovsconfig.BridgeClient that rounds need.
type Store interface {
	SetExternalID(key, value string) error
	GetOVSOtherConfig() (map[string]string, error)
	DeleteOVSOtherConfig(keys ...string) error
	// Create returns when ovs-vswitchd has applied what is in the database.
	Create(ctx context.Context) error
}

// Datapath is the part of ovsctl.Vswitchd that rounds need.
type Datapath interface {
	// WaitRevalidation returns when the datapath no longer treats any packet by rules from before the call.
	WaitRevalidation(ctx context.Context) error
}

// WaitsForFlows reports whether ovs-vswitchd, which runs, lets packets have only the flows that the kernel has kept.
func WaitsForFlows(store Store) (bool, error) {
	settings, err := store.GetOVSOtherConfig()
	return settings[flowRestoreWaitKey] == "true", err
}

// Installed are channels that controllers close when they have installed their flows again.
type Installed struct {
	// Before are all closed before forwarding begins.
	Before []<-chan struct{}
	// Soon are waited for once Before is complete, but at most for Patience.
	Soon     []<-chan struct{}
	Patience time.Duration
	// Cache is closed when the new cache can take over quickly. Until then, but at most for Patience, the former one's
	// hits continue. nil: it can.
	Cache <-chan struct{}
}

// Rounds ends rounds of flows. It starts with the base flows of a round in place.
type Rounds struct {
	flows    Flows
	store    Store
	datapath Datapath
	clock    clock.Clock
	// afterReplay restores what else vswitchd may have lost.
	afterReplay func(context.Context) error
	former      FormerCache
	// waiting is set while ovs-vswitchd has forwarded by none of this agent's flows. After New it belongs to Complete.
	waiting bool
	// hits controls the former cache while its agent's flows are in use; nil otherwise, and then waiting is set.
	hits *FormerHits

	round   openflow.RoundInfo
	started time.Time
	// restored is closed once flow-restore-wait has been cleared for the first time.
	restored chan struct{}
	once     sync.Once
	// forwards is closed when waiting ends.
	forwards chan struct{}
}

// New makes rounds for an ovs-vswitchd that forwards, with hits, or for one that waits for flows, without.
func New(flows Flows, store Store, datapath Datapath, round openflow.RoundInfo, c clock.Clock, afterReplay func(context.Context) error,
	former FormerCache, hits *FormerHits,
) *Rounds {
	r := &Rounds{
		flows: flows, store: store, datapath: datapath, clock: c, round: round, started: c.Now(), restored: make(chan struct{}), forwards: make(chan struct{}),
		afterReplay: afterReplay, former: former, waiting: hits == nil, hits: hits,
	}
	if hits != nil {
		r.forwards = hits.over
	}
	return r
}

// HasHits reports whether the former cache may have hits although ovs-vswitchd forwards. It is asked before Forward.
func (r *Rounds) HasHits() bool { return r.hits != nil }

// WaitRevalidation returns when no packet is treated by rules from before the call. An ovs-vswitchd that waits for flows revalidates nothing.
func (r *Rounds) WaitRevalidation(ctx context.Context) error {
	select {
	case <-r.forwards:
		return r.datapath.WaitRevalidation(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Round returns the present round.
func (r *Rounds) Round() openflow.RoundInfo { return r.round }

// Restored is closed when the flows without which forwarding does not begin have been installed, and flow-restore-wait is cleared.
func (r *Rounds) Restored() <-chan struct{} { return r.restored }

// Forwards is closed when packets can have flows of this round, and the former cache has no hits any more.
func (r *Rounds) Forwards() <-chan struct{} { return r.forwards }

// Forward waits until flows are installed, and lets ovs-vswitchd forward by them. While ovs-vswitchd waits, the kernel's flows and the former
// cache's entries are results of the same tables. The hits end before packets can have new flows. The stamps stay until packets have new
// flows, because a packet that misses is lost until then. If ovs-vswitchd forwards already, and all flows are the former agent's, hits end as
// soon as the new cache can learn: when Pods, Nodes and policies are known. It does not need Services for that.
func (r *Rounds) Forward(ctx context.Context, installed Installed) error {
	for _, ch := range installed.Before {
		if err := r.await(ctx, ch, nil); err != nil {
			return err
		}
	}
	if err := r.endHits(ctx, installed); err != nil {
		return err
	}
	if err := r.awaitAll(ctx, installed.Soon, installed.Patience); err != nil {
		return err
	}
	if r.waiting {
		if err := r.retry(ctx, "stop the hits of the former cache", r.former.StopHits); err != nil {
			return err
		}
	}
	if err := r.retry(ctx, "clear flow-restore-wait", r.clearFlowRestoreWait); err != nil {
		return err
	}
	if r.waiting {
		r.waitUntilApplied(ctx)
		r.stopWaiting()
	}
	return nil
}

// Complete deletes the flows of former rounds when the round is at least 10 s old, and records the present one. It is called when all flows are
// installed and Forward has returned. It retries what fails every 2 s, and returns when done or with ctx's error.
func (r *Rounds) Complete(ctx context.Context) error {
	if wait := minRoundAge - r.clock.Since(r.started); wait > 0 {
		if err := r.sleep(ctx, wait); err != nil {
			return fmt.Errorf("wait until round %d is %s old: %w", r.round.RoundNum, minRoundAge, err)
		}
	}
	if err := r.retry(ctx, "delete the flows of the previous round", r.flows.DeleteStaleFlows); err != nil {
		return err
	}
	err := r.retry(ctx, "record the round", func() error {
		return r.store.SetExternalID(roundNumKey, strconv.Itoa(int(r.round.RoundNum)))
	})
	if err == nil {
		klog.InfoS("Completed the round of flows", "round", r.round.RoundNum)
	}
	return err
}

// endHits ends the hits of the former cache, if there are any, when the new one can take over.
func (r *Rounds) endHits(ctx context.Context, installed Installed) error {
	if r.hits == nil {
		return nil
	}
	if installed.Cache != nil {
		if err := r.awaitAll(ctx, []<-chan struct{}{installed.Cache}, installed.Patience); err != nil {
			return err
		}
	}
	return r.retry(ctx, "end the hits of the former cache", r.hits.End)
}

// awaitAll waits until all are closed, but not longer than patience.
func (r *Rounds) awaitAll(ctx context.Context, all []<-chan struct{}, patience time.Duration) error {
	if len(all) == 0 {
		return nil
	}
	timer := r.clock.NewTimer(patience)
	defer timer.Stop()
	for _, ch := range all {
		err := r.await(ctx, ch, timer.C())
		if errors.Is(err, errImpatient) {
			klog.InfoS("Continuing although not all parts of the agent are ready", "round", r.round.RoundNum, "after", patience)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errImpatient = errors.New("the time has passed")

// await waits for a controller until the time has passed. It also checks whether another program makes ovs-vswitchd
// forward.
func (r *Rounds) await(ctx context.Context, installed <-chan struct{}, over <-chan time.Time) error {
	for {
		var check <-chan time.Time
		if r.waiting {
			check = r.clock.NewTimer(waitCheckInterval).C()
		}
		select {
		case <-installed:
			return nil
		case <-over:
			return errImpatient
		case <-ctx.Done():
			return fmt.Errorf("wait for the flows of round %d: %w", r.round.RoundNum, ctx.Err())
		case <-check:
			r.checkWaiting()
		}
	}
}

// checkWaiting suspends the former cache when ovs-vswitchd forwards because another program has cleared
// flow-restore-wait.
func (r *Rounds) checkWaiting() {
	waiting, err := WaitsForFlows(r.store)
	if err != nil || waiting {
		return // without a database there is no ovs-vswitchd that changes the kernel's flows
	}
	klog.InfoS("Another program has cleared flow-restore-wait: Open vSwitch forwards although not all flows are installed")
	if err := r.former.Suspend(); err != nil {
		klog.ErrorS(err, "The former cache cannot be suspended, will try again", "after", waitCheckInterval)
		return
	}
	r.stopWaiting()
}

func (r *Rounds) stopWaiting() {
	r.waiting = false
	close(r.forwards)
}

func (r *Rounds) clearFlowRestoreWait() error {
	if err := r.store.DeleteOVSOtherConfig(flowRestoreWaitKey); err != nil {
		return err
	}
	r.once.Do(func() { close(r.restored) })
	return nil
}

// waitUntilApplied waits until ovs-vswitchd says that it forwards, but not for long: packets that have flows do not need to wait.
func (r *Rounds) waitUntilApplied(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	if err := r.store.Create(ctx); err != nil {
		klog.ErrorS(err, "ovs-vswitchd has not said that it forwards; packets may be lost until it does")
	}
}

func (r *Rounds) retry(ctx context.Context, what string, step func() error) error {
	for {
		err := step()
		if err == nil {
			return nil
		}
		klog.ErrorS(err, "A step of the round of flows failed, will try again", "step", what, "round", r.round.RoundNum, "after", roundRetryInterval)
		if ctxErr := r.sleep(ctx, roundRetryInterval); ctxErr != nil {
			return fmt.Errorf("%s: %w (last attempt: %w)", what, ctxErr, err)
		}
	}
}

func (r *Rounds) sleep(ctx context.Context, d time.Duration) error {
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
