// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// At the start of an agent, Pods get their flows one after the other. Packets that the first one sends to the second through a Service are dropped until
// then: through the gateway, the host would send them back to the bridge, as a connection of the translated addresses. The other direction is the same.
func TestWirePodsAreRestoredOneByOne(t *testing.T) { eachDatapath(t, testPodsAreRestoredOneByOne) }

func testPodsAreRestoredOneByOne(t *testing.T, w *wire) {
	c := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	w.open(c)
	back := segment{c.endpoint, c.source, "A"}
	for missing, lost := range map[string]struct {
		from uint32
		segment
	}{"pod-b": {c.clientPort, segment{c.client, c.frontend, "A"}}, "pod-a": {c.serverPort, back}} {
		require.NoError(t, w.C.UninstallPodFlows(t.Context(), missing))
		w.settle()
		w.swallow(lost.from, lost.segment)
		w.connect()
		w.settle()
		w.use(c)
		w.pass(c.serverPort, back, c.clientPort, segment{c.frontend, c.client, "A"})
	}
}
