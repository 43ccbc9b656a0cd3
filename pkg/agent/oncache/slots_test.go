// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// A Node may have more Pods than the cache has slots. The surplus Pods stay on Open vSwitch with that reason until there is
// room.
func TestMorePodsThanSlots(t *testing.T) {
	e := newEnv(t)
	podOf := func(i int) Pod {
		return Pod{InterfaceName: fmt.Sprint("pod-", i), OFPort: uint32(i + 1), IPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 10, byte(i >> 8), byte(i)})}}
	}
	add := func(i int) error {
		if err := e.room(podOf(i).InterfaceName); err != nil {
			return err
		}
		return e.addEndpoint(podOf(i), "veth", datapath.Endpoint{IfIndex: 10 + i})
	}
	slots := len(e.slotPods)
	require.Equal(t, 1024, slots)
	for i := range slots {
		require.NoError(t, add(i))
	}
	for i := slots; i < 2000; i++ {
		require.ErrorContains(t, add(i), "all 1024 endpoint slots are taken; the Pod stays on Open vSwitch")
	}
	require.NoError(t, add(7), "again")
	require.Len(t, e.endpoints, slots)
	e.removeEndpoint("pod-7")
	require.NoError(t, add(1500))
	require.Error(t, add(1501))
}

type panickingSlots struct{ slots }

func (panickingSlots) NoteEpoch(int, uint32) { panic("boom") }

func TestPanicOfAChangeHoldsNoLock(t *testing.T) {
	e := newEnv(t, "a")
	e.dp = panickingSlots{e.dp}
	require.Panics(t, func() { e.Begin(coherency.Change{All: true}) })
	require.True(t, e.mu.TryLock())
}
