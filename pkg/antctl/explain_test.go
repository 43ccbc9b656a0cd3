// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

func TestExplanationTable(t *testing.T) {
	e := api.Explanation{
		From: api.ExplainedPod{Pod: "ns1/a", IP: "10.0.0.1", Local: true}, To: api.ExplainedPod{Pod: "ns2/b", IP: "10.0.1.1"},
		Protocol: "TCP", Port: 80, Treatment: api.Treatment{Path: api.PathFast, Reason: "active"}, LeaseSeconds: 5,
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
	require.Equal(t, "rejected by rule no-web (9) of AntreaClusterNetworkPolicy:a, tier securityops (100)",
		verdictText(&api.ExplainedVerdict{FlowID: 9, Policy: "AntreaClusterNetworkPolicy:a", Rule: "no-web", Tier: ptr.To[int32](100), Action: "Reject"}))
	require.Equal(t, "denied by rule no-web (9) of AntreaNetworkPolicy:ns/a, tier 12",
		verdictText(&api.ExplainedVerdict{FlowID: 9, Policy: "AntreaNetworkPolicy:ns/a", Rule: "no-web", Tier: ptr.To[int32](12), Action: "Drop"}))
	require.Equal(t, "denied: no rule of ns1/np, ns1/other allows it", verdictText(&api.ExplainedVerdict{Isolated: true, AppliedTo: []string{"ns1/np", "ns1/other"}}))
	require.Equal(t, "allowed: no policy decides about it", verdictText(&api.ExplainedVerdict{Allowed: true}))
	require.Equal(t, "denied: no rule of ns1/np allows it, after Pass by rule on (3) of AntreaNetworkPolicy:ns1/a, tier securityops (100)",
		verdictText(&api.ExplainedVerdict{Isolated: true, AppliedTo: []string{"ns1/np"}, PassedBy: &api.ExplainedRule{FlowID: 3, Policy: "AntreaNetworkPolicy:ns1/a", Rule: "on", Tier: ptr.To[int32](100)}}))
}

func TestExplanationOfService(t *testing.T) {
	e := api.Explanation{
		From: api.ExplainedPod{Pod: "shop/web-0", IP: "10.10.1.5", Local: true}, To: api.ExplainedPod{IP: "10.96.4.1"}, Protocol: "TCP", Port: 5432,
		Treatment: api.Treatment{Path: api.PathFast, Reason: "active"}, LeaseSeconds: 5,
		Service: &api.ExplainedService{
			Service: "shop/db", Address: "10.96.4.1:5432",
			Endpoints: []api.ExplainedEndpoint{
				{Address: "10.10.1.7:5432", Pod: "shop/db-0", Treatment: api.Treatment{Path: api.PathSlow, Reason: "same_node", Detail: "the other Pod, on this Node: bandwidth annotations"}},
				{Address: "10.10.2.17:5432", Node: "node-2", Treatment: api.Treatment{Path: api.PathFast, Reason: "active"},
					Egress: &api.ExplainedVerdict{Allowed: true, Isolated: true, FlowID: 7, Policy: "shop/np"}},
				{Address: "192.168.77.9:5432", Treatment: api.Treatment{Path: api.PathSlow, Reason: "outside"}},
			},
			Connections: []api.ExplainedConnection{
				{Client: "10.10.1.5:40122", Endpoint: "10.10.2.17:5432", Treatment: api.Treatment{Path: api.PathFast, Reason: "active"}, Flows: []api.FlowInfo{
					{Direction: "ingress", Source: "10.10.2.17:5432", Destination: "10.10.1.5:40122", Translated: "10.96.4.1:5432", SourceTranslated: true, State: "active",
						Packets: 81233, Bytes: 117301120, LeaseSeconds: 3.2, AgeSeconds: 812},
					{Direction: "egress", Source: "10.10.1.5:40122", Destination: "10.96.4.1:5432", Translated: "10.10.2.17:5432", State: "active",
						Packets: 40519, Bytes: 3970862, LeaseSeconds: 1.7, AgeSeconds: 812},
				}},
				{Client: "10.10.1.5:40130", Endpoint: "10.10.1.7:5432", Treatment: api.Treatment{Path: api.PathSlow, Reason: "same_node", Detail: "the other Pod, on this Node: bandwidth annotations"}},
			},
		},
	}
	want := `ITEM                                         ANSWER
connection                                   TCP shop/web-0 (10.10.1.5) to Service shop/db (10.96.4.1) port 5432
path                                         fast
reason                                       active
lease                                        5s
Endpoint 10.10.1.7:5432                      Pod shop/db-0 on this Node: slow, same_node (the other Pod, on this Node: bandwidth annotations)
Endpoint 10.10.2.17:5432                     on Node node-2: fast
  egress policy                              allowed by rule 7 of shop/np
Endpoint 192.168.77.9:5432                   not a known Pod: slow, outside
open from 10.10.1.5:40122                    to 10.10.2.17:5432: fast
  ingress 10.10.2.17:5432 to 10.10.1.5:40122 active, source becomes 10.96.4.1:5432, age 13m32s, lease 3.2s, 81233 packets, 117301120 bytes
  egress 10.10.1.5:40122 to 10.96.4.1:5432   active, destination becomes 10.10.2.17:5432, age 13m32s, lease 1.7s, 40519 packets, 3970862 bytes
open from 10.10.1.5:40130                    to 10.10.1.7:5432: slow, same_node (the other Pod, on this Node: bandwidth annotations)
`
	require.Equal(t, want, explanationTable(e).String())

	e.Service = &api.ExplainedService{Address: "10.96.4.1:5432"}
	e.Treatment = api.Treatment{Path: api.PathSlow, Reason: "kube_proxy", Detail: "AntreaProxy is off"}
	require.Equal(t, [][]string{
		{"connection", "TCP shop/web-0 (10.10.1.5) to 10.96.4.1 port 5432"},
		{"path", "slow"},
		{"reason", "kube_proxy (AntreaProxy is off)"},
		{"lease", "5s"},
	}, explanationTable(e).Rows)
}

// A Service with very many Endpoints and connections does not flood the terminal.
func TestExplanationOfLargeService(t *testing.T) {
	s := &api.ExplainedService{Service: "ns/large", Endpoints: make([]api.ExplainedEndpoint, 800), Connections: make([]api.ExplainedConnection, 11)}
	rows := explanationTable(api.Explanation{Service: s}).Rows
	require.Contains(t, rows, []string{"more Endpoints", "790"})
	require.Equal(t, []string{"more connections", "1"}, rows[len(rows)-1])
	require.Len(t, rows, 3+11+11)
}
