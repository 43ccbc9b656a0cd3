// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneDaemonOfAKind(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := Read("kind", nil)
	require.ErrorIs(t, err, ErrDown)
	require.ErrorIs(t, Stop(t.Context(), "kind", 0), ErrDown)

	place, err := Claim("kind")
	require.NoError(t, err)
	_, err = Claim("kind")
	require.ErrorIs(t, err, ErrUp)
	other, err := Claim("other")
	require.NoError(t, err)
	require.NoError(t, other.Release())

	var state struct{ Machine string }
	_, err = Read("kind", &state)
	require.ErrorContains(t, err, "not ready yet")
	state.Machine = "uml"
	require.NoError(t, place.Publish(state))
	state.Machine = ""
	running, err := Read("kind", &state)
	require.NoError(t, err)
	require.Equal(t, "uml", state.Machine)
	require.Equal(t, os.Getpid(), running.PID)

	log := filepath.Join(place.LogDir(), "log")
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	require.NoError(t, place.Release())
	require.FileExists(t, log)
	require.NoFileExists(t, filepath.Join(place.Dir(), stateFile))
	_, err = Read("kind", &state)
	require.ErrorIs(t, err, ErrDown)
}
