// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// execTimeout is for programs that a test expects to end soon by themselves.
const execTimeout = time.Minute

// succeeds runs a program that must end with 0 and returns its output. Cleanups may call it.
func succeeds(t *testing.T, s *cluster.Space, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), execTimeout)
	defer cancel()
	out, err := s.Exec(ctx, args...)
	require.NoError(t, err)
	return out
}

// fails runs a program that must end by itself with a code other than 0, and returns how it ended.
func fails(t *testing.T, s *cluster.Space, args ...string) *cluster.ExitError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	out, err := s.Exec(ctx, args...)
	require.NoError(t, ctx.Err(), "%q has not ended after %s", strings.Join(args, " "), execTimeout)
	var exit *cluster.ExitError
	require.True(t, errors.As(err, &exit), "%q should fail, but: %v, output:\n%s", strings.Join(args, " "), err, out)
	return exit
}

// shell runs a shell script on a space with "set -eu".
func shell(t *testing.T, s *cluster.Space, script string) string {
	t.Helper()
	return succeeds(t, s, "sh", "-euc", script)
}
