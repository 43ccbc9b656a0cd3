// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

var simulatedAgents = flag.Int("agents", 100, "number of agents in TestRequestsWithoutController; its figures are scaled to 5,000")

// apiServer answers the requests of agents about Services, EndpointSlices and ConfigMaps in process, in the time of a
// synctest bubble: lists and watches, which it ends when the client has asked for that, as kube-apiserver does.
type apiServer struct {
	began time.Time

	mu sync.Mutex
	// seconds counts requests by the second that they came in.
	seconds map[int]int
	objects map[string]runtime.Object
	watches map[*watchStream]string
	// controllerRequests are the times of requests to antrea-controller.
	controllerRequests []time.Duration
}

func newAPIServerInProcess() *apiServer {
	return &apiServer{began: time.Now(), seconds: map[int]int{}, objects: map[string]runtime.Object{}, watches: map[*watchStream]string{}}
}

type watchStream struct {
	*io.PipeWriter
	events chan []byte
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seconds[int(time.Since(s.began)/time.Second)]++
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	object := s.objects[resource]
	query := r.URL.Query()
	if query.Get("watch") == "" {
		list := map[string]any{"kind": "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
		if object != nil {
			list["items"] = []any{object}
		}
		return answer(r, list), nil
	}
	seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	stream := &watchStream{writer, make(chan []byte, 10)}
	s.watches[stream] = resource
	if query.Get("sendInitialEvents") == "true" {
		if object != nil {
			stream.events <- event("ADDED", object)
		}
		stream.events <- event("BOOKMARK", initialEventsEnd(resource))
	}
	go s.serve(r.Context(), stream, time.Duration(seconds)*time.Second)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: reader, Request: r}, nil
}

func (s *apiServer) serve(ctx context.Context, stream *watchStream, life time.Duration) {
	defer stream.Close()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, stream)
	}()
	end := time.NewTimer(life)
	defer end.Stop()
	for {
		select {
		case e := <-stream.events:
			if _, err := stream.Write(e); err != nil {
				return
			}
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// set makes object the only one of the resource.
func (s *apiServer) set(resource string, object runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "ADDED"
	if s.objects[resource] != nil {
		kind = "MODIFIED"
	}
	s.objects[resource] = object
	for stream, watched := range s.watches {
		if watched == resource {
			stream.events <- event(kind, object)
		}
	}
}

// requests returns the number of requests that came in from the second from to before the second to.
func (s *apiServer) requests(from, to int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for second, count := range s.seconds {
		if second >= from && second < to {
			n += count
		}
	}
	return n
}

func answer(r *http.Request, object any) *http.Response {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(recorder).Encode(object)
	response := recorder.Result()
	response.Request = r
	return response
}

func event(kind string, object any) []byte {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(map[string]any{"type": kind, "object": object}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func initialEventsEnd(resource string) any {
	kinds := map[string][2]string{
		"services": {"v1", "Service"}, "configmaps": {"v1", "ConfigMap"}, "endpointslices": {"discovery.k8s.io/v1", "EndpointSlice"},
	}
	return map[string]any{"apiVersion": kinds[resource][0], "kind": kinds[resource][1], "metadata": map[string]any{
		"resourceVersion": "1", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
	}}
}

func controllerServiceObject() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: apis.DefaultNamespace, Name: apis.ControllerService, ResourceVersion: "1"},
	}
}

func controllerAuthority() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: apis.DefaultNamespace, Name: apis.ControllerCA, ResourceVersion: "1"},
		Data:       map[string]string{apis.ControllerCAKey: authority()},
	}
}

// authority is a certificate that antrea-controller could have.
var authority = sync.OnceValue(func() string {
	cert, _, err := generic.SelfSigned(generic.ECDSA, time.Hour, []string{apis.ControllerServerName(apis.DefaultNamespace)})
	if err != nil {
		panic(err)
	}
	return string(cert)
})

