// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeproxy

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	kubeproxy "k8s.io/kubernetes/pkg/proxy"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
)

var (
	sets = flag.Int("sets", 20, "number of random clusters")
	seed = flag.Uint64("seed", 1, "seed of the first one")
)

const (
	node, zone = "n1", "a"
	services   = 100
)

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomService makes the i-th Service with its EndpointSlices.
func randomService(r *rand.Rand, i int) (*corev1.Service, []*discoveryv1.EndpointSlice) {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("s", i)}}
	s.Spec.ClusterIPs = []string{fmt.Sprint("10.96.0.", i+1), fmt.Sprintf("fd00:96::%x", i+1)}
	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	s.Spec.Type = pick(r, corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer)
	internal := pick(r, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	s.Spec.InternalTrafficPolicy = &internal
	if r.IntN(2) == 0 {
		s.Spec.ExternalIPs = []string{fmt.Sprint("192.0.2.", i+1), fmt.Sprintf("2001:db8::%x", i+1)}
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprint("198.51.100.", i+1)}}
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer || len(s.Spec.ExternalIPs) > 0 {
		s.Spec.ExternalTrafficPolicy = pick(r, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	}
	for p := range 1 + r.IntN(2) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", p), Port: int32(80 + p), Protocol: pick(r, corev1.ProtocolTCP, corev1.ProtocolUDP)})
	}
	var endpointSlices []*discoveryv1.EndpointSlice
	for j := range r.IntN(4) {
		endpointSlices = append(endpointSlices, randomSlice(r, s, j))
	}
	return s, endpointSlices
}

func randomSlice(r *rand.Rand, s *corev1.Service, j int) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: fmt.Sprint(s.Name, "-", j), Labels: map[string]string{discoveryv1.LabelServiceName: s.Name},
	}}
	slice.AddressType = pick(r, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	for i := range s.Spec.Ports {
		number := int32(8080 + i + r.IntN(2))
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &s.Spec.Ports[i].Name, Protocol: &s.Spec.Ports[i].Protocol, Port: &number})
	}
	hinted := r.IntN(3)
	for k := range r.IntN(5) {
		e := discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.%d.%d", j, k+1)}}
		if slice.AddressType == discoveryv1.AddressTypeIPv6 {
			e.Addresses[0] = fmt.Sprintf("fd00:%d::%d", j, k+1)
		}
		condition := func() *bool {
			yes := r.IntN(3) > 0
			return pick(r, nil, &yes)
		}
		e.Conditions = discoveryv1.EndpointConditions{Ready: condition(), Serving: condition(), Terminating: condition()}
		on := pick(r, node, "n2")
		e.NodeName = pick(r, nil, &on, &on)
		if hinted > 0 && r.IntN(8) > 0 {
			e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: pick(r, "a", "b")}}}
			if hinted > 1 {
				e.Hints.ForNodes = []discoveryv1.ForNode{{Name: pick(r, node, "n2")}}
			}
		}
		slice.Endpoints = append(slice.Endpoints, e)
	}
	return slice
}

// recorder has what AntreaProxy asks of the switch.
type recorder struct {
	mu    sync.Mutex
	ports map[string]openflow.ServicePort
}

func (r *recorder) InstallService(p openflow.ServicePort) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports[p.Name] = p
	return nil
}

func (r *recorder) UninstallService(string) error { return nil }

// ours is AntreaProxy's result for the objects.
func ours(t *testing.T, objects []runtime.Object) map[string]openflow.ServicePort {
	t.Helper()
	kube := fake.NewClientset(objects...)
	factory, nodes := proxy.NewFactory(kube), informers.NewSharedInformerFactory(kube, 0)
	flows := &recorder{ports: map[string]openflow.ServicePort{}}
	c, err := proxy.New(proxy.Config{NodeName: node, IPv4: true, IPv6: true, LoadBalancerIPs: true, NodeHints: true},
		proxy.Informers{Services: factory.Core().V1().Services(), Endpoints: factory.Discovery().V1().EndpointSlices(), Nodes: nodes.Core().V1().Nodes()},
		flows, nil, nil, problem.NewRecorder())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	factory.Start(ctx.Done())
	nodes.Start(ctx.Done())
	go c.Run(ctx)
	select {
	case <-c.Synced():
	case <-ctx.Done():
		t.Fatal("AntreaProxy does not get ready")
	}
	flows.mu.Lock()
	defer flows.mu.Unlock()
	return flows.ports
}

// theirs is the result of kube-proxy's packages: Endpoints by the name of the port and the traffic policy.
func theirs(objects []runtime.Object, version corev1.IPFamily) map[string][]string {
	serviceChanges, endpointChanges := kubeproxy.NewServiceChangeTracker(version, nil, nil), kubeproxy.NewEndpointsChangeTracker(version, node, nil, nil)
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			serviceChanges.Update(nil, o)
		case *discoveryv1.EndpointSlice:
			endpointChanges.EndpointSliceUpdate(o, false)
		}
	}
	ports, endpoints := kubeproxy.ServicePortMap{}, kubeproxy.EndpointsMap{}
	ports.Update(serviceChanges)
	endpoints.Update(endpointChanges)
	result := map[string][]string{}
	for name, info := range ports {
		text := fmt.Sprintf("%s:%d/%s", name.NamespacedName, info.Port(), info.Protocol())
		if version == corev1.IPv6Protocol {
			text += "/IPv6"
		}
		cluster, local, _, _ := kubeproxy.CategorizeEndpoints(endpoints[name], info, node, map[string]string{corev1.LabelTopologyZone: zone})
		if info.UsesClusterEndpoints() {
			result[text+" Cluster"] = texts(cluster, kubeproxy.Endpoint.String)
		}
		if info.UsesLocalEndpoints() {
			result[text+" Local"] = texts(local, kubeproxy.Endpoint.String)
		}
	}
	return result
}

func texts[E any](endpoints []E, text func(E) string) []string {
	all := make([]string, 0, len(endpoints))
	for _, e := range endpoints {
		all = append(all, text(e))
	}
	slices.Sort(all)
	return all
}

func TestSameEndpoints(t *testing.T) {
	lists, used := 0, 0
	for n := range uint64(*sets) {
		r := rand.New(rand.NewPCG(*seed+n, 0))
		objects := []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}}
		for i := range services {
			s, endpointSlices := randomService(r, i)
			objects = append(objects, s)
			for _, slice := range endpointSlices {
				objects = append(objects, slice)
			}
		}
		ports := ours(t, objects)
		for _, version := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
			for key, want := range theirs(objects, version) {
				name, policy, _ := strings.Cut(key, " ")
				require.Contains(t, ports, name)
				list := ports[name].Cluster
				if policy == "Local" {
					list = ports[name].Local
				}
				address := func(e openflow.Endpoint) string { return netip.AddrPort.String(e.Address) }
				require.Equal(t, want, texts(list, address), "seed %d, %s", *seed+n, key)
				lists++
				used += len(want)
			}
		}
	}
	t.Logf("services: sets=%d lists=%d endpoints=%d different=0 seed=%d", *sets, lists, used, *seed)
	require.NotZero(t, used)
}
