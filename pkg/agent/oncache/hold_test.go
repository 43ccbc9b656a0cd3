// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHold: a Pod is away from the cache as soon as it is held, whatever is reviewed, and until the last one releases it. The gateway
// stands for a Pod.
func TestHold(t *testing.T) {
	a, p := gatewayOnDevice(t)
	m := &Manager{pods: a}
	first := m.Hold([]string{"gw0", "unknown"})
	require.Equal(t, Traced, p.onOVS)
	require.Equal(t, stayTrace, p.reason)
	require.Empty(t, a.ledger.endpoints)
	second := m.Hold([]string{"gw0"})
	a.review(captures{})
	require.Equal(t, Traced, p.onOVS)

	first()
	first() // the second call has no effect
	a.review(captures{})
	require.Equal(t, Traced, p.onOVS)
	<-a.again
	second()
	<-a.again // a review was asked for
	a.review(captures{})
	require.Empty(t, p.onOVS)
	require.Len(t, a.ledger.endpoints, 1)
	require.Empty(t, a.held)
}

// TestHoldComesFirst: a Pod that is added while it is held is not announced.
func TestHoldComesFirst(t *testing.T) {
	a, p := gatewayOnDevice(t)
	pod := p.Pod
	a.changed(nil, &pod)
	release := (&Manager{pods: a}).Hold([]string{"gw0"})
	a.changed(&pod, nil)
	require.Equal(t, Traced, a.pods["gw0"].onOVS)
	require.Empty(t, a.ledger.endpoints)
	release()
	a.review(captures{})
	require.Empty(t, a.pods["gw0"].onOVS)
}
