// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

const patience = 60 * time.Second

type fakeStore struct{}

func (fakeStore) Counts() (policies, addressGroups, appliedToGroups int) { return 3, 2, 1 }
func (fakeStore) ConnectedNodes() int                                    { return 7 }

func node(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func newMonitor(kube *fake.Clientset, objects ...runtime.Object) (*Monitor, *dynamicfake.FakeDynamicClient) {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		crd.AgentInfos: v1beta1.AntreaAgentInfoKind + "List", crd.ControllerInfos: v1beta1.AntreaControllerInfoKind + "List",
	}, objects...)
	return &Monitor{
		Kube: kube, Dynamic: client, Serving: func() error { return nil },
		Querier: &Querier{Namespace: "kube-system", PodName: "p", NodeName: "n", APIPort: 10349, Store: fakeStore{}},
	}, client
}

func TestPlan(t *testing.T) {
	n := newNodes()
	require.False(t, n.known())
	n.setObjects([]string{"a", "gone"})
	for _, name := range []string{"b", "a", "c"} {
		n.nodeAdded(name)
	}
	create, remove := n.plan()
	require.Equal(t, []string{"b", "c"}, create)
	require.Equal(t, []string{"gone"}, remove)
	n.created("b")
	n.deleted("gone")
	n.nodeDeleted("a")
	create, remove = n.plan()
	require.Equal(t, []string{"c"}, create)
	require.Equal(t, []string{"a"}, remove)
	require.True(t, n.known())
	n.forget()
	require.False(t, n.known())
}

// TestObjectsFollowNodes: there is exactly one AntreaAgentInfo for each Node; the agents' content stays.
func TestObjectsFollowNodes(t *testing.T) {
	written := crd.New(v1beta1.AntreaAgentInfoKind, "n1")
	written.Object["version"] = "v1"
	kube := fake.NewClientset(node("n1"), node("n2"))
	m, client := newMonitor(kube, written, crd.New(v1beta1.AntreaAgentInfoKind, "gone"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	requireObjects := func(want ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			list, err := client.Resource(crd.AgentInfos).List(ctx, metav1.ListOptions{})
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].GetName())
			}
			slices.Sort(names)
			return err == nil && slices.Equal(names, want)
		}, patience, 10*time.Millisecond)
	}
	requireObjects("n1", "n2")
	_, err := kube.CoreV1().Nodes().Create(ctx, node("n3"), metav1.CreateOptions{})
	require.NoError(t, err)
	requireObjects("n1", "n2", "n3")
	require.NoError(t, kube.CoreV1().Nodes().Delete(ctx, "n2", metav1.DeleteOptions{}))
	requireObjects("n1", "n3")
	kept, err := client.Resource(crd.AgentInfos).Get(ctx, "n1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "v1", kept.Object["version"])
	cancel()
	<-done
}

func TestControllerInfo(t *testing.T) {
	m, client := newMonitor(fake.NewClientset())
	for range 2 { // made, then updated
		require.NoError(t, m.writeController(t.Context()))
		got, err := client.Resource(crd.ControllerInfos).Get(t.Context(), "antrea-controller", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, int64(7), got.Object["connectedAgentNum"])
		require.Equal(t, int64(10349), got.Object["apiPort"])
		require.Equal(t, map[string]any{"networkPolicyNum": int64(3), "addressGroupNum": int64(2), "appliedToGroupNum": int64(1)}, got.Object["networkPolicyControllerInfo"])
		require.Equal(t, map[string]any{"kind": "Service", "namespace": "kube-system", "name": "antrea"}, got.Object["serviceRef"])
		require.Equal(t, map[string]any{"kind": "Node", "name": "n"}, got.Object["nodeRef"])
		condition := got.Object["controllerConditions"].([]any)[0].(map[string]any)
		require.Equal(t, "ControllerHealthy", condition["type"])
		require.Equal(t, "True", condition["status"])
	}
}

// TestRefusedObject: a refused object does not prevent the creation or deletion of others. If the API refuses all of
// them, it is not asked for each.
func TestRefusedObject(t *testing.T) {
	m, client := newMonitor(fake.NewClientset(), crd.New(v1beta1.AntreaAgentInfoKind, "gone"))
	m.nodes = newNodes()
	refused := 0
	client.PrependReactor("create", "antreaagentinfos", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.CreateActionImpl).Object.(metav1.Object).GetName()
		if !strings.HasPrefix(name, "bad") {
			return false, nil, nil
		}
		refused++
		return true, nil, errors.New("refused")
	})
	m.nodes.nodeAdded("bad")
	m.nodes.nodeAdded("good")
	require.EqualError(t, m.syncAgents(t.Context()), "creating AntreaAgentInfo bad: refused")
	names, err := m.listAgents(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"good"}, names)
	require.False(t, m.nodes.known(), "the next attempt begins with a list")

	for i := range 100 {
		m.nodes.nodeAdded(fmt.Sprintf("bad%d", i))
	}
	refused = 0
	require.Error(t, m.syncAgents(t.Context()))
	require.Equal(t, toleratedFailures, refused)
}

func TestNoCRD(t *testing.T) {
	m, client := newMonitor(fake.NewClientset(node("n1")))
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), "")
	})
	m.nodes = newNodes()
	require.ErrorContains(t, m.syncAgents(t.Context()), "the CRD antreaagentinfos.crd.antrea.io is not installed")
	require.False(t, m.nodes.known())
	require.ErrorContains(t, m.writeController(t.Context()), "the CRD antreacontrollerinfos.crd.antrea.io is not installed")
}
