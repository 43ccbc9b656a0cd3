// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// lockedHost may be read while the controller works.
type lockedHost struct {
	mu            sync.Mutex
	rules, former []route.PodPort
}

func (h *lockedHost) FormerPodPorts() []route.PodPort { return h.former }

func (h *lockedHost) SetPodPorts(_ context.Context, ports []route.PodPort) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = ports
	return nil
}

func (h *lockedHost) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.rules)
}

func interfaceOf(name string, addr string) *interfacestore.InterfaceConfig {
	return &interfacestore.InterfaceConfig{
		Type: interfacestore.ContainerInterface, InterfaceName: name + "-eth", IPs: []netip.Addr{netip.MustParseAddr(addr)},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodName: name, PodNamespace: "ns", ContainerID: name},
	}
}

// runController starts a controller, and returns it with a function that reads a Pod's annotation.
func runController(t *testing.T, r *Range, h Host, store interfacestore.InterfaceStore, objects ...runtime.Object) (*Controller, *fake.Clientset, func(name string) (string, bool)) {
	t.Helper()
	kube := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(kube, 0)
	core := factory.Core().V1()
	c, err := New(Config{NodeName: "node-1", Range: r, Host: h, Interfaces: store, Pods: core.Pods(), Services: core.Services(), Nodes: core.Nodes(), Kube: kube, Problems: problem.NewRecorder()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait(); factory.Shutdown() })
	factory.Start(ctx.Done())
	running.Go(func() { c.Run(ctx) })
	return c, kube, func(name string) (string, bool) {
		pod, err := kube.CoreV1().Pods("ns").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		text, ok := pod.Annotations[PodAnnotation]
		return text, ok
	}
}

const patience = 20 * time.Second

// TestFromServiceToAnnotation: a Service gives a Pod its port, the Pod tells it, an annotation that a user has written is replaced, and both go.
func TestFromServiceToAnnotation(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.77.101"}}}}
	store, h := interfacestore.NewInterfaceStore(), &lockedHost{}
	store.AddInterface(interfaceOf("a", "10.10.0.5"))
	written := somePod("b", func(p *corev1.Pod) { p.Annotations[PodAnnotation], p.Labels = "[]", nil }, "10.10.0.6")
	service := someService(nil, port(80, corev1.ProtocolTCP, 8080))
	// Tests of other packages may hold some of these ports.
	c, kube, annotation := runController(t, &Range{First: 40000, Last: 42000}, h, store, node, somePod("a", nil, "10.10.0.5"), written, service)
	require.Eventually(t, func() bool {
		a, _ := annotation("a")
		_, b := annotation("b")
		return len(parse(a)) == 1 && !b
	}, patience, 10*time.Millisecond)
	a, _ := annotation("a")
	require.Regexp(t, `^\[{"podPort":8080,"nodeIP":"192.168.77.101","nodePort":4\d+,"protocol":"tcp","ipFamily":"IPv4"}\]$`, a)
	require.Equal(t, 1, h.count())
	require.Equal(t, 1.0, testutil.ToFloat64(c))
	_, err := holdPort(nodePort{familyIPv4, "tcp", parse(a)[0].NodePort})
	require.Error(t, err, "the port is held")

	require.NoError(t, c.PodArrives(interfaceOf("c", "10.10.0.5")))
	require.Zero(t, h.count(), "another Pod has the address")
	c.PodLeaves(interfaceOf("c", "10.10.0.5"))
	store.AddInterface(interfaceOf("a", "10.10.0.5"))
	require.Eventually(t, func() bool { return h.count() == 1 }, patience, 10*time.Millisecond)

	require.NoError(t, kube.CoreV1().Services("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, annotated := annotation("a")
		return !annotated && h.count() == 0
	}, patience, 10*time.Millisecond)
}

// TestWithoutTheFeature: annotations of a former agent go.
func TestWithoutTheFeature(t *testing.T) {
	told := somePod("a", func(p *corev1.Pod) { p.Annotations[PodAnnotation], p.Annotations["other"] = `[{"podPort":8080}]`, "x" }, "10.10.0.5")
	c, kube, annotation := runController(t, nil, &lockedHost{}, interfacestore.NewInterfaceStore(), told)
	require.Eventually(t, func() bool { _, annotated := annotation("a"); return !annotated }, patience, 10*time.Millisecond)
	pod, err := kube.CoreV1().Pods("ns").Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"other": "x"}, pod.Annotations)
	require.NoError(t, c.PodArrives(interfaceOf("c", "10.10.0.5")))
	c.PodLeaves(interfaceOf("c", "10.10.0.5"))
}
