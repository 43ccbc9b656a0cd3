// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// statusFixture is a controller with the objects of a Kubernetes API, which it reads and whose status it writes.
type statusFixture struct {
	t       *testing.T
	client  *dynamicfake.FakeDynamicClient
	kube    *fake.Clientset
	store   *Store
	serving atomic.Bool
}

var crdKinds = map[schema.GroupVersionResource]string{
	crd.ClusterNetworkPolicies: "ClusterNetworkPolicyList", crd.NetworkPolicies: "NetworkPolicyList", crd.Tiers: "TierList",
	crd.ClusterGroups: "ClusterGroupList", crd.Groups: "GroupList", crd.AdminNetworkPolicies: "AdminNetworkPolicyList",
	crd.BaselineAdminNetworkPolicies: "BaselineAdminNetworkPolicyList", crd.K8sClusterNetworkPolicies: "ClusterNetworkPolicyList",
}

func startStatus(t *testing.T, objects ...runtime.Object) *statusFixture {
	f := &statusFixture{
		t: t, client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), crdKinds),
		kube: fake.NewClientset(objects...), store: NewStore(),
	}
	f.serving.Store(true)
	return f
}

// run starts controllers, which end with the test.
func (f *statusFixture) run() {
	f.t.Helper()
	objects, err := crd.NewPolicies(f.client)
	require.NoError(f.t, err)
	controller, err := NewController(f.kube, f.store)
	require.NoError(f.t, err)
	require.NoError(f.t, controller.FollowAntrea(objects))
	admin, err := crd.NewAdminPolicies(f.client, true, true)
	require.NoError(f.t, err)
	require.NoError(f.t, controller.FollowAdmin(admin))
	serving := func() error {
		if f.serving.Load() {
			return nil
		}
		return errStandby
	}
	statuses, err := NewStatusController(f.store, f.client, objects, admin, serving, controller.Synced())
	require.NoError(f.t, err)
	done := make(chan struct{}, 4)
	for _, run := range []func(){
		func() { objects.Run(f.t.Context()) }, func() { admin.Run(f.t.Context()) }, func() { controller.Run(f.t.Context()) }, func() { statuses.Run(f.t.Context()) },
	} {
		go func() { run(); done <- struct{}{} }()
	}
	f.t.Cleanup(func() {
		for range 4 {
			<-done
		}
	})
	<-controller.Synced()
}

var errStandby = errors.New("another controller serves")

