// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestRefusedStatus: the Node that has an address, but no mark left for it, says so in the status instead of being the Egress's Node, with or without a
// pool. Once a mark is free it is that Node again.
func TestRefusedStatus(t *testing.T) {
	for _, pool := range []string{"", "pool"} {
		w := newTestWorld()
		w.subnets = map[string]poolSubnet{"pool": {}}
		m := newMarks(nil)
		for i := range maxMark {
			_, err := m.take(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), time.Now())
			require.NoError(t, err)
		}
		take := func(addr netip.Addr) (uint8, error) { return m.take(addr, time.Now()) }
		addr := netip.MustParseAddr("192.168.1.1")
		e := makeEgress("e", 0, addr.String())
		e.Spec.ExternalIPPool = pool
		e.Status = v1beta1.EgressStatus{EgressNode: "here", EgressIP: addr.String()}
		w.egresses["e"] = e
		w.local.Insert(addr)
		p := decide(w, testNetworks, take)
		status, changed := statusOf(e, p, w, "here", nil)
		require.True(t, changed)
		require.Empty(t, status.EgressNode)
		require.Empty(t, status.EgressIP)
		require.Len(t, status.Conditions, 1)
		condition := status.Conditions[0]
		require.Equal(t, []any{v1beta1.IPAssigned, corev1.ConditionFalse, "AssignmentError"}, []any{condition.Type, condition.Status, condition.Reason})
		require.Regexp(t, "^Failed to assign the IP to EgressNode: the Node has 254 Egress addresses, .*; packets of its Pods to outside the cluster are dropped$", condition.Message)
		e.Status = status
		_, changed = statusOf(e, p, w, "here", nil)
		require.False(t, changed, "it is written once")
		_, changed = statusOf(e, decide(newTestWorld(), testNetworks, take), newTestWorld(), "there", nil)
		require.False(t, changed, "another Node leaves it alone")

		m.giveUp(netip.MustParseAddr("10.1.0.9"), time.Now().Add(-markRest))
		status, changed = statusOf(e, decide(w, testNetworks, take), w, "here", nil)
		require.True(t, changed)
		require.Equal(t, "here", status.EgressNode)
		require.Equal(t, addr.String(), status.EgressIP)
		if pool == "" {
			require.Empty(t, status.Conditions, "as in Antrea")
			continue
		}
		require.Len(t, status.Conditions, 1)
		require.Equal(t, []any{corev1.ConditionTrue, assigned, assignedMessage}, []any{status.Conditions[0].Status, status.Conditions[0].Reason, status.Conditions[0].Message})
	}
}

// TestStatusOfOthers: a Node without the address, that has not had it either, writes nothing unless it is the one that reports why no Node has it. It keeps
// the time of a condition that only gets another message, and the conditions of others.
func TestStatusOfOthers(t *testing.T) {
	w := newTestWorld()
	p := decide(w, testNetworks, func(netip.Addr) (uint8, error) { return 1, nil })
	since := metav1.NewTime(time.Unix(1000, 0))
	e := makeEgress("e", 0, "192.168.1.1")
	e.Spec.ExternalIPPool = "pool"
	e.Status.Conditions = []v1beta1.EgressCondition{
		{Type: v1beta1.IPAssigned, Status: corev1.ConditionFalse, Reason: assignmentError, Message: "former", LastTransitionTime: since},
		{Type: v1beta1.IPAllocated, Status: corev1.ConditionTrue},
	}
	_, changed := statusOf(e, p, w, "here", nil)
	require.False(t, changed)
	status, changed := statusOf(e, p, w, "here", errors.New("no Node available"))
	require.True(t, changed)
	require.Len(t, status.Conditions, 2)
	require.Equal(t, "Failed to assign the IP to EgressNode: no Node available", status.Conditions[0].Message)
	require.Equal(t, since, status.Conditions[0].LastTransitionTime)
	require.Equal(t, v1beta1.IPAllocated, status.Conditions[1].Type)

	e.Status = v1beta1.EgressStatus{EgressNode: "there", EgressIP: "192.168.1.1"}
	_, changed = statusOf(e, p, w, "here", nil)
	require.False(t, changed)
	status, changed = statusOf(e, p, w, "there", nil)
	require.True(t, changed, "the Node that had the address ends it")
	require.Empty(t, status.EgressNode)
}
