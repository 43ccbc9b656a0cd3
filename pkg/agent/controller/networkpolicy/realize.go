// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const (
	// patience is the number of times that the switch may fail to answer before the request is suspected.
	patience = 3
	// recoveryTime is the time in which it must answer again after that. It is asked every recoveryStep.
	recoveryTime = 10 * time.Second
	recoveryStep = 200 * time.Millisecond
)

// realize brings the switch in line with all dirty policies, and retries refused ones that are due. It fails if the switch
// does not answer; refused policies are not a failure.
func (c *Controller) realize() error { return c.realizeChanges(maxRetries) }

// realizeChanges puts all dirty policies into one bundle, so an edited policy is never without its rules in between. If the
// switch refuses the bundle, realizeChanges finds the refused policies and realizes the others. After that it retries up to
// retries refused ones, each on its own.
func (c *Controller) realizeChanges(retries int) error {
	c.realizeMu.Lock()
	defer c.realizeMu.Unlock()
	dirty, due, known := c.outstanding(retries)
	if !known || len(dirty) == 0 && len(due) == 0 && c.initialDone {
		return nil
	}
	if err := c.realizeAll(dirty, due); err != nil {
		c.silences++
		return fmt.Errorf("realize NetworkPolicies: %w", err)
	}
	c.silences = 0
	c.scheduleRetry()
	if !c.initialDone {
		klog.InfoS("Realized the initial NetworkPolicies", "policies", len(dirty))
		c.initialDone = true
		close(c.synced)
	}
	return nil
}

// outstanding returns the policies to realize and the refused ones to retry, once all policies are known.
func (c *Controller) outstanding(retries int) (dirty sets.Set[string], due []string, known bool) {
	c.mu.Lock()
	// A panic must not leave it locked: every ADD would wait forever.
	defer c.mu.Unlock()
	if len(c.unsynced) > 0 {
		return nil, nil, false
	}
	c.state.settleDoubt(!c.initialDone)
	due = c.dueRefusals(retries)
	dirty = c.takeOpen(c.state.dirty.Clone())
	c.taken = dirty.Clone().Insert(due...)
	return dirty, due, true
}

// endHold makes what has arrived during a realization take effect.
func (c *Controller) endHold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.held = false
	c.state.release()
	if len(c.state.dirty) > 0 {
		c.poke()
	}
}

// takeAll returns all dirty policies: what has changed since the realization began may belong together with what has changed before. The caller
// holds mu.
func (c *Controller) takeAll() sets.Set[string] {
	dirty := c.takeOpen(c.state.dirty.Clone())
	c.taken = c.taken.Union(dirty)
	return dirty
}

// takeOpen returns names without the policies whose guard the switch also refuses. They wait until they are due, and must
// not cause every change of others to be refused. The caller holds mu.
func (c *Controller) takeOpen(names sets.Set[string]) sets.Set[string] {
	for name := range names {
		r, p := c.refusals[name], c.state.policies[name]
		if r != nil && r.open && p != nil && p.latest == r.version {
			names.Delete(name)
			c.state.dirty.Delete(name)
		}
	}
	return names
}