func (f *statusFixture) create(text string) {
	f.t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(f.t, yaml.Unmarshal([]byte(text), u))
	u.SetAPIVersion(f.resource(u.GetKind()).GroupVersion().String())
	u.SetUID(types.UID("uid-" + u.GetName()))
	u.SetGeneration(1)
	_, err := f.client.Resource(f.resource(u.GetKind())).Namespace(u.GetNamespace()).Create(f.t.Context(), u, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *statusFixture) resource(kind string) schema.GroupVersionResource {
	for resource, list := range crdKinds {
		if list == kind+"List" && resource != crd.K8sClusterNetworkPolicies { // Antrea has such a kind.
			return resource
		}
	}
	f.t.Fatal(kind)
	return schema.GroupVersionResource{}
}

// has waits until the status of a policy is as described: phase, generation, current/desired Nodes, conditions.
func (f *statusFixture) has(kind, namespace, name string, want v1beta1.NetworkPolicyStatus) {
	f.t.Helper()
	var got v1beta1.NetworkPolicyStatus
	policies := f.client.Resource(f.resource(kind)).Namespace(namespace)
	require.Eventually(f.t, func() bool {
		u, err := policies.Get(f.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		policy, _ := crd.ReadParts[v1beta1.ClusterNetworkPolicy](u) // Some specs are in doubt.
		got = policy.Status
		for i := range got.Conditions {
			if got.Conditions[i].LastTransitionTime.IsZero() {
				return false
			}
		}
		return sameStatus(&want, &got)
	}, 30*time.Second, time.Millisecond, "want %+v, got %+v", &want, &got)
}

var realizable = v1beta1.NetworkPolicyCondition{Type: v1beta1.NetworkPolicyConditionRealizable, Status: metav1.ConditionTrue}

func status(phase v1beta1.NetworkPolicyPhase, current, desired int32, conditions ...v1beta1.NetworkPolicyCondition) v1beta1.NetworkPolicyStatus {
	if conditions == nil {
		conditions = []v1beta1.NetworkPolicyCondition{realizable}
	}
	return v1beta1.NetworkPolicyStatus{Phase: phase, ObservedGeneration: 1, CurrentNodesRealized: current, DesiredNodesRealized: desired, Conditions: conditions}
}

func report(node string, generation int64) controlplane.NetworkPolicyNodeStatus {
	return controlplane.NetworkPolicyNodeStatus{NodeName: node, Generation: generation}
}

const webPolicy = `{kind: ClusterNetworkPolicy, metadata: {name: web}, spec: {priority: 5, tier: emergency,
appliedTo: [{podSelector: {matchLabels: {app: web}}}], ingress: [{action: Drop, name: r}]}}`

// TestStatus: reports of Nodes become the status, which survives foreign writers and a takeover.
func TestStatus(t *testing.T) {
	f := startStatus(t, makeNamespace("ns", ""), makePod("ns/a", "app=web", "node-1", "10.0.0.1"), makePod("ns/b", "app=web", "node-2", "10.0.0.2"))
	f.create(webPolicy)
	f.create(`{kind: NetworkPolicy, metadata: {name: none, namespace: ns}, spec: {priority: 5, appliedTo: [{podSelector: {matchLabels: {app: none}}}]}}`)
	f.run()
	f.has("NetworkPolicy", "ns", "none", status(v1beta1.NetworkPolicyRealized, 0, 0))
	f.has("ClusterNetworkPolicy", "", "web", status(v1beta1.NetworkPolicyRealizing, 0, 2))
	require.False(t, f.store.Report("unknown", nil))
	tell := func(reports ...controlplane.NetworkPolicyNodeStatus) {
		require.True(t, f.store.Report("uid-web", reports))
	}
	tell(report("node-1", 1), report("node-3", 1))
	f.has("ClusterNetworkPolicy", "", "web", status(v1beta1.NetworkPolicyRealizing, 1, 2))
	tell(controlplane.NetworkPolicyNodeStatus{NodeName: "node-2", Generation: 1, RealizationFailure: true, Message: strings.Repeat("x", 300)})
	failed := v1beta1.NetworkPolicyCondition{
		Type: v1beta1.NetworkPolicyConditionRealizationFailure, Status: metav1.ConditionTrue, Reason: "NetworkPolicyRealizationFailedOnNode",
		Message: `Failed Nodes count 1: "node-2":"` + strings.Repeat("x", 256-32) + "...",
	}
	f.has("ClusterNetworkPolicy", "", "web", status(v1beta1.NetworkPolicyFailed, 1, 2, realizable, failed))
	began := time.Now()
	tell(report("node-2", 1))
	realized := status(v1beta1.NetworkPolicyRealized, 2, 2)
	f.has("ClusterNetworkPolicy", "", "web", realized)
	t.Logf("from the last report to Realized: %v", time.Since(began))

	_, err := f.client.Resource(crd.ClusterNetworkPolicies).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status": {"phase": "Failed"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	f.has("ClusterNetworkPolicy", "", "web", realized)

	require.NoError(t, f.kube.CoreV1().Pods("ns").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	f.has("ClusterNetworkPolicy", "", "web", status(v1beta1.NetworkPolicyRealized, 1, 1))
	_, err = f.kube.CoreV1().Pods("ns").Create(t.Context(), makePod("ns/b", "app=web", "node-2", "10.0.0.2"), metav1.CreateOptions{})
	require.NoError(t, err)
	f.has("ClusterNetworkPolicy", "", "web", status(v1beta1.NetworkPolicyRealizing, 1, 2))
}

// TestStatusAfterTakeover: a Realized policy is not called Realizing while agents have had no time to report again.
func TestStatusAfterTakeover(t *testing.T) {
	statusGrace = 300 * time.Millisecond
	t.Cleanup(func() { statusGrace = 10 * time.Second })
	f := startStatus(t, makeNamespace("ns", ""), makePod("ns/a", "app=web", "node-1", "10.0.0.1"))
	f.create(webPolicy)
	realized := status(v1beta1.NetworkPolicyRealized, 1, 1)
	patch := `{"status": {"phase": "Realized", "observedGeneration": 1, "currentNodesRealized": 1, "desiredNodesRealized": 1,
"conditions": [{"type": "Realizable", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`
	_, err := f.client.Resource(crd.ClusterNetworkPolicies).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	f.serving.Store(false)
	f.run()
	require.True(t, f.store.Report("uid-web", []controlplane.NetworkPolicyNodeStatus{report("node-1", 0)}))
	f.has("ClusterNetworkPolicy", "", "web", realized)
	f.serving.Store(true)
	f.has("ClusterNetworkPolicy", "", "web", status(v1beta1.NetworkPolicyRealizing, 0, 1))
	require.True(t, f.store.Report("uid-web", []controlplane.NetworkPolicyNodeStatus{report("node-1", 1)}))
	f.has("ClusterNetworkPolicy", "", "web", realized)
}

// TestStatusOfWhatCannotBeRealized: unsupported fields, groups with foreign Pods and unreadable objects are named.
func TestStatusOfWhatCannotBeRealized(t *testing.T) {
	f := startStatus(t, makeNamespace("ns", ""), makeNamespace("other", "x=y"), makePod("ns/a", "app=web", "node-1", "10.0.0.1"))
	f.run()
	f.create(`{kind: ClusterNetworkPolicy, metadata: {name: l7}, spec: {priority: 5, appliedTo: [{podSelector: {matchLabels: {app: web}}}],
ingress: [{action: Allow, name: r, l7Protocols: [{http: {}}]}]}}`)
	unsupported := v1beta1.NetworkPolicyCondition{
		Type: v1beta1.NetworkPolicyConditionRealizable, Status: metav1.ConditionFalse, Reason: "NetworkPolicyUnsupported",
		Message: "spec.ingress[0].l7Protocols: is not supported: the rule is taken for Drop",
	}
	f.has("ClusterNetworkPolicy", "", "l7", status(v1beta1.NetworkPolicyPending, 0, 1, unsupported))
	f.create(`{kind: ClusterNetworkPolicy, metadata: {name: unknown}, spec: {priority: 5, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, name: r, form: x}]}}`)
	unknown := unsupported
	unknown.Message = `spec.ingress[0]: strict decoding error: unknown field "spec.ingress[0].form"`
	f.has("ClusterNetworkPolicy", "", "unknown", status(v1beta1.NetworkPolicyPending, 0, 1, unknown))

	f.create(`{kind: ClusterNetworkPolicy, metadata: {name: unreadable}, spec: {priority: high, appliedTo: [{podSelector: {}}]}}`)
	unreadable := unsupported
	require.Eventually(t, func() bool {
		status, found := f.store.PolicyStatus(types.NamespacedName{Name: "unreadable"})
		if found {
			unreadable = status.Conditions[0]
		}
		return found
	}, 30*time.Second, time.Millisecond)
	require.Contains(t, unreadable.Message, "spec.priority: ")
	f.has("ClusterNetworkPolicy", "", "unreadable", status(v1beta1.NetworkPolicyPending, 0, 1, unreadable))
	stored, err := f.client.Resource(crd.ClusterNetworkPolicies).Get(t.Context(), "unreadable", metav1.GetOptions{})
	require.NoError(t, err)
	next, _ := (&StatusController{store: f.store}).nextOfClusterPolicy(types.NamespacedName{Name: "unreadable"}, stored)
	require.Nil(t, next, "a status that is right is not written again")

	f.create(`{kind: Group, metadata: {name: g, namespace: ns}, spec: {namespaceSelector: {}}}`)
	f.create(`{kind: Group, metadata: {name: parent, namespace: ns}, spec: {childGroups: [g]}}`)
	f.create(`{kind: NetworkPolicy, metadata: {name: p, namespace: ns}, spec: {priority: 5, appliedTo: [{group: parent}], ingress: [{action: Drop, name: r}]}}`)
	f.has("NetworkPolicy", "ns", "p", status(v1beta1.NetworkPolicyRealizing, 0, 1))
	_, err = f.kube.CoreV1().Pods("other").Create(t.Context(), makePod("other/b", "", "node-2", "10.0.0.2"), metav1.CreateOptions{})
	require.NoError(t, err)
	foreign := unsupported
	foreign.Reason, foreign.Message = "NetworkPolicyAppliedToUnsupportedGroup", "Group ns/parent with Pods in other Namespaces can not be used as AppliedTo"
	f.has("NetworkPolicy", "ns", "p", status(v1beta1.NetworkPolicyPending, 0, 0, foreign))
	objects, _ := f.store.List(AppliedToGroups, Selection{Name: "ns/parent"})
	require.Len(t, objects, 1, "it still applies to the Pods of its own Namespace")
	require.Equal(t, []string{"ns/a"}, memberTexts(objects[0].(*controlplane.AppliedToGroup).GroupMembers))
	require.NoError(t, f.kube.CoreV1().Pods("other").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	f.has("NetworkPolicy", "ns", "p", status(v1beta1.NetworkPolicyRealizing, 0, 1))
}

// TestStatusOfGroups: a group is computed when all its children are.
func TestStatusOfGroups(t *testing.T) {
	f := startStatus(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	f.run()
	computed := func(name string, want metav1.ConditionStatus, reason string) {
		t.Helper()
		require.Eventually(t, func() bool {
			u, err := f.client.Resource(crd.ClusterGroups).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return false
			}
			group, err := crd.Read[v1beta1.ClusterGroup](u)
			if err != nil {
				return false
			}
			c := group.Status.Conditions
			return len(c) == 1 && c[0].Type == v1beta1.GroupMembersComputed && c[0].Status == want && c[0].Reason == reason
		}, 30*time.Second, time.Millisecond)
	}
	f.create(`{kind: ClusterGroup, metadata: {name: parent}, spec: {childGroups: [a, b]}}`)
	f.create(`{kind: ClusterGroup, metadata: {name: a}, spec: {podSelector: {}}}`)
	computed("a", metav1.ConditionTrue, "")
	computed("parent", metav1.ConditionFalse, "ChildGroupsNotComputed")
	f.create(`{kind: ClusterGroup, metadata: {name: b}, spec: {ipBlocks: [{cidr: 10.0.0.0/8}]}}`)
	computed("parent", metav1.ConditionTrue, "")
	f.create(`{kind: ClusterGroup, metadata: {name: self}, spec: {childGroups: [self]}}`)
	computed("self", metav1.ConditionFalse, "ChildGroupsNestingExceeded")
	f.create(`{kind: ClusterGroup, metadata: {name: outside}, spec: {externalEntitySelector: {}}}`)
	computed("outside", metav1.ConditionFalse, "GroupUnsupported")
}
