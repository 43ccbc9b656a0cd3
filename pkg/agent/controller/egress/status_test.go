// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
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

// reporter is a Node with a reason why no Node has the address of an Egress.
type reporter struct {
	c      *Controller
	reason error
}

func newReporter(node string, reason error) reporter {
	return reporter{&Controller{Config: Config{NodeName: node}, taken: map[string]time.Time{}}, reason}
}

// writes lets reporters look at the Egress in turn, for ten rounds, and returns the number of statuses that they wrote. Rounds are pause apart.
func writes(t *testing.T, e *v1beta1.Egress, pause time.Duration, reporters ...reporter) (count int) {
	w, now := newTestWorld(), time.Unix(1000, 0)
	p := decide(w, testNetworks, func(netip.Addr) (uint8, error) { return 1, nil })
	for range 10 {
		for _, r := range reporters {
			if status, changed := statusOf(e, p, w, r.c.NodeName, r.reason); changed && r.c.mayTake(e, status, now) {
				e.Status = status
				count++
				t.Logf("%s: %s writes %q", now.UTC().Format(time.TimeOnly), r.c.NodeName, unassigned(status))
			}
		}
		now = now.Add(pause)
	}
	return count
}

// TestTwoReporters: a Node that does not know the members never writes over one that does, but over its own reason, and over the reason of another Node that does not
// know them. Two Nodes that know, each in its part of a divided network, write over each other now and then only.
func TestTwoReporters(t *testing.T) {
	unknown := func(node, cause string) reporter {
		return newReporter(node, fmt.Errorf("the agent of Node %s %w: %s", node, assign.ErrMembersUnknown, cause))
	}
	pooled := func() *v1beta1.Egress {
		e := makeEgress("e", 0, "192.168.1.1")
		e.Spec.ExternalIPPool = "pool"
		return e
	}
	knows := func() reporter { return newReporter("knows", memberlist.ErrNoNode) }
	const rests = 2 * takeInterval
	for _, order := range [][]reporter{{knows(), unknown("a", "no key")}, {unknown("a", "no key"), knows()}} {
		e := pooled()
		require.LessOrEqual(t, writes(t, e, rests, order...), 2)
		require.Equal(t, "Failed to assign the IP to EgressNode: no Node available", unassigned(e.Status))
	}

	e := pooled()
	require.Equal(t, 1, writes(t, e, rests, unknown("a", "no key")))
	require.Equal(t, 1, writes(t, e, rests, unknown("a", "the port is taken")))
	require.Equal(t, 1, writes(t, e, rests, unknown("b", "the port is taken")))
	require.Equal(t, "Failed to assign the IP to EgressNode: the agent of Node b does not know which Nodes are alive: the port is taken", unassigned(e.Status))
	require.Equal(t, 1, writes(t, e, rests, knows()))

	owner := func() reporter { return newReporter("owner", errors.New("192.168.1.1 is a next hop of the Node")) }
	require.LessOrEqual(t, writes(t, pooled(), takeInterval/20, knows(), owner()), 3)
	require.Greater(t, writes(t, pooled(), rests, knows(), owner()), 3, "they do not give up")
}
