// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// SwitchTimeout bounds every request to the switch. It is far above what a healthy vswitchd needs for a replay of 100,000
// flows (about 2 s).
const SwitchTimeout = 30 * time.Second

// bundleTimeout leaves a slow machine enough time for 100,000 policy rules. A healthy vswitchd needs 0.04 ms for a flow.
func bundleTimeout(flows int) time.Duration {
	return SwitchTimeout + time.Duration(flows)*time.Millisecond
}

// errInterrupted is the outcome of a change that has panicked, for the Interceptor.
var errInterrupted = errors.New("the change of the flows was interrupted by a panic")

// PlanMarks plans the mark flows that the Interceptor requests, and the removal of the flows of removed interfaces.
type PlanMarks func(marks []coherency.Mark, removed []string) ([]Plan, error)

// noMarks is in place until SetPlanMarks is called.
func noMarks(marks []coherency.Mark, _ []string) ([]Plan, error) {
	if len(marks) > 0 {
		return nil, fmt.Errorf("no feature makes flows for %d ONCache marks", len(marks))
	}
	return nil, nil
}

// SetPlanMarks sets the function that turns marks into flows. Call it before the first change.
func (s *Store) SetPlanMarks(planMarks PlanMarks) { s.planMarks = planMarks }

// Commit is the only way to change flows, except for CommitMarks. It tells the Interceptor, and sends one atomic bundle of the
// plans, the marks that the Interceptor asks for, and the deletions of flows of former rounds (may be nil). The caches change only if
// the switch accepts the bundle.
func (t Turn) Commit(change coherency.Change, deletions []Deletion, plans ...Plan) error {
	return t.commitThen(func() {}, change, deletions, plans...)
}

// commitThen is Commit that calls then when the switch has accepted the bundle, before it tells the Interceptor.
func (t Turn) commitThen(then func(), change coherency.Change, deletions []Deletion, plans ...Plan) (err error) {
	s := t.store
	resync := t.NeedsResync()
	if err := s.endHits(change, resync, deletions, plans); err != nil {
		return fmt.Errorf("end the hits of the former ONCache: %w", err)
	}
	change.All, change.Replay = change.All || s.replacesFormer(plans), resync
	marks, end := s.interceptor.Begin(change)
	finished := false
	defer func() {
		if !finished { // a panic: what the switch has received is unknown
			err = errInterrupted
			s.setResync(true)
		}
		end(err)
	}()
	if err = s.commitMarked(change, marks, resync, deletions, plans); err == nil {
		then()
	}
	finished = true
	return err
}

// CommitEverything sends deletions of flows of former rounds, the content of all caches, and plans. If it fails, the next change sends
// everything.
func (t Turn) CommitEverything(deletions []Deletion, plans ...Plan) error {
	t.store.setResync(true)
	return t.Commit(coherency.Change{}, deletions, plans...)
}

// Replay sends the content of all caches to a switch that has lost its flows, then calls accepted. Until accepted returns, ONCache
// keeps using what it learned from the same flows. If Replay fails, the next change sends everything.
func (t Turn) Replay(accepted func()) error {
	t.store.setReplaying(true)
	defer t.store.setReplaying(false)
	t.store.setResync(true)
	return t.commitThen(accepted, coherency.Change{}, nil)
}

func (s *Store) commitMarked(change coherency.Change, marks []coherency.Mark, resync bool, deletions []Deletion, plans []Plan) error {
	if err := s.sending.takeSoon(); err != nil {
		return err
	}
	defer s.sending.give()
	markPlans, err := s.planMarks(marks, change.RemovedInterfaces)
	if err != nil {
		return err
	}
	var before of.Transaction
	if resync {
		meters, err := s.metersAgain()
		if err != nil {
			return err
		}
		before = of.Transaction{Meters: meters, Groups: s.groupsAgain(plans), Flows: s.everything()}
	}
	// Last, so that a flow that replaces one of a former round takes over its counters. No deletion matches a flow of this bundle: it
	// is of former rounds, or of flows that the switch has learned.
	var after []of.FlowMod
	if resync {
		after = additions(s.learned())
	}
	for _, deletion := range deletions {
		after = append(after, deletion.mod())
	}
	if err := s.send(before, append(plans, markPlans...), after); err != nil {
		return err
	}
	if resync {
		s.synchronized()
	}
	return nil
}

// CommitMarks changes mark flows outside of any other change. It does not call the Interceptor.
func (s *Store) CommitMarks(marks []coherency.Mark, removed []string) error {
	if err := s.sending.takeSoon(); err != nil {
		return err
	}
	defer s.sending.give()
	plans, err := s.planMarks(marks, removed)
	if err != nil {
		return err
	}
	return s.send(of.Transaction{}, plans, nil)
}

// send commits one bundle, which ends with after, unless nothing changes, and then applies the plans to the caches. The caller holds
// sending, and changes if a plan has groups.
func (s *Store) send(bundle of.Transaction, plans []Plan, after []of.FlowMod) error {
	round := s.currentRound()
	for _, p := range plans {
		if err := s.check(p, round); err != nil {
			return err
		}
		bundle.Groups, bundle.Flows = append(bundle.Groups, p.groups...), append(append(bundle.Flows, p.mods...), additions(p.once)...)
	}
	bundle.Flows = append(bundle.Flows, after...)
	if err := s.apply(bundle); err != nil {
		if fateUnknown(err) {
			s.setResync(true)
			s.markDoubtful(plans)
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former.changed(bundle.Flows)
	for _, p := range plans {
		p.apply()
		for _, m := range p.groups {
			if m.Command == of.GroupDelete {
				s.groupIDs.Put(m.Group.ID)
			} else {
				s.newGroups = slices.DeleteFunc(s.newGroups, func(id uint32) bool { return id == m.Group.ID })
			}
		}
	}
	return nil
}

func additions(flows []of.Flow) []of.FlowMod {
	mods := make([]of.FlowMod, len(flows))
	for i, flow := range flows {
		mods[i] = of.FlowMod{Command: of.Add, Flow: flow}
	}
	return mods
}

func (s *Store) apply(bundle of.Transaction) (err error) {
	mods := len(bundle.Meters) + len(bundle.Groups) + len(bundle.Flows)
	if mods == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), bundleTimeout(mods))
	defer cancel()
	began := time.Now()
	if len(bundle.Meters)+len(bundle.Groups) == 0 {
		err = s.sw.Commit(ctx, bundle.Flows)
	} else {
		err = s.sw.Apply(ctx, bundle)
	}
	observe(bundle.Flows, time.Since(began), err)
	return err
}

// check refuses plans whose flows would be lost at the next replay, or would outlive the round.
func (s *Store) check(p Plan, round Deletion) error {
	if p.cache == nil || p.cache.store != s {
		return fmt.Errorf("the plan of the object %q is not from a cache of this store: its flows would not be replayed", p.name)
	}
	for i := range p.mods {
		if flow := &p.mods[i].Flow; p.mods[i].Command == of.Add && (flow.Cookie^round.Cookie)&round.Mask != 0 {
			return fmt.Errorf("flow %q of the object %q has the cookie %#x of another round: must have %#x in the bits %#x",
				flow.Key(), p.name, flow.Cookie, round.Cookie, round.Mask)
		}
	}
	return p.checkGroups()
}

// fateUnknown reports whether the switch may have made the change although Commit returned err.
func fateUnknown(err error) bool {
	return errors.Is(err, of.ErrDisconnected) || errors.Is(err, context.DeadlineExceeded)
}
