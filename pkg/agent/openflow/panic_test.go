// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// panickingSwitch panics at the next change.
type panickingSwitch struct {
	*of.Fake
	panics bool
}

func (s *panickingSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	if s.panics {
		panic("boom")
	}
	return s.Fake.Commit(ctx, mods)
}

// It is unknown what the switch has received: the cache must not learn, and the next change sends everything again.
func TestPanicWithinAChange(t *testing.T) {
	sw := &panickingSwitch{Fake: of.NewFake()}
	c := NewClient(sw, noTableNames, oncacheFeatures)
	_, err := c.Initialize(context.Background(), RoundInfo{RoundNum: testRound}, testNode, testNetwork)
	require.NoError(t, err)
	r := &recorder{}
	c.SetInterceptor(r)
	sw.panics = true
	// It happens in a goroutine, where no boundary of the caller would catch it.
	require.True(t, recovery.Is(installPodA(c)))
	require.Equal(t, []string{"begin", "end with error"}, r.events)
	sw.panics, r.changes = false, nil
	require.NoError(t, installPodA(c))
	require.True(t, r.changes[0].Replay)
	require.NoError(t, installPodB(c))
	require.False(t, r.changes[1].Replay, "once is enough")
}
