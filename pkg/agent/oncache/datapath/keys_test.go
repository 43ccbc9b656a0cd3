// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestLetKeysEnd: programs whose keys others may still use are switched off, so that they restore for Open vSwitch, and not removed at once.
func TestLetKeysEnd(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	letKeysEnd := func(ctx context.Context, layout string) (waited bool) {
		waited, err := datapath.LetKeysEnd(ctx, w.PinPath, layout)
		require.NoError(t, err)
		return waited
	}
	require.False(t, letKeysEnd(t.Context(), ""))
	require.Equal(t, datapath.ModeEnforce, w.Mode(), "there are no keys to wait for")

	in := harness.ToPod()
	key := w.Give(harness.FromPod(), in)
	require.False(t, letKeysEnd(t.Context(), w.Layout()))
	require.Equal(t, datapath.ModeEnforce, w.Mode(), "the maps stay")

	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.True(t, letKeysEnd(t.Context(), ""))
		require.Equal(t, datapath.KeyRest, time.Since(begun))
	})
	require.Equal(t, datapath.ModeOff, w.Mode())
	require.Equal(t, []string{"restored"}, w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t)).Also)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err := datapath.LetKeysEnd(ended, w.PinPath, "")
	require.ErrorIs(t, err, context.Canceled, "the caller must not remove the programs")
}

// TestEncapsulatesAfterRewriting: programs that cannot restore have maps of another layout. So an agent waits until no key is in use before it
// attaches them, however many agents before it have ended while they waited, and never again.
func TestEncapsulatesAfterRewriting(t *testing.T) {
	const maxFlows = 4096
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: maxFlows, Rewrite: true})
	w.SetNodeRewrites(harness.PeerSlot, true)
	keepKeys := func() { w.Control().KeyLife = 1 << 24 } // none ends by itself, however slow the machine is
	keepKeys()
	in := harness.ToPod()
	key := w.Give(harness.FromPod(), in)
	load := func(rewrite bool) *datapath.Datapath {
		t.Helper()
		d, err := datapath.Load(datapath.Options{PinPath: w.PinPath, MaxFlows: maxFlows, MaxFlows6: maxFlows, Rewrite: rewrite})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		return d
	}
	ended, end := context.WithCancel(t.Context())
	end()
	// waits reports whether the agent switches the programs off to wait.
	waits := func(d *datapath.Datapath) bool {
		t.Helper()
		d.SetMode(datapath.ModeEnforce)
		waited, err := datapath.LetKeysEnd(ended, w.PinPath, d.Layout())
		if waited {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, waited, d.Mode() == datapath.ModeOff)
		return waited
	}

	encap := load(false)
	require.False(t, encap.Adopted)
	require.True(t, waits(encap))
	require.Equal(t, datapath.ModeOff, w.Mode(), "no keys are told until then")
	require.Equal(t, []string{"restored"}, w.Ingress(0, w.RewrittenFromPeer(in, key).Bytes(t)).Also)

	next := load(false)
	require.True(t, next.Adopted)
	require.True(t, waits(next), "the agent before has ended before it had replaced all programs")

	rewriting := load(true)
	require.True(t, rewriting.Adopted)
	require.False(t, waits(rewriting), "it restores what comes with these keys")
	keepKeys()
	kept, err := rewriting.KeysKept()
	require.NoError(t, err)
	require.Equal(t, 1, kept)

	require.NoError(t, next.Commit())
	last := load(false)
	require.True(t, last.Adopted)
	require.False(t, waits(last), "all programs have been replaced")
}

// TestSmallWithoutRewriting: programs that rewrite nothing have no room for keys.
func TestSmallWithoutRewriting(t *testing.T) {
	w := harness.NewWorld(t)
	require.EqualValues(t, 1, w.Maps.Restores.MaxEntries())
}

// TestFormerKeysEnd: an agent that receives rewritten packets at another port than the former one waits, although the maps stay.
func TestFormerKeysEnd(t *testing.T) {
	w := harness.NewRewritingWorld(t, harness.Family{})
	w.Give(harness.FromPod(), harness.ToPod())
	require.NoError(t, w.LetFormerKeysEnd(t.Context(), harness.RewritePort))
	require.Equal(t, datapath.ModeEnforce, w.Mode())
	require.Zero(t, w.Control().KeysFrom)

	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, w.LetFormerKeysEnd(ended, harness.RewritePort+1), context.Canceled)
	require.Equal(t, datapath.ModeOff, w.Mode(), "no keys are told until then")
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.NoError(t, w.LetFormerKeysEnd(t.Context(), harness.RewritePort+1))
		require.Equal(t, datapath.KeyRest, time.Since(begun), "the next agent waits again")
	})
	require.Equal(t, datapath.ModeOff, w.Mode())
	require.Greater(t, w.Control().KeysFrom, w.Jiffies(t))
}

// TestAdoptedMapsGiveNoKeysYet: an agent that has made maps may have ended before it told them when to begin.
func TestAdoptedMapsGiveNoKeysYet(t *testing.T) {
	opts := datapath.Options{MaxFlows: 4096, Rewrite: true}
	w := harness.NewWorldWith(t, harness.Family{}, opts)
	require.Zero(t, w.Control().KeysFrom)
	opts.PinPath, opts.MaxFlows6 = w.PinPath, opts.MaxFlows
	load := func() uint64 {
		d, err := datapath.Load(opts)
		harness.RequireVerified(t, err)
		defer d.Close()
		require.True(t, d.Adopted)
		return w.Control().KeysFrom
	}
	from := load()
	require.Greater(t, from, w.Jiffies(t))
	require.Equal(t, from, load(), "they begin once")
}
