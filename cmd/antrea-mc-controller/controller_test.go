// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	clients "github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/config"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
)

const (
	patience = 90 * time.Second
	area     = "antrea-multicluster"
	system   = "kube-system"
)

// fixture is a Kubernetes API with the manifests of leader and member, whose controllers run with the rights of the manifests.
type fixture struct {
	t     *testing.T
	admin *clients.Clients
	// By Namespace: the controllers' kubeconfigs, the configurations of their webhooks, and the ports of these.
	kubeconfig map[string]string
	webhooks   map[string]*unstructured.Unstructured
	ports      map[string]int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	if !controlplane.Built() {
		t.Skip("kube-apiserver is not built yet on this machine: run bin/lab prepare")
	}
	kube, err := controlplane.Start(t.Context(), controlplane.Options{StateDir: t.TempDir(), LogDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(kube.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, kube.WriteKubeconfig(file, "127.0.0.1"))
	admin, err := clients.New(config.ClientConnectionConfig{Kubeconfig: file, QPS: 1000, Burst: 1000}, "")
	require.NoError(t, err)
	ports, err := freeport.Loopback(2)
	require.NoError(t, err)
	f := &fixture{
		t: t, admin: admin, kubeconfig: map[string]string{}, webhooks: map[string]*unstructured.Unstructured{}, ports: map[string]int{area: ports[0], system: ports[1]},
	}
	f.install()
	return f
}

func (f *fixture) eventually(what string, condition func() error) {
	f.t.Helper()
	var err error
	require.Eventually(f.t, func() bool { err = condition(); return err == nil }, patience, 50*time.Millisecond, "%s: %v", what, lastError{&err})
}

// lastError prints the error at the time of the failure.
type lastError struct{ err *error }

func (l lastError) String() string { return fmt.Sprint(*l.err) }

// start runs a controller until the function that it returns is called.
func (f *fixture) start(role, namespace string) (stop func()) {
	f.t.Helper()
	ports, err := freeport.Loopback(1)
	require.NoError(f.t, err)
	file := filepath.Join(f.t.TempDir(), "controller_manager_config.yaml")
	text := fmt.Sprintf("health: {healthProbeBindAddress: '127.0.0.1:%d'}\nwebhook: {port: %d}\n", ports[0], f.ports[namespace])
	require.NoError(f.t, os.WriteFile(file, []byte(text), 0o600))
	o := &options{namespace: namespace}
	require.NoError(f.t, o.complete(file))
	own, err := clients.New(config.ClientConnectionConfig{Kubeconfig: f.kubeconfig[namespace], QPS: clientQPS, Burst: clientBurst}, "")
	require.NoError(f.t, err)
	run := runLeader
	if role == "member" {
		run = runMember
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	before := f.publishedCA(namespace)
	go func() { done <- run(ctx, o, own) }()
	f.asks(namespace, before)
	return func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(f.t, err)
		case <-time.After(patience):
			f.t.Error("the controller does not stop")
		}
	}
}

// create creates an object of an API of Multi-cluster.
func (f *fixture) create(resource schema.GroupVersionResource, kind, namespace, name string, content any) {
	f.t.Helper()
	object := crd.NewOf(resource.GroupVersion().WithKind(kind), namespace, name)
	require.NoError(f.t, crd.Fill(object, content))
	_, err := f.admin.Dynamic.Resource(resource).Namespace(namespace).Create(f.t.Context(), object, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *fixture) remove(resource schema.GroupVersionResource, namespace, name string) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Dynamic.Resource(resource).Namespace(namespace).Delete(f.t.Context(), name, metav1.DeleteOptions{}))
}

