// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// TestFlowState: the state of an entry is the first reason why a packet would miss.
func TestFlowState(t *testing.T) {
	good := datapath.Flow{Protocol: unix.IPPROTO_TCP, OwnProved: true, OtherProved: true, CurrentEndpoint: true, CurrentNode: true, CurrentEverybody: true}
	for name, c := range map[string]struct {
		change func(*datapath.Flow)
		state  string
	}{
		"good":                     {func(*datapath.Flow) {}, "active"},
		"everything evicted":       {func(f *datapath.Flow) { f.CurrentEverybody, f.CurrentEndpoint = false, false }, "stale_all"},
		"Pod evicted":              {func(f *datapath.Flow) { f.CurrentEndpoint, f.CurrentNode = false, false }, "stale_endpoint"},
		"Node evicted":             {func(f *datapath.Flow) { f.CurrentNode, f.OtherProved = false, false }, "stale_node"},
		"half of a TCP flow":       {func(f *datapath.Flow) { f.OtherProved, f.LeaseLeft = false, -1 }, "not_proved"},
		"half of a UDP flow":       {func(f *datapath.Flow) { f.OtherProved, f.Protocol = false, unix.IPPROTO_UDP }, "active"},
		"the other half, UDP":      {func(f *datapath.Flow) { f.OwnProved, f.Protocol = false, unix.IPPROTO_UDP }, "not_proved"},
		"lease over":               {func(f *datapath.Flow) { f.LeaseLeft = -1 }, "lease"},
		"half of a UDP flow, over": {func(f *datapath.Flow) { f.OtherProved, f.Protocol, f.LeaseLeft = false, unix.IPPROTO_UDP, -1 }, "lease"},
	} {
		t.Run(name, func(t *testing.T) {
			f := good
			c.change(&f)
			require.Equal(t, c.state, flowState(&f))
		})
	}
}
