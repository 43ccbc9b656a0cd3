// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// markedSwitch is a switch with mark flows, by interface.
type markedSwitch struct {
	FlowClient
	marked map[string]uint16
	fail   error
	// removing is called while marks are removed.
	removing func()
}

func (s *markedSwitch) InstallMarkFlows(marks []coherency.Mark) error {
	for _, m := range marks {
		s.marked[m.InterfaceName] = m.Epoch
	}
	return s.fail
}

func (s *markedSwitch) UninstallMarkFlows(interfaceNames []string) error {
	if s.removing != nil {
		s.removing()
	}
	for _, name := range interfaceNames {
		if s.fail == nil {
			delete(s.marked, name)
		}
	}
	return s.fail
}

// again reports whether writeMarks wants to be called again, whether it has failed or not.
func again(again bool, _ error) bool { return again }

func newMarking(t *testing.T, pods ...string) (*env, *markedSwitch, *Manager) {
	e, s := newEnv(t), &markedSwitch{marked: map[string]uint16{}}
	m := New(Config{}, nil, s, nil)
	m.ledger = e.ledger
	for _, name := range pods {
		e.add(t, name, "10.10.1.2")
	}
	require.False(t, again(m.writeMarks()))
	return e, s, m
}

// TestMarksOfAPodOnOVS: the mark flows of a Pod choose a queue for the packets that other Pods of the Node send to it. Once its
// programs are gone, the queue is no longer removed before a shaper on its device sees it. So the flows are also removed.
func TestMarksOfAPodOnOVS(t *testing.T) {
	e, s, m := newMarking(t, "a")
	require.Equal(t, map[string]uint16{"a": 1}, s.marked)
	woken := e.woken
	e.removeEndpoint("a")
	require.Greater(t, e.woken, woken)
	s.fail = errors.New("no switch")
	require.True(t, again(m.writeMarks()), "again later")
	s.fail = nil
	require.False(t, again(m.writeMarks()))
	require.Empty(t, s.marked)
	e.removeEndpoint("a")
	require.Empty(t, e.uselessMarks(), "it is unknown")
}

// A Pod that may use the cache again keeps its new flows, also if it comes while the old ones are removed.
func TestMarksOfAPodThatReturns(t *testing.T) {
	e, s, m := newMarking(t, "a")
	e.removeEndpoint("a")
	e.add(t, "a", "10.10.1.2")
	require.False(t, again(m.writeMarks()))
	require.Equal(t, map[string]uint16{"a": 2}, s.marked)

	e.removeEndpoint("a")
	s.removing = func() {
		s.removing = nil
		e.add(t, "a", "10.10.1.2")
		marks, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
		require.NoError(t, s.InstallMarkFlows(marks))
		end(nil)
	}
	require.True(t, again(m.writeMarks()), "its flows may have been removed with the old ones")
	require.False(t, again(m.writeMarks()))
	_, epoch := e.slots.EndpointState(0)
	require.Equal(t, map[string]uint16{"a": uint16(epoch)}, s.marked)
}

// refusing refuses marks and counts attempts.
type refusing struct {
	absentSwitch
	attempts atomic.Int32
	accepts  atomic.Bool
}

func (r *refusing) InstallMarkFlows([]coherency.Mark) error {
	r.attempts.Add(1)
	if r.accepts.Load() {
		return nil
	}
	return errDisconnected
}

// TestMarksAreTriedOnceASecond: while Open vSwitch is away, changes of all controllers fail and call for marks again and again. The epochs of the
// attempts would be used up.
func TestMarksAreTriedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &refusing{}
		m := New(Config{}, nil, flows, nil)
		e := newEnv(t, "a")
		e.ledger.wake = m.wakeMarks
		m.ledger = e.ledger
		stop := make(chan struct{})
		go m.keepMarks(stop)
		for range 100 {
			_, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
			end(errDisconnected)
			time.Sleep(100 * time.Millisecond)
		}
		require.InDelta(t, 10, flows.attempts.Load(), 1)
		flows.accepts.Store(true)
		time.Sleep(retryInterval)
		synctest.Wait()
		require.Zero(t, e.unmarked())
		before := flows.attempts.Load()
		_, end := e.Begin(coherency.Change{Interfaces: []string{"a"}})
		end(errDisconnected)
		synctest.Wait()
		require.Equal(t, before+1, flows.attempts.Load(), "at once again")
		close(stop)
	})
}