// get returns an object, or why there is none.
func get[T any](f *fixture, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	object, err := f.admin.Dynamic.Resource(resource).Namespace(namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return crd.Read[T](object)
}

// gone returns an error while there are objects in a Namespace.
func (f *fixture) gone(resource schema.GroupVersionResource, namespace string) error {
	list, err := f.admin.Dynamic.Resource(resource).Namespace(namespace).List(f.t.Context(), metav1.ListOptions{})
	if err == nil && len(list.Items) > 0 {
		err = fmt.Errorf("%s are left: %v", resource.Resource, list.Items[0].Object)
	}
	return err
}

func (f *fixture) join() {
	leader := []v1alpha2.LeaderClusterInfo{{ClusterID: "north", Server: f.admin.Config.Host, Secret: "token"}}
	f.create(v1alpha2.ClusterSets, v1alpha2.ClusterSetKind, system, "set", &v1alpha2.ClusterSet{
		Spec: v1alpha2.ClusterSetSpec{ClusterID: "west", Namespace: area, Leaders: leader},
	})
	f.eventually("the member is ready", func() error {
		for namespace, ready := range map[string]int32{system: 1, area: 1} {
			set, err := get[v1alpha2.ClusterSet](f, v1alpha2.ClusterSets, namespace, "set")
			if err != nil {
				return err
			}
			if set.Status.ReadyClusters != ready {
				return fmt.Errorf("%s: %+v", namespace, set.Status)
			}
		}
		return nil
	})
}

// exportService makes a Service with a ready endpoint and these ports, or port 80, and exports it.
func (f *fixture) exportService(name string, ports ...corev1.ServicePort) (clusterIP string) {
	f.t.Helper()
	if len(ports) == 0 {
		ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	}
	service, err := f.admin.Kube.CoreV1().Services("default").Create(f.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: ports},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = f.admin.Kube.DiscoveryV1().EndpointSlices("default").Create(f.t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.create(mcs.ServiceExports, mcs.ServiceExportKind, "default", name, &mcs.ServiceExport{})
	return service.Spec.ClusterIP
}

// imported returns an error unless a Service is imported with an endpoint.
func (f *fixture) imported(name, endpoint string) error {
	service, err := f.admin.Kube.CoreV1().Services("default").Get(f.t.Context(), v1alpha1.ImportedName(name), metav1.GetOptions{})
	if err != nil {
		return err
	}
	slices, err := f.admin.Kube.DiscoveryV1().EndpointSlices("default").List(f.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
	if err != nil {
		return err
	}
	if len(slices.Items) != 1 || slices.Items[0].Endpoints[0].Addresses[0] != endpoint {
		return fmt.Errorf("EndpointSlices are %+v", slices.Items)
	}
	shown, err := get[mcs.ServiceImport](f, mcs.ServiceImports, "default", name)
	if err != nil {
		return err
	}
	if len(shown.Spec.IPs) != 1 || shown.Spec.IPs[0] != service.Spec.ClusterIP {
		return fmt.Errorf("ServiceImport is %+v", shown.Spec)
	}
	endpoints, err := f.admin.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("endpoints")).Namespace("default").Get(f.t.Context(), service.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if subsets, _, _ := unstructured.NestedSlice(endpoints.Object, "subsets"); len(subsets) != 1 {
		return fmt.Errorf("Endpoints are %v", endpoints.Object)
	}
	return nil
}

func (f *fixture) notImported(name string) error {
	_, err := f.admin.Kube.CoreV1().Services("default").Get(f.t.Context(), v1alpha1.ImportedName(name), metav1.GetOptions{})
	if err == nil {
		return errors.New("the Service exists")
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// TestLeaderAndMember: a cluster that is both joins, exports and imports with the rights and the webhooks of the manifests, through restarts, and leaves
// nothing.
func TestLeaderAndMember(t *testing.T) {
	f := newFixture(t)
	stopLeader, stopMember := f.start("leader", area), f.start("member", system)
	f.create(v1alpha2.ClusterSets, v1alpha2.ClusterSetKind, area, "set", &v1alpha2.ClusterSet{
		Spec: v1alpha2.ClusterSetSpec{ClusterID: "north", Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north"}}},
	})
	f.join()
	clusterIP := f.exportService("nginx")
	f.eventually("nginx is imported", func() error { return f.imported("nginx", clusterIP) })
	f.eventually("the ServiceExport says so", func() error {
		e, err := get[mcs.ServiceExport](f, mcs.ServiceExports, "default", "nginx")
		if err == nil && (len(e.Status.Conditions) != 1 || e.Status.Conditions[0].Reason != "Succeed") {
			err = fmt.Errorf("%+v", e.Status)
		}
		return err
	})
	testGateway(t, f)
	testLies(t, f)
	testRefusedExport(t, f)
	testPolicy(t, f)

	stopMember()
	f.remove(mcs.ServiceExports, "default", "nginx")
	stopMember = f.start("member", system)
	f.eventually("what happened while the member was away", func() error { return f.notImported("nginx") })
	stopLeader()
	second := f.exportService("db")
	stopLeader = f.start("leader", area)
	f.eventually("what happened while the leader was away", func() error { return f.imported("db", second) })

	f.remove(v1alpha2.ClusterSets, system, "set")
	f.eventually("nothing is imported or exported any more", func() error {
		return errors.Join(
			f.notImported("db"), f.gone(mcs.ServiceImports, ""), f.gone(v1alpha1.ClusterInfoImports, ""), f.gone(v1alpha1.Gateways, ""),
			f.gone(v1alpha1.MemberClusterAnnounces, area),
		)
	})
	f.eventually("the leader has nothing of the member", func() error {
		_, err := get[v1alpha1.ResourceExport](f, v1alpha1.ResourceExports, area, "west-default-db-service")
		if err == nil {
			return errors.New("an export is left")
		}
		return nil
	})
	stopMember()
	stopLeader()
}

// testGateway: an annotated Node becomes the Gateway, and tells other clusters; theirs are imported.
func testGateway(t *testing.T, f *fixture) {
	node, err := f.admin.Kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Annotations: map[string]string{v1alpha1.GatewayAnnotation: ""}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.1.2"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = f.admin.Kube.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.eventually("the Gateway's address is with the leader", func() error {
		i, err := get[v1alpha1.ResourceImport](f, v1alpha1.ResourceImports, area, "west-clusterinfo")
		if err == nil && (i.Spec.ClusterInfo.GatewayInfos[0].GatewayIP != "172.18.1.2" || i.Spec.ClusterInfo.ServiceCIDR == "") {
			err = fmt.Errorf("%+v", i.Spec.ClusterInfo)
		}
		return err
	})
	f.create(v1alpha1.ResourceExports, v1alpha1.ResourceExportKind, area, "east-clusterinfo", &v1alpha1.ResourceExport{Spec: v1alpha1.ResourceExportSpec{
		ClusterID: "east", Name: "east", Namespace: system, Kind: v1alpha1.ClusterInfoKind,
		ClusterInfo: &v1alpha1.ClusterInfo{ClusterID: "east", ServiceCIDR: "10.220.0.0/16", GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: "192.0.2.9"}}},
	}})
	f.label("east-clusterinfo", map[string]string{v1alpha1.SourceClusterIDLabel: "east", v1alpha1.SourceKindLabel: v1alpha1.ClusterInfoKind})
	f.eventually("the other cluster's Gateway is known", func() error {
		_, err := get[v1alpha1.ClusterInfoImport](f, v1alpha1.ClusterInfoImports, system, "east-clusterinfo")
		return err
	})
}
