// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func keys(flows []Flow) []string {
	var out []string
	for _, f := range flows {
		out = append(out, f.Key())
	}
	return out
}

func TestFake(t *testing.T) {
	ctx := t.Context()
	s := NewFake()
	require.ErrorIs(t, s.Commit(ctx, nil), ErrDisconnected)
	require.False(t, s.IsConnected())
	reconnected, err := s.Connect(ctx)
	require.NoError(t, err)
	require.True(t, s.IsConnected())

	a := Flow{Table: 1, Priority: 2, Cookie: 0x10, Match: []Match{InPort(1)}, Actions: []Action{Normal{}}}
	b := Flow{Table: 1, Priority: 2, Cookie: 0x11, Match: []Match{InPort(2)}}
	c := Flow{Table: 2, Priority: 2, Cookie: 0x20}
	require.NoError(t, s.Commit(ctx, adds(a, b, c)))
	counts, err := s.TableFlowCounts(ctx)
	require.NoError(t, err)
	require.Equal(t, map[uint8]int{1: 2, 2: 1}, counts)

	a.Actions = []Action{Output{3}}
	require.NoError(t, s.Commit(ctx, adds(a)))
	got, ok := s.Flow(a.Key())
	require.True(t, ok)
	require.Equal(t, a.String(), got.String(), "an addition replaces the actions")

	boom := errors.New("boom")
	s.FailNext(boom)
	require.ErrorIs(t, s.Commit(ctx, []FlowMod{{Command: DeleteStrict, Flow: a}}), boom)
	require.Len(t, s.Flows(), 3)
	require.NoError(t, s.Commit(ctx, []FlowMod{{Command: DeleteStrict, Flow: Flow{Table: 2, Priority: 2}}}))
	require.Equal(t, []string{a.Key(), b.Key()}, keys(s.Flows()))
	require.NoError(t, s.Commit(ctx, []FlowMod{{Command: DeleteByCookie, Flow: Flow{Cookie: 0x11}, CookieMask: 0xf}}))
	require.Equal(t, []string{a.Key()}, keys(s.Flows()))
	require.Len(t, s.History(), 4)
	s.ClearHistory()
	require.Empty(t, s.History())

	s.Disconnect()
	require.ErrorIs(t, s.Barrier(ctx), ErrDisconnected)
	s.Reconnect(true)
	<-reconnected
	require.Empty(t, s.Flows())
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, s.Commit(canceled, adds(a)), context.Canceled)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Barrier(ctx), ErrDisconnected)
}
