// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
)

// goodNode has what the agent needs; edit takes some of it away.
func goodNode(name, podCIDR string, edit func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.1"}},
			NodeInfo:  corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KernelVersion: "6.1.0-37-amd64"},
		},
	}
	if edit != nil {
		edit(node)
	}
	return node
}

func daemonSet(namespace, name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestCluster(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		objects       []runtime.Object
		want          []string
		failed        bool
	}{
		{name: "good", want: []string{
			"ok       kubernetes       version 1.31.2", "ok       nodes            2 Nodes have", "ok       network plugin   no other",
			"ok       services         kube-proxy", "0 failed, 0 warnings",
		}},
		{name: "old Kubernetes", version: "v1.29.4-gke.1", want: []string{"warning  kubernetes       version 1.29.4", "0 failed, 1 warnings"}},
		{name: "no Pod network", objects: []runtime.Object{goodNode("n3", "", nil)}, failed: true,
			want: []string{"failed   node n3          no Pod network (spec.podCIDRs): start kube-controller-manager with --allocate-node-cidrs"}},
		{name: "no address", objects: []runtime.Object{goodNode("n3", "10.10.3.0/24", func(n *corev1.Node) { n.Status.Addresses = nil })}, failed: true,
			want: []string{"failed   node n3          no InternalIP and no ExternalIP"}},
		{name: "overlap", objects: []runtime.Object{goodNode("n3", "10.10.0.0/20", nil)}, failed: true,
			want: []string{"the Pod networks 10.10.0.0/20 of Node n3 and 10.10.1.0/24 of Node n1 overlap", "10.10.0.0/20 of Node n3 and 10.10.2.0/24 of Node n2", "2 failed"}},
		{name: "three times the same", objects: []runtime.Object{goodNode("n3", "10.10.1.7/24", nil), goodNode("n4", "10.10.1.0/24", nil)}, failed: true,
			want: []string{"10.10.1.0/24 of Node n1 and 10.10.1.0/24 of Node n3 overlap", "10.10.1.0/24 of Node n3 and 10.10.1.0/24 of Node n4", "2 failed"}},
		{name: "overlap of one Node's own", objects: []runtime.Object{goodNode("n3", "", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.10.4.0/22", "10.10.5.0/24", "fd00::/64"} })},
			want: []string{"0 failed"}},
		{name: "old kernel", objects: []runtime.Object{goodNode("n3", "10.10.3.0/24", func(n *corev1.Node) { n.Status.NodeInfo.KernelVersion = "5.10.0" })},
			want: []string{`warning  node n3          kernel "5.10.0": the fast path (gate ONCache) needs Linux 5.13`}},
		{name: "arm64", objects: []runtime.Object{goodNode("n3", "10.10.3.0/24", func(n *corev1.Node) { n.Status.NodeInfo.Architecture = "arm64" })},
			want: []string{"warning  node n3          architecture arm64 was not tested"}},
		{name: "other architecture", objects: []runtime.Object{goodNode("n3", "10.10.3.0/24", func(n *corev1.Node) { n.Status.NodeInfo.Architecture = "s390x" })}, failed: true,
			want: []string{`architecture "s390x" is not supported; supported: amd64, arm64`}},
		{name: "Windows Node", objects: []runtime.Object{goodNode("n3", "", func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" })},
			want: []string{`warning  node n3          operating system "windows"`}},
		{name: "another plugin", objects: []runtime.Object{daemonSet("calico-system", "calico-node")}, failed: true,
			want: []string{"failed   network plugin   Calico (DaemonSet calico-system/calico-node) is installed: remove it"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objects := append([]runtime.Object{
				goodNode("n1", "10.10.1.0/24", nil), goodNode("n2", "10.10.2.0/24", nil), daemonSet("kube-system", "kube-proxy"),
			}, tc.objects...)
			kube := fake.NewClientset(objects...)
			kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.31.2"}
			if tc.version != "" {
				kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion.GitVersion = tc.version
			}
			var out bytes.Buffer
			r := &Report{Out: &out}
			require.NoError(t, Cluster(t.Context(), kube, crds(), r))
			require.NoError(t, r.End())
			for _, want := range tc.want {
				require.Contains(t, out.String(), want)
			}
			require.Equal(t, tc.failed, r.Err() != nil, out.String())
			for _, action := range kube.Actions() {
				require.Contains(t, []string{"get", "list"}, action.GetVerb(), "nothing is changed")
			}
		})
	}
}

func TestClusterWithoutKubeProxy(t *testing.T) {
	kube := fake.NewClientset(goodNode("n1", "10.10.1.0/24", nil))
	kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "what?"}
	var out bytes.Buffer
	r := &Report{Out: &out}
	require.NoError(t, Cluster(t.Context(), kube, crds(), r))
	require.NoError(t, r.Err())
	require.Contains(t, out.String(), "warning  services         no DaemonSet kube-proxy found")
	require.Contains(t, out.String(), `warning  kubernetes       the version "what?" cannot be read`)
}
