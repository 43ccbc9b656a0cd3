// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

func readyNode(name string, status corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
	}
}

var allocated = v1beta1.EgressCondition{Type: v1beta1.IPAllocated, Status: corev1.ConditionTrue, Reason: "Allocated", Message: "EgressIP is successfully allocated"}

// TestOff: in a traffic mode without Egress the status of each Egress says that it has no effect, also of one that names a Node of the former mode;
// one Node writes it.
func TestOff(t *testing.T) {
	dynamic := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList",
	})
	statuses := map[string]v1beta1.EgressStatus{
		"new": {Conditions: []v1beta1.EgressCondition{allocated}},
		// Its Node is not ready, so that another one writes.
		"former": {EgressNode: "node-3", EgressIP: "192.0.2.9", Conditions: []v1beta1.EgressCondition{
			{Type: v1beta1.IPAssigned, Status: corev1.ConditionTrue, Reason: assigned, Message: assignedMessage}, allocated,
		}},
		"here": {EgressNode: "node-2", EgressIP: "192.0.2.9"},
	}
	for name, status := range statuses {
		egress := crd.New(v1beta1.EgressKind, name)
		require.NoError(t, crd.Fill(egress, &v1beta1.Egress{Spec: v1beta1.EgressSpec{EgressIP: "192.0.2.9"}, Status: status}))
		_, err := dynamic.Resource(crd.Egresses).Create(t.Context(), egress, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	objects, err := crd.NewEgressObjects(dynamic)
	require.NoError(t, err)
	factory := informers.NewSharedInformerFactory(kubefake.NewClientset(readyNode("node-1", corev1.ConditionTrue), readyNode("node-2", corev1.ConditionTrue),
		readyNode("node-3", corev1.ConditionUnknown)), 0)
	for _, name := range []string{"node-1", "node-2"} {
		off, err := NewOff(name, "noEncap", objects.Egresses, factory.Core().V1().Nodes(), dynamic)
		require.NoError(t, err)
		go off.Run(t.Context())
	}
	factory.Start(t.Context().Done())
	go objects.Run(t.Context())
	read := func(name string) *v1beta1.Egress {
		shown, err := dynamic.Resource(crd.Egresses).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		egress, err := crd.Read[v1beta1.Egress](shown)
		require.NoError(t, err)
		return egress
	}
	for name, former := range statuses {
		require.Eventually(t, func() bool { return isOff(read(name)) }, 20*time.Second, 5*time.Millisecond, name)
		e := read(name)
		require.Empty(t, e.Status.EgressNode+e.Status.EgressIP)
		require.Equal(t, corev1.ConditionFalse, e.Status.Conditions[0].Status)
		require.Equal(t, "Failed to assign the IP to EgressNode: Egress needs trafficEncapMode encap without encryption, but is noEncap; packets of its Pods to outside the cluster have the addresses of Nodes",
			e.Status.Conditions[0].Message)
		if len(former.Conditions) > 0 {
			require.Equal(t, allocated.Reason, e.Status.Conditions[1].Reason)
		}
	}
	off := &Off{egresses: objects.Egresses}
	require.Eventually(t, func() bool {
		list, err := off.List()
		return err == nil && len(list) == 3 && list[0].Name == "former" && list[0].State == apis.EgressNoNode && strings.HasPrefix(list[0].Reason, offMessage)
	}, 20*time.Second, 5*time.Millisecond)
	// In encap, a Node without the address ends what the former mode has written.
	status, changed := statusOf(read("former"), &plan{}, &world{local: sets.New[netip.Addr]()}, "node-1", nil)
	require.True(t, changed)
	require.Len(t, status.Conditions, 1)
	c := &Controller{Config: Config{NodeName: "node-1"}, taken: map[string]time.Time{}}
	now := time.Unix(1, 0)
	require.True(t, c.mayTake(read("former"), status, now))
	require.False(t, c.mayTake(read("former"), status, now.Add(time.Second)), "a Node with the former mode may write again at once")
}

// TestOneNodeWrites: of the Nodes that are ready, one writes the status of an Egress: the one that it names, if it is among them.
func TestOneNodeWrites(t *testing.T) {
	nodes := []string{"node-1", "node-2", "node-3"}
	writers := func(name, node string, ready ...string) (found []string) {
		e := &v1beta1.Egress{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1beta1.EgressStatus{EgressNode: node}}
		for _, node := range nodes {
			if (&Off{nodeName: node}).writes(e, ready) {
				found = append(found, node)
			}
		}
		return found
	}
	all := sets.New[string]()
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		found := writers(name, "", nodes...)
		require.Len(t, found, 1)
		all.Insert(found...)
		require.Equal(t, []string{"node-2"}, writers(name, "node-2", nodes...))
		found = writers(name, "node-2", "node-1", "node-3")
		require.Len(t, found, 1)
		require.False(t, slices.Contains(found, "node-2"))
		require.Empty(t, writers(name, "node-2"))
	}
	require.Greater(t, all.Len(), 1, "the work is divided")
	some := []*corev1.Node{readyNode("node-2", corev1.ConditionTrue), readyNode("node-1", corev1.ConditionTrue), readyNode("node-3", corev1.ConditionFalse)}
	require.Equal(t, []string{"node-1", "node-2"}, assign.ReadyNames(some))
	require.Equal(t, []string{"node-3"}, assign.ReadyNames(some[2:]), "none is ready")
}
