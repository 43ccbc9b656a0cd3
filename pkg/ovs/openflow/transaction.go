// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Transaction is a change of meters, groups and flows. Apply brings it into the order that OpenFlow demands, so that a flow
// points only to groups and meters that exist, regardless of the order in which the changes are given:
//
//  1. MeterDeleteAll and GroupDeleteAll,
//  2. additions of meters,
//  3. additions and modifications of groups, in the order given (a bucket may point to a group before it),
//  4. changes of flows, in the order given,
//  5. deletions of groups, in the reverse order, which delete the flows that still point to them,
//  6. modifications and deletions of meters.
//
// Groups and flows are one atomic bundle. OpenFlow has no bundles for meters: when the bundle fails, the meters that were added
// are deleted again. When a step behind the bundle fails, the bundle stays in effect, and the error is a *MeterError.
type Transaction struct {
	Meters []MeterMod
	Groups []GroupMod
	Flows  []FlowMod
}

// plan is a Transaction in the order in which it is sent.
type plan struct {
	before  []MeterMod
	bundle  []bundled
	after   []MeterMod
	undoing []MeterMod
}

// errTwice is the refusal of two changes of one group or meter.
var errTwice = errors.New("a transaction can change it only once: want one change, or two transactions")

// plan orders t. Its errors are *GroupError and *MeterError.
func (t *Transaction) plan() (plan, error) {
	var p plan
	seenMeters := map[uint32]bool{}
	for _, m := range t.Meters {
		switch {
		case m.Command == MeterDeleteAll:
			p.before = slices.Insert(p.before, 0, m)
			continue
		case seenMeters[m.Meter.ID]:
			return plan{}, &MeterError{Meter: describeMeter(&m), Err: errTwice}
		case m.Command == MeterAdd:
			p.before = append(p.before, m)
			p.undoing = append(p.undoing, MeterMod{Command: MeterDelete, Meter: m.Meter})
		default:
			p.after = append(p.after, m)
		}
		seenMeters[m.Meter.ID] = true
	}
	seenGroups := map[uint32]bool{}
	var all, deletions []bundled
	for i := range t.Groups {
		m := &t.Groups[i]
		switch {
		case m.Command == GroupDeleteAll:
			all = append(all, m)
			continue
		case seenGroups[m.Group.ID]:
			return plan{}, &GroupError{Group: describeGroup(m), Err: errTwice}
		case m.Command == GroupDelete:
			deletions = append(deletions, m)
		default:
			p.bundle = append(p.bundle, m)
		}
		seenGroups[m.Group.ID] = true
	}
	for i := range t.Flows {
		p.bundle = append(p.bundle, &t.Flows[i])
	}
	slices.Reverse(deletions)
	p.bundle = slices.Concat(all, p.bundle, deletions)
	return p, nil
}

// check returns why a part of p cannot be sent with v.
func (p *plan) check(v version) error {
	for _, m := range slices.Concat(p.before, p.after) {
		if _, err := encodeMeterMod(&m, v, 0); err != nil {
			return err
		}
	}
	for _, m := range p.bundle {
		if _, err := m.encode(v, 0); err != nil {
			return err
		}
	}
	return nil
}

// apply sends t on this connection.
func (c *conn) apply(ctx context.Context, t *Transaction) error {
	p, err := t.plan()
	if err != nil {
		return err
	}
	if len(t.Meters) > 0 {
		// A transaction that cannot be sent as a whole is not sent at all.
		if err := p.check(c.version); err != nil {
			return err
		}
	}
	if err := c.changeMeters(ctx, p.before); err != nil {
		return err
	}
	if len(p.bundle) > 0 {
		if err := c.commit(ctx, p.bundle); err != nil {
			if len(p.undoing) == 0 {
				return err
			}
			ctx, cancel := undoContext(ctx)
			defer cancel()
			if undoErr := c.changeMeters(ctx, p.undoing); undoErr != nil {
				return fmt.Errorf("%w; deleting the meters that were added for it: %w", err, undoErr)
			}
			return err
		}
	}
	return c.changeMeters(ctx, p.after)
}

