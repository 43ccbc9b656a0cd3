// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

func TestExplanationTable(t *testing.T) {
	e := api.Explanation{
		From: api.ExplainedPod{Pod: "ns1/a", IP: "10.0.0.1", Local: true}, To: api.ExplainedPod{Pod: "ns2/b", IP: "10.0.1.1"},
		Protocol: "TCP", Port: 80, Path: api.PathFast, Reason: "active", LeaseSeconds: 5,
		Egress: &api.ExplainedVerdict{Allowed: true, Isolated: true, FlowID: 7, Policy: "ns1/np"},
		Flows: []api.FlowInfo{{
			Direction: "egress", Source: "10.0.0.1:4000", Destination: "10.0.1.1:80", State: "active", Packets: 3, Bytes: 300, LeaseSeconds: 2, AgeSeconds: 61,
		}},
	}
	require.Equal(t, [][]string{
		{"connection", "TCP ns1/a (10.0.0.1) to ns2/b (10.0.1.1) port 80"},
		{"path", "fast"},
		{"reason", "active"},
		{"egress policy", "allowed by rule 7 of ns1/np"},
		{"ingress policy", "decided on the other Node"},
		{"lease", "5s"},
		{"egress 10.0.0.1:4000 to 10.0.1.1:80", "active, age 1m1s, lease 2s, 3 packets, 300 bytes"},
	}, explanationTable(e).Rows)
	require.Equal(t, "denied: no rule of ns1/np, ns1/other allows it", verdictText(&api.ExplainedVerdict{Isolated: true, AppliedTo: []string{"ns1/np", "ns1/other"}}))
	require.Equal(t, "allowed: no policy is applied to the Pod", verdictText(&api.ExplainedVerdict{Allowed: true}))
}
