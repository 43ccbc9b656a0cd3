// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsctl

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

func TestVswitchd(t *testing.T) {
	ovs := ovstest.Start(t)
	ovs.AddBridge("br-test")
	v := NewVswitchd(ovs.RunDir)

	output, err := v.Call(t.Context(), "version")
	require.NoError(t, err)
	require.Contains(t, output, "Open vSwitch")
	output, err = v.Call(t.Context(), "fdb/show", "br-test")
	require.NoError(t, err)
	require.Contains(t, output, "VLAN")
	_, err = v.Call(t.Context(), "fdb/show", "br-absent")
	require.ErrorContains(t, err, "fdb/show: no such bridge")
	_, err = v.Call(t.Context(), "nonsense")
	require.ErrorContains(t, err, `"nonsense" is not a valid command`)
	_, err = NewVswitchd(t.TempDir()).Call(t.Context(), "version")
	require.ErrorContains(t, err, "ovs-vswitchd.pid")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = v.Call(ended, "version")
	require.ErrorIs(t, err, context.Canceled)
}

func TestWaitRevalidation(t *testing.T) {
	ovs := ovstest.Start(t)
	ovs.AddBridge("br-test")
	begun := time.Now()
	require.NoError(t, NewVswitchd(ovs.RunDir).WaitRevalidation(t.Context()))
	t.Log("waited", time.Since(begun))

	ended, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	require.ErrorIs(t, NewVswitchd(ovs.RunDir).WaitRevalidation(ended), context.Canceled)
}
