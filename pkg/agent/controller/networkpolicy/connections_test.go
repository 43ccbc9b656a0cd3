// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

func TestNodeAddresses(t *testing.T) {
	ofNode := nodeAddresses()
	require.True(t, ofNode(netip.MustParseAddr("127.0.0.1")))
	require.False(t, ofNode(netip.MustParseAddr("192.0.2.1")), "an address of documentation (RFC 5737)")
}

// TestCutterIsTold: the controller tells its Cutter when rules change, and when that is enforced.
func TestCutterIsTold(t *testing.T) {
	c := New(newFakeSource(), newFakeFlows(), &fakeDatapath{}, interfacestore.NewInterfaceStore(), t.TempDir(), problem.NewRecorder())
	cutter := c.Cutter(PodConnections{}, nil)
	require.Nil(t, cutter.cache)
	c.onRealized()
	require.Len(t, cutter.wake, 1)
	require.Empty(t, cutter.enforced)
	c.onEnforced()
	require.Len(t, cutter.enforced, 1)
}
