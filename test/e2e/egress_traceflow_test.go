// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// testTracedEgress: a trace to the outside names the Egress, its address and its Node, on both Nodes if these are not the Pod's.
func testTracedEgress(t *testing.T, s *suite) {
	addr := s.egressAddress(204)
	s.label(t, s.client, map[string]string{"egress": "traced"})
	defer s.label(t, s.client, nil)
	outside := s.askWhoOutside(t)
	remove := addAddress(t, s.node2, addr)
	e := s.createStaticEgress(t, "traced", "traced", addr)
	e.eventuallyOn(t, s.node2, addr)
	s.eventuallySeenAs(t, s.client.Space, outside, addr)
	egressOf := func(r v1beta1.NodeResult) (egress, node, address string) {
		i := slices.IndexFunc(r.Observations, func(o v1beta1.Observation) bool { return o.Component == v1beta1.ComponentEgress })
		require.GreaterOrEqual(t, i, 0, "%+v", r)
		return r.Observations[i].Egress, r.Observations[i].EgressNode, r.Observations[i].EgressIP
	}
	trace := func() traced {
		return s.trace(t, outside.Addr().String(), fmt.Sprintf("tcp,tcp_dst=%d", outside.Port()))
	}

	sender, receiver := s.resultsOf(t, trace())
	require.Contains(t, observed(sender), "SpoofGuard/Forwarded Egress/ForwardedToEgressNode Forwarding/Output/Forwarded")
	require.Contains(t, observed(receiver), "Forwarding/Received Egress/MarkedForSNAT Forwarding/Output/ForwardedOutOfNetwork")
	egress, node, address := egressOf(sender)
	require.Equal(t, []string{"traced", s.node2.Name, addr.String()}, []string{egress, node, address})
	_, _, address = egressOf(receiver)
	require.Equal(t, addr.String(), address)

	remove()
	addAddress(t, s.node1, addr)
	e.eventuallyOn(t, s.node1, addr)
	s.eventuallySeenAs(t, s.client.Space, outside, addr)
	result := trace()
	require.Len(t, result.Results, 1, "%+v", result)
	require.Contains(t, observed(result.Results[0]), "SpoofGuard/Forwarded Egress/MarkedForSNAT Forwarding/Output/ForwardedOutOfNetwork")
	egress, node, address = egressOf(result.Results[0])
	require.Equal(t, []string{"traced", s.node1.Name, addr.String()}, []string{egress, node, address})
}