// realizeAll realizes what has taken effect before. Nothing further does until it returns: the next event would take effect in parts while the policies
// that the switch refuses are looked for.
func (c *Controller) realizeAll(dirty sets.Set[string], due []string) error {
	c.mu.Lock()
	c.state.held = true
	c.mu.Unlock()
	defer c.endHold()
	if len(dirty) > 0 || !c.initialDone {
		// An earlier attempt may have found unprotected Pods and then failed. They are not among the dirty ones any more.
		if err := c.closeUnprotected(); err != nil {
			return err
		}
		ops, err := c.attempt(nil, c.isRefusedVersion)
		if isRefused(err) {
			err = c.separate(ops, err)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range due {
		if err := c.tryAgain(name); err != nil {
			return err
		}
	}
	return nil
}

func always(string, *v1beta2.NetworkPolicy) bool { return true }
func never(string, *v1beta2.NetworkPolicy) bool  { return false }

// separate realizes policies that the switch has refused together, because of cause, except those that it refuses one by
// one. Meanwhile their guards are in force, and at start also the rules that an earlier agent has realized. Before these are
// removed, Pods that nothing else protects are closed.
func (c *Controller) separate(refused *operations, cause error) error {
	klog.ErrorS(cause, "Open vSwitch refuses a change of NetworkPolicies, looking for the policies that it refuses", "policies", len(refused.versions))
	c.onTop = !c.initialDone
	defer func() { c.onTop = false }()
	names := slices.Sorted(maps.Keys(refused.versions))
	open, err := (&search{Controller: c, isGuarded: always}).bisect(names, nil)
	if err != nil {
		return err
	}
	// Rules of deleted policies are gone by now.
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return refused.guarded.Has(name) || open[name] != nil || refused.versions[name] == nil
	})
	if len(open) > 0 {
		cause = nil // It may be about their guards.
	}
	bad, err := (&search{Controller: c, isGuarded: never, limited: true, end: time.Now().Add(searchTime)}).bisect(rest, cause)
	if err != nil {
		return err
	}
	if err := c.refuseAll(refused.versions, open, bad); err != nil {
		return err
	}
	if !c.onTop {
		return nil
	}
	if err := c.closeUnprotected(); err != nil {
		return err
	}
	if err := withoutPanic(c.flows.UpdatePolicyRules, nil, nil); err != nil {
		return err
	}
	c.announce()
	return nil
}

// announce tells listeners that the rules have changed.
func (c *Controller) announce() {
	notify(c.realizedSome)
	if c.onRealized != nil {
		c.onRealized()
	}
}

// refuseAll records the policies that the switch refuses. They stay dirty: their groups may have changed since their guards
// were made. The error names deleted policies whose removal the switch refuses.
func (c *Controller) refuseAll(versions map[string]*v1beta2.NetworkPolicy, open, bad map[string]error) error {
	defer c.poke()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, refused := range []map[string]error{open, bad} {
		for _, name := range slices.Sorted(maps.Keys(refused)) {
			if version := versions[name]; version != nil {
				c.refuse(version, refused[name], open[name] != nil)
			} else {
				errs = append(errs, fmt.Errorf("remove the rules of policy %s: %w", name, refused[name]))
			}
		}
	}
	return errors.Join(errs...)
}

// tryAgain retries a refused policy, first its guard if the switch has also refused that. It fails only if the switch does
// not answer.
func (c *Controller) tryAgain(name string) error {
	c.mu.Lock()
	r := c.refusals[name]
	open := r != nil && r.open
	if r != nil {
		r.postpone()
	}
	c.mu.Unlock()
	if r == nil {
		return nil // Other changes have solved it.
	}
	if open {
		if accepted, err := c.tryOne(name, always); !accepted || err != nil {
			return err
		}
	}
	_, err := c.tryOne(name, never)
	return err
}

// tryOne tries a policy or its guard and records the outcome.
func (c *Controller) tryOne(name string, isGuarded func(string, *v1beta2.NetworkPolicy) bool) (accepted bool, err error) {
	ops, err := c.attempt(sets.New(name), isGuarded)
	if !isRefused(err) {
		return err == nil, err
	}
	refused := map[string]error{name: err}
	if ops.guarded.Has(name) {
		return false, c.refuseAll(ops.versions, refused, nil)
	}
	return false, c.refuseAll(ops.versions, nil, refused)
}

