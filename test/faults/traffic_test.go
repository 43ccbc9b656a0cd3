// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLastProgress(t *testing.T) {
	for text, want := range map[string]progressOf{
		"connected a b\nreceived 5 of 9, 2 late\n":                                      {5, 9, 2},
		"received 5 of 9, 2 late\nreceived 8 of 12, 1 late\nfailed after 3s: connect\n": {8, 12, 1},
		"received 5 of 9, 2 late\nreceived 80 of 1":                                     {5, 9, 2},
	} {
		got, ok := lastProgress(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "connected", "received 1"} {
		_, ok := lastProgress(text)
		require.False(t, ok, text)
	}
}

func TestAllFlows(t *testing.T) {
	flows := allFlows()
	require.Len(t, flows, 16)
	names := map[string]bool{}
	for _, f := range flows {
		names[f.String()] = true
	}
	require.Len(t, names, 16)
	require.True(t, names["UDP within the Node through a Service"])
}
