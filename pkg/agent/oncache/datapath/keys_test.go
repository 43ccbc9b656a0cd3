// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestLetKeysEnd: programs whose keys others may still use are switched off, so that they restore for Open vSwitch, and not removed at once.
func TestLetKeysEnd(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	require.NoError(t, datapath.LetKeysEnd(t.Context(), w.PinPath, ""))
	require.Equal(t, datapath.ModeEnforce, w.Mode(), "there are no keys to wait for")

	in := harness.ToPod()
	key := w.Give(harness.FromPod(), in)
	require.NoError(t, datapath.LetKeysEnd(t.Context(), w.PinPath, w.Layout()))
	require.Equal(t, datapath.ModeEnforce, w.Mode(), "the maps stay")

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.NoError(t, datapath.LetKeysEnd(ctx, w.PinPath, ""))
	require.Error(t, ctx.Err(), "it has waited")
	require.Equal(t, datapath.ModeOff, w.Mode())
	require.Equal(t, []string{"restored"}, w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t)).Also)
}
