// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// successor makes another agent with other features take the bridge over.
func (w *wire) successor(features Features) {
	w.t.Helper()
	former := generatorOf(w.c)
	require.NoError(w.t, w.c.Disconnect())
	w.c = NewClient(of.NewSwitch(w.MgmtSocket(bridgeName)), noTableNames, features)
	w.t.Cleanup(func() { _ = w.c.Disconnect() })
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	_, err := w.c.Initialize(ctx, RoundInfo{RoundNum: former.round + 1, PrevRoundNum: &former.round, FormerTables: former.names()}, dualStackNode, testNetwork)
	require.NoError(w.t, err)
	w.connect()
	require.NoError(w.t, w.c.DeleteStaleFlows())
	w.settle()
}

// Connections to Services go on when the next agent does not translate them any more, or does again.
func TestWireConnectionsWithoutAntreaProxy(t *testing.T) {
	eachDatapath(t, testConnectionsWithoutAntreaProxy)
}

func testConnectionsWithoutAntreaProxy(t *testing.T, w *wire) {
	local := translated{podAPort, podBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	remote := translated{podAPort, tunnelPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", "10.10.1.20:8080"}
	w.install(clusterPort(localEndpointB))
	w.open(local)
	w.install(clusterPort(elsewhereEndpoint))
	w.open(remote)
	// Policies have refused this one, which conntrack knows nevertheless.
	require.NoError(t, install(egress(2, policyPodA, prefixes("10.10.9.0/24")))(w.c))
	w.settle()
	const refused = "10.10.0.11:3003"
	w.install(clusterPort(localEndpointB))
	w.swallow(podAPort, segment{refused, "10.96.0.10:80", "S"})
	for _, features := range []Features{{AntreaPolicy: true}, proxyAllFeatures} {
		w.successor(features)
		for _, c := range []translated{local, remote} {
			w.use(c)
			w.pass(c.serverPort, segment{c.endpoint, c.source, "A"}, c.clientPort, segment{c.frontend, c.client, "A"})
		}
		w.swallow(podBPort, segment{"10.10.0.12:8080", refused, "SA"})
	}
	w.successor(Features{})
	w.pass(podAPort, segment{"10.10.0.11:3004", "10.96.0.10:80", "S"}, gwPort, segment{"10.10.0.11:3004", "10.96.0.10:80", "S"})
}
