// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
	clients "github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/config"
	testcontrolplane "github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
)

const patience = 60 * time.Second

// fixture is a Kubernetes API with a controller.
type fixture struct {
	t       *testing.T
	admin   *clients.Clients
	port    int
	options *options
	stop    func()
}

func startKubernetes(t *testing.T) *fixture {
	t.Helper()
	if !testcontrolplane.Built() {
		t.Skip("kube-apiserver is not built yet on this machine: run bin/lab prepare")
	}
	kube, err := testcontrolplane.Start(t.Context(), testcontrolplane.Options{StateDir: t.TempDir(), LogDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(kube.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, kube.WriteKubeconfig(kubeconfig, "127.0.0.1"))
	admin, err := clients.New(config.ClientConnectionConfig{Kubeconfig: kubeconfig, QPS: 1000, Burst: 1000}, "")
	require.NoError(t, err)
	ports, err := freeport.Loopback(1)
	require.NoError(t, err)
	conf := filepath.Join(t.TempDir(), "antrea-controller.conf")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil, "apiPort: %d\nclientConnection: {kubeconfig: %s}\n", ports[0], kubeconfig), 0o600))
	o := newOptions()
	o.tokenFile = filepath.Join(t.TempDir(), "token")
	require.NoError(t, o.complete(conf))
	return &fixture{t: t, admin: admin, port: ports[0], options: o}
}

func (f *fixture) startController() {
	f.t.Helper()
	f.launchController()
	f.eventually("ready", func() error {
		_, err := f.direct()
		return err
	})
}

// launchController does not wait until the controller is ready.
func (f *fixture) launchController() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx, f.options, f.admin) }()
	f.stop = func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(f.t, err)
		case <-time.After(patience):
			f.t.Error("the controller does not stop")
		}
	}
}

func (f *fixture) eventually(what string, condition func() error) {
	f.t.Helper()
	var err error
	require.Eventually(f.t, func() bool { err = condition(); return err == nil }, patience, 50*time.Millisecond, "%s: %v", what, lastError{&err})
}

// lastError prints the error at the time of the failure.
type lastError struct{ err *error }

func (l lastError) String() string { return fmt.Sprint(*l.err) }

// direct is a client that connects as agents do: to the controller, with the CA of the ConfigMap. It fails unless the
// controller is ready.
func (f *fixture) direct() (*controlplane.Client, error) {
	ca, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(f.t.Context(), apis.ControllerCA, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(f.admin.Config)
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", f.port)
	config.TLSClientConfig = rest.TLSClientConfig{CAData: []byte(ca.Data[apis.ControllerCAKey]), ServerName: apis.ControllerServerName("kube-system")}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	response, err := httpClient.Get(config.Host + "/readyz")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/readyz: %s", response.Status)
	}
	return controlplane.NewForConfig(config)
}

func (f *fixture) createPod(name, node, ip string, labels map[string]string) {
	f.t.Helper()
	pods := f.admin.Kube.CoreV1().Pods("default")
	pod, err := pods.Create(f.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}
	_, err = pods.UpdateStatus(f.t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

func (f *fixture) createPolicy() *networkingv1.NetworkPolicy {
	f.t.Helper()
	policy, err := f.admin.Kube.NetworkingV1().NetworkPolicies("default").Create(f.t.Context(), &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
				{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}}},
			}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return policy
}

// next returns the next event of a watch.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, ok := <-w.ResultChan():
		require.True(t, ok, "the watch has ended")
		require.NotEqual(t, watch.Error, event.Type, "%v", event.Object)
		return event
	case <-time.After(patience):
		t.Fatal("no event")
		return watch.Event{}
	}
}

func requireMember(t *testing.T, members []v1beta2.GroupMember, name, ip string) {
	t.Helper()
	require.Len(t, members, 1)
	require.Equal(t, name, members[0].Pod.Name)
	if ip == "" {
		require.Empty(t, members[0].IPs)
		return
	}
	require.Len(t, members[0].IPs, 1)
	addr, err := members[0].IPs[0].Addr()
	require.NoError(t, err)
	require.Equal(t, ip, addr.String())
}

func TestController(t *testing.T) {
	f := startKubernetes(t)
	f.createPod("web", "node-1", "10.0.1.1", map[string]string{"app": "web"})
	f.createPod("client", "node-2", "10.0.2.1", map[string]string{"app": "client"})
	policy := f.createPolicy()
	createDefinitions(t, f)
	f.startController()
	testWatches(t, f, policy)
	createWebhooks(t, f)
	testAggregation(t, f)
	testAdmission(t, f)
	testEgress(t, f)
	testPolicies(t, f)
	testStatsOfAntreaPolicies(t, f)
	testRights(t, f)
	token, pod := agentToken(t, f)
	testAgents(t, f, token, pod)
	testSupportBundle(t, f)
	ofPod := token(&authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID})
	testPolicyStatus(t, f, ofPod)
	testStats(t, f, ofPod)
	testRestart(t, f)
	testAntctl(t, f)
	testAdminPolicies(t, f)
	f.stop()
}

