// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/apis"
	internal "github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
	"github.com/antrea-oncache/antrea/pkg/controller/monitor"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/controllerinfo"
)

const (
	patience = 60 * time.Second
	group    = "/apis/controlplane.antrea.io/v1beta2"
)

type fixture struct {
	t      *testing.T
	url    string
	token  string
	ca     []byte
	http   *http.Client
	kube   *fake.Clientset
	synced chan struct{}
}

// start serves a controller's objects for one Pod on node-1 and a policy for it, but only once synced is closed.
func start(t *testing.T) *fixture {
	t.Helper()
	return startWith(t, &apiservertest.Kubernetes{}, generic.Limits{})
}

func startWith(t *testing.T, reviews *apiservertest.Kubernetes, limits generic.Limits) *fixture {
	t.Helper()
	return startFull(t, reviews, limits, nil)
}

// startStats serves these statistics.
func startStats(t *testing.T, traffic *stats.Aggregator) *fixture {
	t.Helper()
	return startFull(t, &apiservertest.Kubernetes{}, generic.Limits{}, func(c *Config) { c.Stats = traffic })
}

// startFull starts a server whose configuration change has changed.
func startFull(t *testing.T, reviews *apiservertest.Kubernetes, limits generic.Limits, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, synced: make(chan struct{})}
	f.kube = fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"},
			Spec:       corev1.PodSpec{NodeName: "node-1"},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
		},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "antrea-agent-x", UID: "uid-agent"},
			Spec:       corev1.PodSpec{NodeName: "node-1", HostNetwork: true},
		},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "policy", UID: "uid-1"}},
	)
	store := networkpolicy.NewStore()
	controller, err := networkpolicy.NewController(f.kube, store)
	require.NoError(t, err)
	cert, err := certificate.Generate(generic.ECDSA, "kube-system")
	require.NoError(t, err)
	f.ca = cert.CA()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tokenFile := filepath.Join(t.TempDir(), "token")
	ctx, cancel := context.WithCancel(context.Background())
	traffic := stats.New(store)
	require.NoError(t, controller.FollowPolicies(traffic.Handler(internal.K8sNetworkPolicy)))
	config := &Config{
		Listener: listener, Certificate: cert, TokenFile: tokenFile, Client: apiservertest.Start(t, reviews),
		Store: store, Synced: f.synced, Stats: traffic, Routes: controllerinfo.Routes(&monitor.Querier{Store: store}), EnableMetrics: true,
		Webhooks:     webhook.Webhooks{"/validate/test": webhook.Refusing(func(r *admissionv1.AdmissionRequest) (string, error) { return "no " + r.Name, nil })},
		AgentAccount: "system:serviceaccount:kube-system:antrea-agent", NodeOfPod: controller.NodeOfPod, Limits: limits,
	}
	if change != nil {
		change(config)
	}
	server, err := New(ctx, config)
	require.NoError(t, err)
	done := make(chan error, 2)
	go func() { done <- server.Run(ctx) }()
	go func() { controller.Run(ctx); done <- nil }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(patience):
				t.Error("the server does not stop")
			}
		}
	})
	token, err := os.ReadFile(tokenFile)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(f.ca))
	f.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: apis.ControllerServerName("kube-system")}}}
	t.Cleanup(f.http.CloseIdleConnections)
	f.url, f.token = "https://"+listener.Addr().String(), string(token)
	require.Eventually(t, func() bool {
		response, err := f.http.Get(f.url + "/livez")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, patience, 10*time.Millisecond)
	select {
	case <-controller.Synced():
	case <-time.After(patience):
		t.Fatal("the controller does not read its objects")
	}
	return f
}

func (f *fixture) do(method, path, token, accept string) (int, string) {
	f.t.Helper()
	return f.send(method, path, token, accept, "")
}