// undoTimeout bounds the caller's wait for the undoing of its change.
const undoTimeout = 10 * time.Second

// undoContext is for undoing a change after the caller's context may have ended.
func undoContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
}

// changeMeters sends mods and waits for the switch. If one fails, the additions before it are undone.
func (c *conn) changeMeters(ctx context.Context, mods []MeterMod) error {
	for i := range mods {
		err := c.order(ctx, func(xid uint32) ([]byte, error) { return encodeMeterMod(&mods[i], c.version, xid) })
		if err == nil {
			continue
		}
		var own *MeterError
		if !errors.As(err, &own) {
			err = &MeterError{Meter: describeMeter(&mods[i]), Err: explain(err, nil)}
		}
		for _, added := range mods[:i] {
			if added.Command == MeterAdd {
				undo := MeterMod{Command: MeterDelete, Meter: added.Meter}
				ctx, cancel := undoContext(ctx)
				undoErr := c.changeMeters(ctx, []MeterMod{undo})
				cancel()
				if undoErr != nil {
					return fmt.Errorf("%w; deleting the meters that were added before it: %w", err, undoErr)
				}
			}
		}
		return err
	}
	return nil
}

// order sends a message that is answered only if it fails, and a barrier behind it.
func (c *conn) order(ctx context.Context, encode func(xid uint32) ([]byte, error)) error {
	cl, err := c.begin(2)
	if err != nil {
		return err
	}
	defer c.end(cl)
	b, err := encode(cl.first)
	if err != nil {
		return err
	}
	if err := c.write(ctx, appendBarrier(b, c.version, cl.last)); err != nil {
		return err
	}
	if err := c.wait(ctx, cl, cl.last); err != nil {
		return err
	}
	if err := c.errorOf(cl, cl.first); err != nil {
		return err
	}
	return c.errorOf(cl, cl.last)
}

// Errors of the switch for which there is a remedy (OpenFlow 1.3, section 7.4.4).
var (
	errBadOutGroup  = Error{Type: 2, Code: 9}
	errGroupExists  = Error{Type: 6, Code: 0}
	errUnknownGroup = Error{Type: 6, Code: 8}
	errMeterExists  = Error{Type: 12, Code: 1}
	errInvalidMeter = Error{Type: 12, Code: 2}
	errUnknownMeter = Error{Type: 12, Code: 3}
)

// explain adds the remedy to an error of the switch; actions are the actions of the refused change.
func explain(err error, actions []Action) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch *e {
	case errBadOutGroup:
		return fmt.Errorf("%w: one of the groups %v does not exist: want it added before, or in the same Transaction", err, GroupsOf(actions))
	case errGroupExists:
		return fmt.Errorf("%w: there is a group with this id: want GroupModify, or another id", err)
	case errUnknownGroup:
		return fmt.Errorf("%w: there is no group with this id: want GroupAdd", err)
	case errMeterExists:
		return fmt.Errorf("%w: there is a meter with this id: want MeterModify, or another id", err)
	case errInvalidMeter, errUnknownMeter:
		if m, ok := meterOf(actions); ok {
			return fmt.Errorf("%w: the meter %d does not exist: want it added before, or in the same Transaction", err, m)
		}
		return fmt.Errorf("%w: there is no meter with this id: want MeterAdd", err)
	}
	return err
}

// GroupsOf are the groups that actions point to.
func GroupsOf(actions []Action) []uint32 {
	var ids []uint32
	for _, a := range actions {
		if g, ok := a.(Group); ok {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// meterOf is the meter that the actions of a flow begin with.
func meterOf(actions []Action) (id uint32, ok bool) {
	if len(actions) == 0 {
		return 0, false
	}
	m, ok := actions[0].(Meter)
	return m.ID, ok
}