func testWatches(t *testing.T, f *fixture, policy *networkingv1.NetworkPolicy) {
	client, err := f.direct()
	require.NoError(t, err)
	policies, err := client.NetworkPolicies().Watch(t.Context(), controlplane.OfNode("node-1"))
	require.NoError(t, err)
	defer policies.Stop()
	event := next(t, policies)
	require.Equal(t, watch.Added, event.Type)
	internal := event.Object.(*v1beta2.NetworkPolicy)
	require.Equal(t, string(policy.UID), internal.Name)
	require.Equal(t, "default", internal.SourceRef.Namespace)
	require.Equal(t, v1beta2.K8sNetworkPolicy, internal.SourceRef.Type)
	require.Len(t, internal.Rules, 1)
	event = next(t, policies)
	require.Equal(t, watch.Bookmark, event.Type)
	require.NotEmpty(t, event.Object.(*v1beta2.NetworkPolicy).ResourceVersion)

	applied, err := client.AppliedToGroups().Watch(t.Context(), controlplane.OfNode("node-1"))
	require.NoError(t, err)
	defer applied.Stop()
	event = next(t, applied)
	require.Equal(t, watch.Added, event.Type)
	require.Equal(t, internal.AppliedToGroups, []string{event.Object.(*v1beta2.AppliedToGroup).Name})
	requireMember(t, event.Object.(*v1beta2.AppliedToGroup).GroupMembers, "web", "")
	require.Equal(t, watch.Bookmark, next(t, applied).Type)

	addresses, err := client.AddressGroups().Watch(t.Context(), controlplane.OfNode("node-1"))
	require.NoError(t, err)
	defer addresses.Stop()
	event = next(t, addresses)
	require.Equal(t, watch.Added, event.Type)
	require.Equal(t, internal.Rules[0].From.AddressGroups, []string{event.Object.(*v1beta2.AddressGroup).Name})
	requireMember(t, event.Object.(*v1beta2.AddressGroup).GroupMembers, "client", "10.0.2.1")
	require.Equal(t, watch.Bookmark, next(t, addresses).Type)

	// Another peer is a patch for the policy's Node, and does not concern the peer's own Node.
	elsewhere, err := client.AddressGroups().Watch(t.Context(), controlplane.OfNode("node-2"))
	require.NoError(t, err)
	defer elsewhere.Stop()
	require.Equal(t, watch.Bookmark, next(t, elsewhere).Type)
	f.createPod("client-2", "node-2", "10.0.2.2", map[string]string{"app": "client"})
	event = next(t, addresses)
	require.Equal(t, watch.Modified, event.Type)
	requireMember(t, event.Object.(*v1beta2.AddressGroupPatch).AddedGroupMembers, "client-2", "10.0.2.2")

	// A member on node-2 brings group and policy there, and does not concern node-1.
	f.createPod("web-2", "node-2", "10.0.2.3", map[string]string{"app": "web"})
	event = next(t, elsewhere)
	require.Equal(t, watch.Added, event.Type)
	require.Len(t, event.Object.(*v1beta2.AddressGroup).GroupMembers, 2)

	require.NoError(t, f.admin.Kube.NetworkingV1().NetworkPolicies("default").Delete(t.Context(), policy.Name, metav1.DeleteOptions{}))
	event = next(t, policies)
	require.Equal(t, watch.Deleted, event.Type)
	require.Equal(t, internal.Name, event.Object.(*v1beta2.NetworkPolicy).Name)
	require.Equal(t, watch.Deleted, next(t, applied).Type)
	require.Equal(t, watch.Deleted, next(t, addresses).Type)
}

func testAggregation(t *testing.T, f *fixture) {
	policy := f.createPolicy()
	services := f.admin.Kube.CoreV1().Services("kube-system")
	// There are no Nodes here for an endpoint, so the Service leads to this machine by name.
	_, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: apis.ControllerService},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: int32(f.port)}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	dynamicClient, err := dynamic.NewForConfig(f.admin.Config)
	require.NoError(t, err)
	resource := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	for _, name := range certificate.APIServices {
		version, group, _ := strings.Cut(name, ".")
		_, err = dynamicClient.Resource(resource).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"group": group, "version": version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
				"service": map[string]any{"name": apis.ControllerService, "namespace": "kube-system", "port": int64(f.port)},
			},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	// The controller publishes the CA when it looks the next time; a restart avoids the wait.
	f.stop()
	f.startController()

	through, err := controlplane.NewForConfig(f.admin.Config)
	require.NoError(t, err)
	f.eventually("the API behind the aggregator", func() error {
		_, err := through.NetworkPolicies().Get(t.Context(), string(policy.UID), metav1.GetOptions{})
		return err
	})
	list, err := through.AppliedToGroups().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Len(t, list.Items[0].GroupMembers, 2, "without a Node, the members of all Nodes")
	require.NotEmpty(t, list.ResourceVersion)
	// The aggregator learns of each APIService's CA by itself.
	var body []byte
	f.eventually("the other API behind the aggregator", func() error {
		body, err = f.admin.Kube.Discovery().RESTClient().Get().AbsPath("/apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller").DoRaw(t.Context())
		return err
	})
	require.Contains(t, string(body), `"version"`)
}