// controllerAt is the EndpointSlice of antrea-controller's Service, with one Endpoint, which may be ready.
func controllerAt(address string, ready bool) *discoveryv1.EndpointSlice {
	port := int32(10349)
	return &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: apis.DefaultNamespace, Name: "antrea-1", ResourceVersion: "1",
			Labels: map[string]string{discoveryv1.LabelServiceName: apis.ControllerService},
		},
		Ports:     []discoveryv1.EndpointPort{{Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}

type noFlows struct{}

func (noFlows) UpdatePolicyRules([]*policy.Rule, []uint32) error      { return nil }
func (noFlows) UpdatePolicyRulesOnTop([]*policy.Rule, []uint32) error { return nil }
func (noFlows) ClosePodFlows(context.Context, string, []netip.Addr, net.HardwareAddr, uint32) error {
	return nil
}
func (noFlows) WaitRevalidation(context.Context) error { return nil }

// countedSource records when the agent would have asked antrea-controller.
type countedSource struct {
	*client.Provider
	api *apiServer
}

func (s countedSource) Watch(ctx context.Context, _ networkpolicy.Resource) (watch.Interface, error) {
	if _, err := s.Client(ctx); err != nil {
		return nil, err
	}
	s.api.noteWatch()
	return nil, fmt.Errorf("no antrea-controller in this test")
}

func (a *apiServer) noteWatch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.controllerRequests = append(a.controllerRequests, time.Since(a.began))
}

// controllerWatches returns when agents would have asked antrea-controller.
func (a *apiServer) controllerWatches() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.controllerRequests)
}

// startAgents starts the parts of n agents that contact antrea-controller. The returned function stops them.
func startAgents(t *testing.T, n int, api *apiServer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range n {
		config := &rest.Config{Host: "http://kubernetes", QPS: 50, Burst: 100}
		kube, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: api})
		require.NoError(t, err)
		provider, err := client.NewProvider(kube, config)
		require.NoError(t, err)
		policies := networkpolicy.New(countedSource{provider, api}, noFlows{}, noFlows{}, interfacestore.NewInterfaceStore(), t.TempDir(), problem.NewRecorder())
		running.Go(func() { provider.Run(ctx) })
		running.Go(func() { policies.Run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

// TestRequestsWithoutController counts the requests of agents to the Kubernetes API while there is no antrea-controller, and how
// they come back when there is one.
func TestRequestsWithoutController(t *testing.T) {
	const ofAgents = 5000
	logtest.Capture(t)
	for _, tc := range []struct {
		name  string
		setup func(*apiServer)
	}{
		{"no Service", func(*apiServer) {}},
		{"none is ready", func(s *apiServer) {
			s.set("services", controllerServiceObject())
			s.set("configmaps", controllerAuthority())
			s.set("endpointslices", controllerAt("192.0.2.1", false))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newAPIServerInProcess()
				tc.setup(api)
				stop := startAgents(t, *simulatedAgents, api)
				const minute, hour = 60, 3600
				time.Sleep((hour + minute) * time.Second)
				scaled := func(from, to int) float64 {
					return float64(api.requests(from, to)) * ofAgents / float64(*simulatedAgents) / float64(to-from)
				}
				t.Logf("%d agents: %.0f requests a second in the first minute, %.1f in the hour after it", ofAgents, scaled(0, minute), scaled(minute, minute+hour))
				require.LessOrEqual(t, scaled(minute, minute+hour), 100.0, "requests a second of %d agents", ofAgents)
				require.LessOrEqual(t, scaled(0, minute), 1000.0, "requests a second of %d agents in the first minute", ofAgents)
				require.Empty(t, api.controllerWatches())

				came := time.Since(api.began)
				api.set("services", controllerServiceObject())
				api.set("configmaps", controllerAuthority())
				api.set("endpointslices", controllerAt("192.0.2.1", true))
				time.Sleep(6 * time.Second)
				first, watches := map[int]int{}, api.controllerWatches()
				for _, at := range watches {
					first[int((at-came)/time.Second)]++
				}
				t.Logf("%d watches are opened, by second: %v", len(watches), first)
				require.GreaterOrEqual(t, len(watches), 3*(*simulatedAgents), "all come within 5 s")
				for second, n := range first {
					require.LessOrEqual(t, n, 3*(*simulatedAgents)/2, "watches opened in second %d: a fifth of them, and second attempts, are expected", second)
				}
				stop()
			})
		})
	}
}
