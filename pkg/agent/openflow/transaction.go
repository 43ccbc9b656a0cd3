// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// errInterrupted is what the Interceptor is told of a change that has panicked.
var errInterrupted = errors.New("the change of the flows did not come to an end")

// noInterceptor is in place while nobody has called SetInterceptor.
type noInterceptor struct{}

func (noInterceptor) Begin(coherency.Change) ([]coherency.Mark, func(error)) {
	return nil, func(error) {}
}

// commit is the only way in which flows change, apart from mark flows on their own. It tells the Interceptor, and sends
// one atomic bundle of first (may be nil), the plans, and the marks that the Interceptor wants. The caches change only
// when the switch has accepted. The caller holds changes.
func (c *client) commit(change coherency.Change, first []of.FlowMod, plans ...plan) (err error) {
	resync := c.needsResync()
	change.All = change.All || resync
	marks, end := c.interceptor.Begin(change)
	finished := false
	defer func() {
		if !finished { // a panic: nobody knows what the switch has been told
			err = errInterrupted
			c.setResync(true)
		}
		end(err)
	}()
	err = c.commitMarked(change, marks, resync, first, plans)
	finished = true
	return err
}

func (c *client) commitMarked(change coherency.Change, marks []coherency.Mark, resync bool, first []of.FlowMod, plans []plan) error {
	if err := c.sending.takeSoon(); err != nil {
		return err
	}
	defer c.sending.give()
	markPlans, err := c.planMarks(marks, change.RemovedInterfaces)
	if err != nil {
		return err
	}
	if resync {
		first = append(c.everything(), first...)
	}
	if err := c.send(first, append(plans, markPlans...)); err != nil {
		return err
	}
	if resync {
		c.setResync(false)
	}
	return nil
}

// commitEverything sends all flows. When it fails the next change will do so. The caller holds changes.
func (c *client) commitEverything() error {
	c.setResync(true)
	return c.commit(coherency.Change{}, nil)
}

func (c *client) setResync(resync bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resync = resync
}

func (c *client) needsResync() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resync
}

// everything replaces all flows of the current round by base flows and caches. Flows that the caches do not know, because
// the switch did not tell what became of them, are removed thereby. The caller holds sending.
func (c *client) everything() []of.FlowMod {
	mods := []of.FlowMod{deleteRound(c.generator.round)}
	for _, flows := range [][]of.Flow{c.generator.base(), c.pods.all(), c.nodes.all(), c.policies.all(), c.marks.all()} {
		for _, flow := range flows {
			mods = append(mods, of.FlowMod{Command: of.Add, Flow: flow})
		}
	}
	return mods
}

// planMarks returns what makes the mark flows those of marks, and removes the ones of removed. The caller holds sending.
func (c *client) planMarks(marks []coherency.Mark, removed []string) ([]plan, error) {
	if len(marks) > 0 && !c.features.ONCache {
		return nil, errors.New("ONCache mark flows need the feature gate ONCache, which is off")
	}
	var plans []plan
	planned := map[string]bool{}
	for _, mark := range marks {
		if err := validateMark(mark); err != nil {
			return nil, err
		}
		if planned[mark.InterfaceName] {
			return nil, fmt.Errorf("two ONCache marks of interface %s in one change", mark.InterfaceName)
		}
		planned[mark.InterfaceName] = true
		if !slices.Contains(removed, mark.InterfaceName) {
			plans = append(plans, c.marks.plan(mark.InterfaceName, c.generator.markFlows(mark)))
		}
	}
	for _, name := range removed {
		plans = append(plans, c.marks.plan(name, nil))
	}
	return plans, nil
}

// send commits one bundle, unless there is nothing to change, and then enters the plans into the caches. The caller holds sending.
func (c *client) send(mods []of.FlowMod, plans []plan) error {
	for _, p := range plans {
		mods = append(mods, p.mods...)
	}
	if len(mods) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), bundleTimeout(len(mods)))
		defer cancel()
		if err := c.sw.Commit(ctx, mods); err != nil {
			if fateUnknown(err) {
				c.setResync(true)
			}
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range plans {
		p.apply()
	}
	return nil
}

// fateUnknown tells whether the switch may have made a change although Commit returned err.
func fateUnknown(err error) bool {
	return errors.Is(err, of.ErrDisconnected) || errors.Is(err, context.DeadlineExceeded)
}
