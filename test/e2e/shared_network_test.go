// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// testSharedPodNetwork adds the object of a Node that claims the Pod network of the second one, and removes it. The network
// must lead to the second Node all the time: the stream loses nothing, is accelerated, and is learned again afterward.
func testSharedPodNetwork(t *testing.T, s *suite) {
	networks := func() []api.NodeInfo {
		if !s.oncache {
			return nil
		}
		return askAgent[[]api.NodeInfo](t, s.node1, "/oncache?view=nodes")
	}
	before := networks()
	r := s.startStream(t)
	r.waitFastIfGate(t)
	log := followLog(t, s.node1)

	const name = "e2e-later"
	var cidrs []string
	for _, cidr := range s.node2.PodCIDRs {
		cidrs = append(cidrs, cidr.String())
	}
	remove := s.createNode(t, name, s.node2.IPs[0].Next().Next(), cidrs...)
	log.waitFor(t, "PodCIDROverlaps", name, s.node2.Name)
	r.waitFastIfGate(t)
	require.Equal(t, before, networks())

	remove()
	if s.oncache { // it can relearn what it has forgotten only if the network leads to the second Node
		succeeds(t, s.node1.Space, "antctl", "oncache", "mode", "off")
		succeeds(t, s.node1.Space, "antctl", "oncache", "mode", "enforce")
	}
	r.requireFlowing(t)
	r.waitFastIfGate(t)
	require.Equal(t, before, networks())
	r.end(t, 0)
}
