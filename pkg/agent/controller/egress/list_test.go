// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestList: each Egress is shown with the Pods that have its address, and with the reason if packets do not leave with it.
func TestList(t *testing.T) {
	w := newTestWorld()
	add := func(name, addr, pool, node string, age int64, pods ...string) *v1beta1.Egress {
		e := makeEgress(name, age, addr)
		e.Spec.ExternalIPPool, e.Spec.AppliedTo.PodSelector, e.Status.EgressNode = pool, &metav1.LabelSelector{}, node
		w.egresses[name], w.groups[name] = e, sets.New[types.NamespacedName]()
		for _, pod := range pods {
			w.groups[name].Insert(podNamed(pod))
		}
		return e
	}
	fail := func(e *v1beta1.Egress, kind v1beta1.EgressConditionType, message string) {
		e.Status.Conditions = append(e.Status.Conditions, v1beta1.EgressCondition{Type: kind, Status: corev1.ConditionFalse, Message: message})
	}
	fail(add("assigned", "192.168.1.1", "p", "node-1", 1, "b", "a"), v1beta1.BandwidthLimited, "no meters")
	add("younger", "192.168.1.2", "p", "node-2", 2, "a", "c")
	add("static", "192.168.1.3", "", "", 3)
	fail(add("unassigned", "192.168.1.4", "p", "", 4), v1beta1.IPAssigned, "no Node available")
	add("soon", "192.168.1.5", "p", "", 5)
	add("refused", "192.168.1.6", "p", "node-1", 6, "d")
	fail(add("full", "", "p", "", 7), v1beta1.IPAllocated, "the pool is full")
	add("unallocated", "", "p", "", 8, "a")
	add("wrong", "192.168.1.300", "", "", 9)
	p := &plan{refused: map[netip.Addr]error{netip.MustParseAddr("192.168.1.6"): errors.New("too many")}}
	want := []apis.Egress{
		{Name: "assigned", EgressIP: "192.168.1.1", ExternalIPPool: "p", EgressNode: "node-1", Pods: []string{"ns/a", "ns/b"}, State: "Assigned", Reason: "no meters"},
		{Name: "full", ExternalIPPool: "p", State: "NoAddress", Reason: "the pool is full"},
		{Name: "refused", EgressIP: "192.168.1.6", ExternalIPPool: "p", EgressNode: "node-1", Pods: []string{"ns/d"}, State: "Refused", Reason: "packets of its Pods to outside the cluster are dropped: too many"},
		{Name: "soon", EgressIP: "192.168.1.5", ExternalIPPool: "p", State: "NoNode", Reason: "no Node has taken the address yet"},
		{Name: "static", EgressIP: "192.168.1.3", State: "NoNode", Reason: "no Node has the address: give it to a device of one (ip address add)"},
		{Name: "unallocated", ExternalIPPool: "p", State: "NoAddress", Reason: "antrea-controller has not allocated an address of ExternalIPPool p yet"},
		{Name: "unassigned", EgressIP: "192.168.1.4", ExternalIPPool: "p", State: "NoNode", Reason: "no Node available"},
		{Name: "wrong", EgressIP: "192.168.1.300", State: "NoAddress", Reason: `spec.egressIP "192.168.1.300" is not an address`},
		{Name: "younger", EgressIP: "192.168.1.2", ExternalIPPool: "p", EgressNode: "node-2", Pods: []string{"ns/c"}, State: "Assigned", Reason: "an older Egress decides for 1 of its Pods here"},
	}
	require.Equal(t, want, w.list(p))
	w.egresses["assigned"].Spec.AppliedTo.PodSelector = nil
	w.stored = true
	require.Equal(t, "no meters; it has no Pods, because spec.appliedTo has no selector; antrea-controller has not named its Pods since the agent started", w.list(p)[0].Reason)
	require.Equal(t, []apis.Egress{}, newTestWorld().list(p))
}
