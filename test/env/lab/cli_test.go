// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutcome(t *testing.T) {
	for _, tc := range []struct {
		err       error
		signalled bool
		code      int
		message   string
	}{
		{nil, false, 0, ""},
		{errors.New("no machine"), false, 1, "no machine"},
		{context.Canceled, true, 130, "interrupted"},
		{fmt.Errorf("node-1: %w", exitError(7)), false, 7, ""},
		{exitError(7), true, 7, ""},
	} {
		code, message := outcome(tc.err, tc.signalled)
		require.Equal(t, tc.code, code, tc.err)
		require.Equal(t, tc.message, message, tc.err)
	}
}

func TestProgram(t *testing.T) {
	for _, args := range [][]string{{"ls", "-l"}, {"--", "ls", "-l"}} {
		require.Equal(t, []string{"ls", "-l"}, programOf(args))
	}
	require.Equal(t, []string{"--"}, programOf([]string{"--"}))
}
