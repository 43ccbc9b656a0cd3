// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// TestMarksAreDisjoint: no two users of the packet mark on a Node take each other's marks for their own. The low byte holds ids of
// Egress addresses, of which 255 is left out for Services.
func TestMarksAreDisjoint(t *testing.T) {
	const egressIDs, kubeProxy, egressReply = 0xff, 1<<14 | 1<<15, 1 << 30
	taken := uint32(0)
	for name, bits := range map[string]uint32{
		"ONCache": PacketMark, "host": config.HostLocalSourceMark, "Egress and Services": egressIDs, "kube-proxy": kubeProxy, "answers to Egress": egressReply,
	} {
		require.Zero(t, taken&bits, name)
		taken |= bits
	}
	require.EqualValues(t, egressIDs, config.ServiceMark)
}