// send is do with a body in JSON.
func (f *fixture) send(method, path, token, accept, body string) (int, string) {
	f.t.Helper()
	request, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	require.NoError(f.t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := f.http.Do(request)
	require.NoError(f.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	return response.StatusCode, string(answer)
}

func (f *fixture) client() *controlplane.Client {
	f.t.Helper()
	client, err := controlplane.NewForConfig(&rest.Config{
		Host: f.url, BearerToken: f.token, TLSClientConfig: rest.TLSClientConfig{CAData: f.ca, ServerName: apis.ControllerServerName("kube-system")},
	})
	require.NoError(f.t, err)
	return client
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, ok := <-w.ResultChan():
		require.True(t, ok, "the watch has ended")
		return event
	case <-time.After(patience):
		t.Fatal("no event")
		return watch.Event{}
	}
}

func TestRequests(t *testing.T) {
	f := start(t)
	close(f.synced)
	for _, tc := range []struct {
		name, method, path, token, accept string
		status                            int
		body                              string
	}{
		{"policies", "GET", group + "/networkpolicies", f.token, "", 200, `"sourceRef":{"type":"K8sNetworkPolicy","namespace":"ns","name":"policy","uid":"uid-1"}`},
		{"policies of a Node", "GET", group + "/networkpolicies?fieldSelector=nodeName%3Dnode-1", f.token, "", 200, `"name":"uid-1"`},
		{"policies of another Node", "GET", group + "/networkpolicies?fieldSelector=nodeName%3Dnode-2", f.token, "", 200, `"items":[]`},
		{"one policy", "GET", group + "/networkpolicies/uid-1", f.token, "", 200, `"kind":"NetworkPolicy","apiVersion":"controlplane.antrea.io/v1beta2"`},
		{"by name", "GET", group + "/networkpolicies?fieldSelector=metadata.name%3Duid-2", f.token, "", 200, `"items":[]`},
		{"no such policy", "GET", group + "/networkpolicies/uid-2", f.token, "", 404, `networkpolicies.controlplane.antrea.io \"uid-2\" not found`},
		{"groups", "GET", group + "/appliedtogroups", f.token, "", 200, `"groupMembers":[{"pod":{"name":"pod","namespace":"ns"}}]`},
		{"as a table", "GET", group + "/networkpolicies", f.token, "application/json;as=Table;v=v1;g=meta.k8s.io", 200, `"kind":"Table"`},
		{"other field", "GET", group + "/networkpolicies?fieldSelector=spec.x%3Dy", f.token, "", 400, "allowed: metadata.name, nodeName"},
		{"not this Node", "GET", group + "/networkpolicies?fieldSelector=nodeName!%3Dnode-1", f.token, "", 400, "allowed: nodeName="},
		{"labels", "GET", group + "/networkpolicies?labelSelector=a%3Db", f.token, "", 400, "have no labels"},
		{"protobuf only", "GET", group + "/networkpolicies", f.token, "application/vnd.kubernetes.protobuf", 406, ""},
		{"create", "POST", group + "/networkpolicies", f.token, "", 405, ""},
		{"delete", "DELETE", group + "/networkpolicies/uid-1", f.token, "", 405, ""},
		{"discovery", "GET", group, f.token, "", 200, `"verbs":["get","list","watch"],"shortNames":["atg"]`},
		{"groups of the API", "GET", "/apis", f.token, "", 200, "controlplane.antrea.io/v1beta2"},
		{"no token", "GET", group + "/networkpolicies", "", "", 403, "forbidden"},
		{"wrong token", "GET", group + "/networkpolicies", "x", "", 401, "Unauthorized"},
		{"no token, readyz", "GET", "/readyz", "", "", 200, "ok"},
		{"metrics", "GET", "/metrics", f.token, "", 200, "antrea_controller_network_policy_processed"},
		{"information on the controller", "GET", "/apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller", f.token, "", 200, `"version"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := f.do(tc.method, tc.path, tc.token, tc.accept)
			require.Equal(t, tc.status, status, body)
			require.Contains(t, body, tc.body)
		})
	}
}

// An agent that asks too early must not conclude that there are no policies.
func TestNothingIsServedBeforeEverythingIsRead(t *testing.T) {
	f := start(t)
	status, body := f.do("GET", "/readyz", "", "")
	require.Equal(t, 500, status)
	require.Contains(t, body, "[-]networkpolicy-sync failed")
	type answer struct {
		list *v1beta2.NetworkPolicyList
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		list, err := f.client().NetworkPolicies().List(t.Context(), controlplane.OfNode("node-1"))
		answers <- answer{list, err}
	}()
	select {
	case a := <-answers:
		t.Fatalf("an answer before the controller has read everything: %v", a)
	case <-time.After(200 * time.Millisecond):
	}
	close(f.synced)
	a := <-answers
	require.NoError(t, a.err)
	require.Len(t, a.list.Items, 1)
}

func TestWatch(t *testing.T) {
	f := start(t)
	close(f.synced)
	for _, tc := range []struct {
		name       string
		options    func(*metav1.ListOptions)
		annotation string
	}{
		{"of an agent", func(*metav1.ListOptions) {}, ""},
		{"that names a version", func(o *metav1.ListOptions) { o.ResourceVersion = "12345" }, ""},
		{"instead of a list", func(o *metav1.ListOptions) {
			yes := true
			o.SendInitialEvents, o.AllowWatchBookmarks, o.ResourceVersionMatch = &yes, true, metav1.ResourceVersionMatchNotOlderThan
		}, "true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			options := controlplane.OfNode("node-1")
			tc.options(&options)
			w, err := f.client().NetworkPolicies().Watch(t.Context(), options)
			require.NoError(t, err)
			defer w.Stop()
			event := next(t, w)
			require.Equal(t, watch.Added, event.Type, "%v", event.Object)
			event = next(t, w)
			require.Equal(t, watch.Bookmark, event.Type)
			bookmark := event.Object.(*v1beta2.NetworkPolicy)
			require.NotEmpty(t, bookmark.ResourceVersion)
			require.Equal(t, tc.annotation, bookmark.Annotations[metav1.InitialEventsAnnotationKey])
		})
	}
	w, err := f.client().NetworkPolicies().Watch(t.Context(), controlplane.OfNode("node-1"))
	require.NoError(t, err)
	defer w.Stop()
	allowing := controlplane.OfNode("node-1")
	allowing.AllowWatchBookmarks = true
	marked, err := f.client().AppliedToGroups().Watch(t.Context(), allowing)
	require.NoError(t, err)
	defer marked.Stop()
	for range 2 {
		next(t, w)
		require.NotEmpty(t, next(t, marked).Object.(metav1.Object).GetResourceVersion())
	}
	require.NoError(t, f.kube.NetworkingV1().NetworkPolicies("ns").Delete(t.Context(), "policy", metav1.DeleteOptions{}))
	event := next(t, w)
	require.Equal(t, watch.Deleted, event.Type)
	text, err := json.Marshal(event.Object.(*v1beta2.NetworkPolicy).Rules)
	require.NoError(t, err)
	require.Equal(t, "null", string(text), "DELETED has metadata only")
	gone, end := next(t, marked), next(t, marked)
	require.Equal(t, []watch.EventType{watch.Deleted, watch.Bookmark}, []watch.EventType{gone.Type, end.Type})
	require.Equal(t, end.Object.(metav1.Object).GetResourceVersion(), gone.Object.(metav1.Object).GetResourceVersion())
}

// TestWebhooksAreOpen: the Kubernetes API does not identify itself, and its bodies are as large as objects.
func TestWebhooksAreOpen(t *testing.T) {
	f := start(t)
	review := func(padding int) string {
		return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"name": "x", "object": {"a": "` + strings.Repeat("a", padding) + `"}}}`
	}
	for _, size := range []int{0, 2 << 20} {
		code, body := f.send(http.MethodPost, "/validate/test", "", "", review(size))
		require.Equal(t, http.StatusOK, code, body)
		require.Contains(t, body, "no x")
	}
	code, body := f.send(http.MethodPost, "/validate/test", "", "", review(4<<20))
	require.Equal(t, http.StatusRequestEntityTooLarge, code, body)
	code, body = f.send(http.MethodPost, "/validate/others", "", "", review(0))
	require.Equal(t, http.StatusForbidden, code, body)
}
