// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// testRewritten guards the suite: most other areas would pass with encapsulated packets as well. Both directions of a flow get keys, and the
// Nodes rewrite what they send and restore what arrives.
func testRewritten(t *testing.T, s *suite) {
	var before [2]api.Status
	for i, n := range []*cluster.Node{s.node1, s.node2} {
		before[i] = oncacheStatus(t, n)
	}
	r := s.startStream(t)
	r.waitFastIfGate(t)
	const enough = 100
	for i, n := range []*cluster.Node{s.node1, s.node2} {
		eventually(t, "packets to be rewritten and restored", func() error {
			now := oncacheStatus(t, n)
			sent, received := now.Egress.RewrittenHits-before[i].Egress.RewrittenHits, now.Ingress.RewrittenHits-before[i].Ingress.RewrittenHits
			if sent < enough || received < enough {
				return notYet(fmt.Sprintf("%s has rewritten %d packets and restored %d", n.Name, sent, received))
			}
			require.NotZero(t, now.Keys)
			return nil
		})
	}
	r.end(t, 0)
}

// requireNoUnknownKeys checks that no Node has dropped a rewritten packet since its maps were made.
func (s *suite) requireNoUnknownKeys(t *testing.T) {
	t.Helper()
	for _, n := range s.Nodes {
		require.Zero(t, oncacheStatus(t, n).Ingress.UnknownKeys, "packets with keys that %s has not given", n.Name)
	}
}