// agentToken makes an agent's Pod on node-1 with a service account that may read policies and report traffic. token returns a token of that account,
// bound to an object unless that is nil.
func agentToken(t *testing.T, f *fixture) (token func(*authenticationv1.BoundObjectReference) string, pod *corev1.Pod) {
	const account = "antrea-agent"
	_, err := f.admin.Kube.CoreV1().ServiceAccounts("kube-system").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = f.admin.Kube.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"controlplane.antrea.io"}, Resources: []string{"networkpolicies"}, Verbs: []string{"list", "watch"},
		}, {
			APIGroups: []string{"controlplane.antrea.io"}, Resources: []string{"nodestatssummaries", "networkpolicies/status"}, Verbs: []string{"create"},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = f.admin.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: account}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod, err = f.admin.Kube.CoreV1().Pods("kube-system").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "antrea-agent-x"},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: account, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	token = func(bound *authenticationv1.BoundObjectReference) string {
		request, err := f.admin.Kube.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), account,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}, metav1.CreateOptions{})
		require.NoError(t, err)
		return request.Status.Token
	}
	return token, pod
}

// testAgents uses a token like the one that the kubelet mounts into an agent's Pod: kube-apiserver reports the Node of the Pod.
func testAgents(t *testing.T, f *fixture, token func(*authenticationv1.BoundObjectReference) string, pod *corev1.Pod) {
	ca, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
	require.NoError(t, err)
	direct := &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", f.port),
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca.Data[apis.ControllerCAKey]), ServerName: apis.ControllerServerName("kube-system")},
	}
	aggregated := &rest.Config{Host: f.admin.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: f.admin.Config.CAData, CAFile: f.admin.Config.CAFile}}
	ofPod := token(&authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID})
	for name, config := range map[string]*rest.Config{"direct": direct, "through the aggregator": aggregated} {
		for _, tc := range []struct {
			name, token, node, err string
		}{
			{"its own Node", ofPod, "node-1", ""},
			{"another Node", ofPod, "node-2", "allowed: nodeName=node-1"},
			{"all Nodes", ofPod, "", "allowed: nodeName=node-1"},
			{"a token that is bound to nothing", token(nil), "node-1", "the token of this agent is bound to no Pod"},
		} {
			config := rest.CopyConfig(config)
			config.BearerToken = tc.token
			client, err := controlplane.NewForConfig(config)
			require.NoError(t, err)
			options := metav1.ListOptions{}
			if tc.node != "" {
				options = controlplane.OfNode(tc.node)
			}
			_, listError := client.NetworkPolicies().List(t.Context(), options)
			w, watchError := client.NetworkPolicies().Watch(t.Context(), options)
			if tc.err == "" {
				require.NoError(t, listError, "%s, %s", name, tc.name)
				require.NoError(t, watchError, "%s, %s", name, tc.name)
				w.Stop()
				continue
			}
			require.ErrorContains(t, listError, tc.err, "%s, %s", name, tc.name)
			require.ErrorContains(t, watchError, tc.err, "%s, %s", name, tc.name)
		}
	}
}

func testRights(t *testing.T, f *fixture) {
	_, err := f.direct()
	require.NoError(t, err)
	ca, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
	require.NoError(t, err)
	for token, want := range map[string]string{"": "forbidden", "wrong": "Unauthorized"} {
		client, err := controlplane.NewForConfig(&rest.Config{
			Host: fmt.Sprintf("https://127.0.0.1:%d", f.port), BearerToken: token,
			TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca.Data[apis.ControllerCAKey]), ServerName: apis.ControllerServerName("kube-system")},
		})
		require.NoError(t, err)
		_, err = client.NetworkPolicies().List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, want)
	}
	token, err := os.ReadFile(f.options.tokenFile)
	require.NoError(t, err)
	config := &rest.Config{Host: fmt.Sprintf("https://127.0.0.1:%d", f.port), BearerToken: string(token), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	loopback, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	body, err := loopback.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(body), "apiserver_")
}
