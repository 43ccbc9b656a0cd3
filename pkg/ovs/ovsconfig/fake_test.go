// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFakeBehavesLikeABridge(t *testing.T) {
	f := NewFake(bridge)
	f.PortErrors = map[string]string{"broken": "no device"}
	_, err := f.CreatePort("early", nil)
	require.ErrorContains(t, err, "does not exist")
	require.NoError(t, f.Create(t.Context()))

	ids := map[string]string{"antrea-type": "container"}
	_, err = f.CreatePort("pod", ids)
	require.NoError(t, err)
	ids["antrea-type"] = "changed by the caller"
	_, err = f.CreatePort("pod", nil)
	require.ErrorContains(t, err, "exists already")
	_, err = f.CreatePort("broken", nil)
	require.NoError(t, err)
	_, err = f.GetOFPort(t.Context(), "broken")
	require.ErrorContains(t, err, "no device")
	p, found, err := f.GetPort("pod")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "container", p.ExternalIDs["antrea-type"])
	require.EqualValues(t, 1, p.OFPort)
	require.NoError(t, f.DeletePort("pod"))
	ports, err := f.ListPorts()
	require.NoError(t, err)
	require.Len(t, ports, 1)
}
