// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var tierFeatures = openflow.Features{ONCache: true, AntreaPolicy: true, AntreaProxy: true, ProxyAll: true}

// The pipeline has flows for all that this package makes of policies: each action, the rules that close, Services as peers and targets.
func TestTiersOnTheSwitch(t *testing.T) {
	sw := of.NewFake()
	web := v1beta2.ServiceReference{Namespace: "ns", Name: "web"}
	r := restartWith(t, sw, openflow.RoundInfo{RoundNum: 5}, tierFeatures,
		tierPolicy("allow", 50, 1, "Allow", "a", in(block("192.0.2.0/24"), fromPorts(service("TCP", 80), 1000, 1999))),
		tierPolicy("drop", 50, 2, "Drop", "a", in(everywhere(), icmp(8, 0)), out(everywhere())),
		tierPolicy("reject", 100, 2, "Reject", "a", in(everywhere())), tierPolicy("pass", 60, 2, "Pass", "b", in(everywhere())),
		tierPolicy("baseline", 253, 2, "Drop", "b", in(everywhere())), networkPolicy("k8s", "b", in(block("192.0.2.0/24"))),
		tierPolicy("to", 50, 3, "Drop", "a", out(v1beta2.NetworkPolicyPeer{ToServices: []v1beta2.ServiceReference{web}})),
		tierPolicy("at", 50, 3, "Drop", "svc", in(block("203.0.113.0/24"))), appliedToGroup("svc", v1beta2.GroupMember{Service: &web}),
	)
	r.requireSynced()
	r.requireProblems()
	require.True(t, hasFlow(sw.Flows(), "nw_src=192.0.2.0/24", "conjunction("))
	require.False(t, hasFlow(sw.Flows(), "nw_src=203.0.113.0/24"), "the Service is unknown")

	port := openflow.ServicePort{
		Name: "ns/web:80/TCP", Protocol: corev1.ProtocolTCP, Frontends: []openflow.Frontend{{Address: netip.MustParseAddrPort("10.96.0.1:80")}},
		Cluster: []openflow.Endpoint{{Address: netip.MustParseAddrPort("10.0.1.1:8080"), PodNetwork: true}},
	}
	require.ErrorIs(t, r.pipeline.InstallService(port), openflow.ErrPoliciesBehind)
	require.NoError(t, r.realize())
	require.NoError(t, r.pipeline.InstallService(port))
	r.requireProblems()
	require.True(t, hasFlow(sw.Flows(), "nw_src=203.0.113.0/24"))

	// The tier of an edited policy changes, in one bundle, and with the same ids.
	before := r.Rules()
	r.set(tierPolicy("drop", 200, 7, "Drop", "a", in(everywhere(), icmp(8, 0)), out(everywhere())))
	require.NoError(t, r.realize())
	require.Len(t, r.Rules(), len(before))
	for i, rule := range r.Rules() {
		require.Equal(t, before[i].FlowID, rule.FlowID)
	}

	// The rules that stand for unknown ones precede all others.
	r.update(func(s *state) { s.fellBack(NetworkPolicies, true) })
	require.NoError(t, r.realize())
	r.requireProblems()
	r.set(tierPolicy("first", 0, 0, "Allow", "a", in(everywhere())))
	require.NoError(t, r.realize())
	r.requireProblems()
}

// Pods of policies that find no priority on the switch are closed, however many there are.
func TestPoliciesWithoutPriorityAreClosed(t *testing.T) {
	sw := of.NewFake()
	var objects []any
	for i := range 200 {
		objects = append(objects, tierPolicy(fmt.Sprintf("baseline-%d", i), 253, float64(i), "Drop", "a", in(everywhere()), out(everywhere())))
	}
	r := restartWith(t, sw, openflow.RoundInfo{RoundNum: 5}, tierFeatures, objects...)
	r.requireSynced()
	refused, _ := r.problems.List()
	require.Len(t, refused, 200-169)
	for _, p := range refused {
		require.Contains(t, p.Message, "find no room")
		require.Contains(t, p.Message, "its Pods are isolated on this Node")
	}
	require.True(t, hasFlow(sw.Flows(), "priority=180,", "conjunction("))
}
