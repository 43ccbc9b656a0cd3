// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
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
	c := openflow.NewClient(sw, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	sw.panics = true
	// It happens in a goroutine, where no boundary of the caller would catch it.
	require.True(t, recovery.Is(oftest.InstallPodA(c)))
	require.Equal(t, []string{"begin", "end with error"}, r.Events)
	sw.panics, r.Changes = false, nil
	require.NoError(t, oftest.InstallPodA(c))
	require.True(t, r.Changes[0].Replay)
	require.NoError(t, oftest.InstallPodB(c))
	require.False(t, r.Changes[1].Replay, "once is enough")
}
