// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// TestOneConnectionToAService: a source port selects the connection; one that does not exist is not there.
func TestOneConnectionToAService(t *testing.T) {
	test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint}, tracked: []*conntrack.Connection{tracked(remoteEndpoint, podToService, true)},
		flows: serviceFlows("active")}
	for port, connections := range map[uint16]int{0: 1, 4000: 1, 4001: 0} {
		answer, err := explainerOf(&test).Explain(t.Context(), Question{From: "10.0.0.1", SourcePort: port, To: "10.96.0.1", Protocol: "TCP", Port: 80})
		require.NoError(t, err)
		require.Equal(t, "ns/web", answer.Service.Service)
		require.Equal(t, "ns/here", answer.From.Pod)
		require.Len(t, answer.Service.Connections, connections, "port %d", port)
	}
}

// TestOutsideAddress: policies decide about an untranslated address as it is.
func TestOutsideAddress(t *testing.T) {
	for _, c := range []struct {
		peers []string
		path  string
	}{{[]string{"203.0.113.0/24"}, "slow"}, {nil, "denied"}} {
		test := serviceTest{endpoints: []openflow.Endpoint{remoteEndpoint}, rules: fakePolicies{rule(policy.Egress, c.peers...)}}
		answer, err := explainerOf(&test).Explain(t.Context(), Question{From: "ns/here", To: "203.0.113.9", Protocol: "UDP", Port: 53})
		require.NoError(t, err)
		require.Equal(t, c.path, answer.Path)
		require.Equal(t, len(c.peers) > 0, answer.Egress.Allowed)
		require.Equal(t, []string{"ns/np"}, answer.Egress.AppliedTo)
		require.Nil(t, answer.Ingress)
	}
}
