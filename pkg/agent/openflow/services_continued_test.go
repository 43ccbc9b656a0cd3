// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// successor makes another agent with other features take the bridge over, and waits until the datapath follows.
func (w *wire) successor(features openflow.Features) {
	w.T.Helper()
	w.takeOver(features)
	w.settle()
}

// takeOver is successor without the wait.
func (w *wire) takeOver(features openflow.Features) {
	w.T.Helper()
	w.begin(features, oftest.TestNetwork)
	w.connect()
	require.NoError(w.T, w.C.DeleteStaleFlows())
}

// begin makes another agent with other features install its base flows.
func (w *wire) begin(features openflow.Features, network *config.NetworkConfig) {
	w.T.Helper()
	former := oftest.GeneratorOf(w.C)
	require.NoError(w.T, w.C.Disconnect())
	w.C = openflow.NewClient(of.NewSwitch(w.MgmtSocket(oftest.BridgeName)), oftest.NoTableNames, features)
	w.T.Cleanup(func() { _ = w.C.Disconnect() })
	ctx, cancel := context.WithTimeout(w.T.Context(), 20*time.Second)
	defer cancel()
	_, err := w.C.Initialize(ctx, openflow.RoundInfo{RoundNum: former.Round + 1, PrevRoundNum: &former.Round, FormerTables: former.Names()}, oftest.DualStackNode, network)
	require.NoError(w.T, err)
}

// Connections to Services continue when the next agent stops or resumes translating them.
func TestWireConnectionsWithoutAntreaProxy(t *testing.T) {
	eachDatapath(t, testConnectionsWithoutAntreaProxy)
}

func testConnectionsWithoutAntreaProxy(t *testing.T, w *wire) {
	local := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	remote := translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", "10.10.1.20:8080"}
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	w.open(local)
	w.install(oftest.ClusterPort(oftest.ElsewhereEndpoint))
	w.open(remote)
	// Policies have refused this one, which conntrack knows nevertheless.
	require.NoError(t, oftest.Install(oftest.Egress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.9.0/24")))(w.C))
	w.settle()
	const refused = "10.10.0.11:3003"
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	w.swallow(oftest.PodAPort, segment{refused, "10.96.0.10:80", "S"})
	for _, features := range []openflow.Features{{AntreaPolicy: true}, oftest.ProxyAllFeatures} {
		w.successor(features)
		for _, c := range []translated{local, remote} {
			w.use(c)
			w.pass(c.serverPort, segment{c.endpoint, c.source, "A"}, c.clientPort, segment{c.frontend, c.client, "A"})
		}
		w.swallow(oftest.PodBPort, segment{"10.10.0.12:8080", refused, "SA"})
	}
	w.successor(openflow.Features{})
	w.pass(oftest.PodAPort, segment{"10.10.0.11:3004", "10.96.0.10:80", "S"}, oftest.GWPort, segment{"10.10.0.11:3004", "10.96.0.10:80", "S"})
}