// attempt is change for policies that may leave the switch without an answer. If the switch has not answered for some time,
// attempt first asks it something else, to find out which of the two is at fault.
func (c *Controller) attempt(names sets.Set[string], isGuarded func(string, *v1beta2.NetworkPolicy) bool) (*operations, error) {
	if c.silences < patience {
		return c.change(names, isGuarded)
	}
	var err error
	for began := time.Now(); ; time.Sleep(recoveryStep) {
		if err = withoutPanic(c.flows.UpdatePolicyRulesOnTop, nil, nil); err == nil || time.Since(began) > recoveryTime {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnwell, err)
	}
	ops, err := c.change(names, isGuarded)
	if err != nil && !isRefused(err) {
		err = &unanswered{err}
	}
	return ops, err
}

// change makes one change for the named policies, or for all dirty ones if names is nil. Those that failed are dirty again.
func (c *Controller) change(names sets.Set[string], isGuarded func(string, *v1beta2.NetworkPolicy) bool) (*operations, error) {
	ops := c.plan(names, isGuarded)
	update := c.flows.UpdatePolicyRules
	if c.onTop {
		update = c.flows.UpdatePolicyRulesOnTop
	}
	err := withoutPanic(func(install []*policy.Rule, remove []uint32) error {
		if err := c.declare(c.state.fqdns, ops.uses); err != nil {
			return err
		}
		return update(install, remove)
	}, ops.install, ops.remove)
	c.conclude(ops, err)
	if err != nil {
		return ops, err
	}
	klog.V(2).InfoS("Realized NetworkPolicies", "policies", sets.List(ops.names), "installedRules", len(ops.install), "removedRules", len(ops.remove))
	if !c.onTop { // Otherwise rules of former rounds allow more than is known here.
		c.announce()
	}
	return ops, nil
}

// withoutPanic turns a panic into an error, which counts as a refusal.
func withoutPanic(update func([]*policy.Rule, []uint32) error, install []*policy.Rule, remove []uint32) error {
	return recovery.Call(controllerName, recovery.Part(controllerName), func() error { return update(install, remove) })
}

// plan records that the switch is about to be told of the named policies. After a panic they stay dirty.
func (c *Controller) plan(names sets.Set[string], isGuarded func(string, *v1beta2.NetworkPolicy) bool) *operations {
	c.mu.Lock()
	defer c.mu.Unlock()
	if names == nil {
		names = c.takeAll()
	}
	planned := c.withoutEarlyEnds(names)
	ops := c.realized.plan(c.state, planned, isGuarded)
	c.state.dirty = c.state.dirty.Difference(planned)
	c.realizing = planned
	ops.uses = c.newUses(ops)
	return ops
}

// withoutEarlyEnds leaves out deleted policies if others have changed since the realization began: a policy that takes over
// from a deleted one must not come later than the deletion. The caller holds mu.
func (c *Controller) withoutEarlyEnds(names sets.Set[string]) sets.Set[string] {
	if c.taken.IsSuperset(c.state.dirty) {
		return names
	}
	planned := sets.New[string]()
	for name := range names {
		if c.state.policies[name] != nil {
			planned.Insert(name)
		}
	}
	return planned
}

// conclude enters the outcome of a plan.
func (c *Controller) conclude(ops *operations, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.realizing = nil
	if err != nil {
		c.realized.abandon(ops)
		c.state.dirty = c.state.dirty.Union(ops.names)
		return
	}
	c.realized.commit(ops)
	c.unenforced = c.unenforced.Union(ops.names)
	c.settle(ops)
}

// settle records the outcome for policies after a change that the switch has accepted. The caller holds mu.
func (c *Controller) settle(ops *operations) {
	for name, version := range ops.versions {
		err, invalid := ops.invalid[name]
		switch {
		case invalid:
			c.refuseSenseless(version, err)
		case !ops.guarded.Has(name):
			c.state.accept(name, version)
			c.accept(name)
			c.reporter.touch(sets.New(name))
		case c.isRefusedVersion(name, version):
			c.isolated(c.refusals[name])
		default:
			c.state.dirty.Insert(name) // The policy itself must still be tried.
		}
	}
}
