// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// lockedSwitch is a fakeSwitch for the controller's goroutines.
type lockedSwitch struct {
	mu sync.Mutex
	*fakeSwitch
	// fail is returned by all calls.
	fail error
}

func (s *lockedSwitch) InstallService(p openflow.ServicePort) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	return s.fakeSwitch.InstallService(p)
}

func (s *lockedSwitch) UninstallService(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	return s.fakeSwitch.UninstallService(name)
}

func (s *lockedSwitch) set(fail error, refuse func(openflow.ServicePort) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail, s.refuse = fail, refuse
}

func (s *lockedSwitch) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return keysOf(s.ports)
}

// cluster is a Kubernetes API with a running controller.
type cluster struct {
	kube     *fake.Clientset
	flows    *lockedSwitch
	problems *problem.Recorder
	// connections are also used by the controller's goroutines.
	connections *fakeConnections
	*Controller
}

// startCluster is called in a bubble of synctest.
func startCluster(t *testing.T, flows *lockedSwitch, objects ...runtime.Object) *cluster {
	t.Helper()
	return startWith(t, testConfig, nil, flows, objects...)
}

func startProxyAll(t *testing.T, h *fakeHost, flows *lockedSwitch, objects ...runtime.Object) *cluster {
	t.Helper()
	return startWith(t, allConfig, h, flows, objects...)
}

func startWith(t *testing.T, config Config, h *fakeHost, flows *lockedSwitch, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{kube: fake.NewClientset(objects...), flows: flows, problems: problem.NewRecorder(), connections: &fakeConnections{}}
	services, nodes := NewFactory(c.kube), informers.NewSharedInformerFactory(c.kube, 0)
	var err error
	c.Controller, err = New(config, Informers{services.Core().V1().Services(), services.Discovery().V1().EndpointSlices(), nodes.Core().V1().Nodes(), nil},
		c.flows, c.connections, c.connections, c.problems)
	require.NoError(t, err)
	if h != nil {
		c.SetHost(h.host())
	}
	ctx, cancel := context.WithCancel(t.Context())
	services.Start(ctx.Done())
	nodes.Start(ctx.Done())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		services.Shutdown()
		nodes.Shutdown()
	})
	time.Sleep(time.Second) // The informers' state is polled.
	synctest.Wait()
	return c
}

func (c *cluster) isSynced() bool {
	select {
	case <-c.Synced():
		return true
	default:
		return false
	}
}

func (c *cluster) reasons() (reasons []string) {
	problems, _ := c.problems.List()
	for _, p := range problems {
		reasons = append(reasons, string(p.Reason)+" "+p.Subject.Name)
	}
	return reasons
}

func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t)}
		c := startCluster(t, flows, testService("web", "10.96.0.1", "80"), testSlice("web-1", "web", "8080", here, there), testNode(otherNode, "", "10.0.2.0/24"))
		require.True(t, c.isSynced())
		require.Equal(t, []string{web}, flows.take())
		names, ok := c.Ports("ns", "web")
		require.True(t, ok)
		require.Equal(t, []string{"ns/web:80/TCP"}, names)
		_, ok = c.Ports("ns", "no")
		require.False(t, ok)

		slices := c.kube.DiscoveryV1().EndpointSlices("ns")
		_, err := slices.Update(t.Context(), testSlice("web-1", "web", "8080", here), metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{"+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)"}, flows.take())
		require.NoError(t, c.kube.CoreV1().Services("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		synctest.Wait()
		require.Equal(t, []string{"- ns/web:80/TCP"}, flows.take())
	})
}

// A Service that the switch refuses is reported, tried again with growing delays, and stalls neither the start nor others.
func TestRefusedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t)}
		var attempts atomic.Int32
		flows.refuse = func(p openflow.ServicePort) bool {
			if strings.HasPrefix(p.Name, "ns/bad:80/") {
				attempts.Add(1)
				return true
			}
			return false
		}
		c := startCluster(t, flows, testService("bad", "10.96.0.1", "a:80 b:81"), testService("good", "10.96.0.2", "80"))
		require.True(t, c.isSynced())
		require.Equal(t, []string{"ns/bad:81/TCP", "ns/good:80/TCP"}, flows.names(), "the other port of the Service is also there")
		require.Equal(t, []string{"ServiceNotRealized bad"}, c.reasons())
		time.Sleep(10 * time.Minute)
		require.Greater(t, attempts.Load(), int32(20))
		require.Less(t, attempts.Load(), int32(40))
		flows.set(nil, nil)
		time.Sleep(maxRetryDelay)
		synctest.Wait()
		require.Contains(t, flows.names(), "ns/bad:80/TCP")
		require.Empty(t, c.reasons())
	})
}

// While the switch does not answer, the start is not over.
func TestStartWaitsForTheSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t), fail: of.ErrDisconnected}
		c := startCluster(t, flows, testService("web", "10.96.0.1", "80"))
		time.Sleep(time.Minute)
		require.False(t, c.isSynced())
		require.Empty(t, c.reasons(), "it is not the Service's fault")
		flows.set(nil, nil)
		time.Sleep(maxRetryDelay)
		synctest.Wait()
		require.True(t, c.isSynced())
	})
}

// A Service that policies do not match yet is installed soon after they do, and delays no others.
func TestServiceWaitsForPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t), fail: fmt.Errorf("install: %w", openflow.ErrPoliciesBehind)}
		c := startCluster(t, flows, testService("web", "10.96.0.1", "80"))
		time.Sleep(time.Minute)
		require.False(t, c.isSynced())
		require.Empty(t, c.reasons())
		flows.set(nil, nil)
		time.Sleep(maxPolicyDelay)
		synctest.Wait()
		require.True(t, c.isSynced())
		require.Contains(t, flows.names(), "ns/web:80/TCP")
	})
}

func TestStartWithoutServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, &lockedSwitch{fakeSwitch: newFakeSwitch(t)})
		require.True(t, c.isSynced())
	})
}

// A panic is one Service's problem.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t)}
		flows.refuse = func(p openflow.ServicePort) bool {
			if strings.HasPrefix(p.Name, "ns/bad:") {
				panic("test")
			}
			return false
		}
		c := startCluster(t, flows, testService("bad", "10.96.0.1", "80"), testService("good", "10.96.0.2", "80"))
		require.True(t, c.isSynced())
		require.Equal(t, []string{"ns/good:80/TCP"}, flows.names())
		require.Equal(t, []string{"ServiceNotRealized bad"}, c.reasons())
	})
}

func TestProblemsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, &lockedSwitch{fakeSwitch: newFakeSwitch(t)}, testService("web", "10.96.0.1", "80"), testSlice("web-1", "web", "80", "127.0.0.1"),
			testService("young", "10.96.0.1", "80", created(2000)))
		require.Equal(t, []string{"EndpointsInvalid web-1", "ServiceAddressTaken young"}, c.reasons())
		_, err := c.kube.DiscoveryV1().EndpointSlices("ns").Update(t.Context(), testSlice("web-1", "web", "80", here), metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, c.kube.CoreV1().Services("ns").Delete(t.Context(), "young", metav1.DeleteOptions{}))
		synctest.Wait()
		require.Empty(t, c.reasons())
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value := func(get func() (float64, error)) float64 {
			v, err := get()
			require.NoError(t, err)
			return v
		}
		gauge := func(f string) [2]float64 {
			return [2]float64{value(func() (float64, error) { return testutil.GetGaugeMetricValue(servicesInstalled.WithLabelValues(f)) }),
				value(func() (float64, error) { return testutil.GetGaugeMetricValue(endpointsInstalled.WithLabelValues(f)) })}
		}
		updates := func() float64 {
			return value(func() (float64, error) { return testutil.GetCounterMetricValue(endpointsUpdates.WithLabelValues("v4")) })
		}
		before := updates()
		c := startCluster(t, &lockedSwitch{fakeSwitch: newFakeSwitch(t)}, testService("web", "10.96.0.1 fd00:96::1", "80"), testSlice("web-1", "web", "80", here, there))
		require.Equal(t, [2]float64{1, 2}, gauge("v4"))
		require.Equal(t, [2]float64{1, 0}, gauge("v6"))
		require.Equal(t, before+1, updates())
		require.NoError(t, c.kube.CoreV1().Services("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		synctest.Wait()
		require.Equal(t, [2]float64{}, gauge("v4"))
	})
}

// A trimmed EndpointSlice means the same to the core.
func TestTrimmedSliceMeansTheSame(t *testing.T) {
	full := testSlice("web-1", "web", "8080", here+" zone=a", there+" terminating", "10.0.2.2@n2 notready node=n1", "10.0.2.3")
	for i := range full.Endpoints {
		full.Endpoints[i].TargetRef, full.Endpoints[i].Zone = &corev1.ObjectReference{Name: "p"}, new(string)
	}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	want := testConfig.parseSlice(full.DeepCopy())
	object, err := trim(full)
	require.NoError(t, err)
	trimmed := object.(*discoveryv1.EndpointSlice)
	require.Equal(t, want, testConfig.parseSlice(trimmed))
	require.Empty(t, trimmed.ManagedFields)
	require.True(t, slices.ContainsFunc(trimmed.Endpoints, func(e discoveryv1.Endpoint) bool { return e.TargetRef == nil }))
	require.Same(t, trimmed.Endpoints[1].NodeName, trimmed.Endpoints[2].NodeName)
}

// Whoever uses the factory, also without a Controller, keeps trimmed objects.
func TestFactoryTrims(t *testing.T) {
	slice := testSlice("web-1", "web", "8080", "10.0.2.3")
	slice.Endpoints[0].TargetRef, slice.ManagedFields = &corev1.ObjectReference{Name: "p"}, []metav1.ManagedFieldsEntry{{}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	factory := NewFactory(fake.NewClientset(slice, service))
	stores := []cache.SharedIndexInformer{factory.Discovery().V1().EndpointSlices().Informer(), factory.Core().V1().Services().Informer()}
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	require.Nil(t, stores[0].GetStore().List()[0].(*discoveryv1.EndpointSlice).Endpoints[0].TargetRef)
	require.Empty(t, stores[1].GetStore().List()[0].(*corev1.Service).ManagedFields)
}

// fakeHost is the Node besides the switch. Its calls fail while fail is set.
type fakeHost struct {
	mu        sync.Mutex
	fail      error
	addresses []netip.Addr
	changed   func()
	// log has what has succeeded.
	log []string
}

func (h *fakeHost) do(format string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail == nil {
		h.log = append(h.log, fmt.Sprintf(format, args...))
	}
	return h.fail
}

func (h *fakeHost) SetServicePort(name string, p route.ServicePort) error {
	return h.do("%s routes=%v nodePort=%d/%d", name, slices.Concat(p.ClusterIPs, p.External), p.NodePort, p.Protocol)
}
func (h *fakeHost) DeleteServicePort(name string) error { return h.do("- %s", name) }
func (h *fakeHost) SetNodePortAddresses(a []netip.Addr) error {
	return h.do("addresses %v", a)
}
func (h *fakeHost) ReconcileServices() error { return h.do("reconcile") }
func (h *fakeHost) Set(namespace, name string, port uint16, endpoints int) error {
	return h.do("health %s/%s %d %d", namespace, name, port, endpoints)
}
func (h *fakeHost) SetAddresses(a []netip.Addr) error { return h.do("health addresses %v", a) }
func (h *fakeHost) Ready()                            { _ = h.do("ready") }

func (h *fakeHost) set(fail error, addresses ...netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail, h.addresses = fail, addresses
}

func (h *fakeHost) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.log
	h.log = nil
	return log
}

func (h *fakeHost) host() Host {
	return Host{Network: h, NodePorts: h, Health: h,
		Addresses: func() ([]netip.Addr, error) { h.mu.Lock(); defer h.mu.Unlock(); return h.addresses, h.fail },
		Watch:     func(ctx context.Context, changed func()) { h.changed = changed; <-ctx.Done() },
	}
}

// The host follows the switch when a port comes, and precedes it when a port goes. Failed operations are repeated.
func TestHostFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := netip.MustParseAddr("192.168.0.1")
		h := &fakeHost{fail: errors.New("not now"), addresses: []netip.Addr{node}}
		flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t)}
		s := testService("web", "10.96.0.1", "80", externalLocal, nodePorts("30080"))
		s.Spec.HealthCheckNodePort = 32000
		c := startProxyAll(t, h, flows, s, testSlice("web-1", "web", "8080", here))
		require.False(t, c.isSynced(), "the addresses for NodePorts are unknown")
		require.Empty(t, flows.names())
		h.set(nil, node)
		time.Sleep(maxRetryDelay)
		synctest.Wait()
		require.True(t, c.isSynced())
		require.Equal(t, []string{"addresses [192.168.0.1]", "addresses [192.168.0.1]", "health addresses [192.168.0.1]",
			"ns/web:80/TCP routes=[10.96.0.1] nodePort=30080/6", "health ns/web 32000 1", "ready", "reconcile"}, h.take())

		h.set(errors.New("not now"), node, netip.MustParseAddr("192.168.0.2"))
		h.changed()
		require.NoError(t, c.kube.CoreV1().Services("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		synctest.Wait()
		require.Equal(t, []string{"ns/web:80/TCP"}, flows.names(), "the host still leads connections to the switch")
		require.Equal(t, []string{"ServiceNotRealized web"}, c.reasons())
		h.set(nil, node, netip.MustParseAddr("192.168.0.2"))
		time.Sleep(maxRetryDelay)
		synctest.Wait()
		require.Empty(t, flows.names())
		require.Empty(t, c.reasons())
		require.ElementsMatch(t, []string{"addresses [192.168.0.1 192.168.0.2]", "addresses [192.168.0.1 192.168.0.2]", "health addresses [192.168.0.1 192.168.0.2]",
			"- ns/web:80/TCP", "health ns/web 0 0"}, h.take())
	})
}

// An operation that has failed between switch and host is completed or undone, also if the Service changes back or is
// deleted in between.
func TestHalfDoneOperations(t *testing.T) {
	before, after := testService("web", "10.96.0.1", "80"), testService("web", "10.96.0.1", "80", externalIPs("203.0.113.1"))
	const installed, led = "+ ns/web:80/TCP 10.96.0.1:80 = 10.0.1.1:8080(here,pod)", "ns/web:80/TCP routes=[10.96.0.1] nodePort=0/6"
	for _, tc := range []struct {
		name                string
		there               bool
		hostFails           error
		switchFails         error
		change, changeAgain *corev1.Service // nil: it is deleted
		flows, host         []string        // what both do after that
	}{
		{"it came and has gone", false, errors.New("not now"), nil, before, nil, []string{"- ns/web:80/TCP"}, []string{"- ns/web:80/TCP"}},
		{"it went and is there again", true, nil, of.ErrDisconnected, nil, before, []string{installed}, []string{led}},
		{"it was changed and is as before", true, errors.New("not now"), nil, after, before, []string{installed}, []string{led}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, flows := &fakeHost{}, &lockedSwitch{fakeSwitch: newFakeSwitch(t)}
				c := startProxyAll(t, h, flows, testSlice("web-1", "web", "8080", here))
				services, there := c.kube.CoreV1().Services("ns"), false
				change := func(now *corev1.Service) {
					var err error
					switch {
					case now == nil:
						err = services.Delete(t.Context(), "web", metav1.DeleteOptions{})
					case there:
						_, err = services.Update(t.Context(), now, metav1.UpdateOptions{})
					default:
						_, err = services.Create(t.Context(), now, metav1.CreateOptions{})
					}
					require.NoError(t, err)
					there = now != nil
					synctest.Wait()
				}
				if tc.there {
					change(before)
					require.Equal(t, []string{installed}, flows.take())
				}
				h.set(tc.hostFails)
				flows.set(tc.switchFails, nil)
				change(tc.change)
				flows.take()
				h.take()
				h.set(nil)
				flows.set(nil, nil)
				change(tc.changeAgain)
				time.Sleep(maxRetryDelay)
				synctest.Wait()
				require.Equal(t, tc.flows, flows.take())
				require.Equal(t, tc.host, slices.DeleteFunc(h.take(), func(line string) bool { return strings.HasPrefix(line, "health ") }))
			})
		})
	}
}

// UDP connections are compared when no Service is left that may take a frontend, or after many attempts.
func TestFrontendsSettle(t *testing.T) {
	connections := &fakeConnections{}
	c := newController(testConfig, &lockedSwitch{fakeSwitch: newFakeSwitch(t)}, connections, connections, problem.NewRecorder())
	defer c.queue.ShutDown()
	c.core.setService(testService("dns", "10.96.0.1", "53/UDP"))
	frontend := keyOf(corev1.ProtocolUDP, openflow.Frontend{Address: netip.MustParseAddrPort("10.96.0.1:53")})
	c.queue.Add(key{Namespace: "ns", Name: "dns"})
	require.True(t, c.handleNext())
	c.queue.Add(key{Namespace: "ns", Name: "another"})
	for range 2 {
		for range maxUnsettled - 1 {
			c.settle()
		}
		require.True(t, c.allowance(frontend).unsettled)
		require.Empty(t, c.cleaner.pending)
		c.settle()
		require.False(t, c.allowance(frontend).unsettled)
		require.True(t, c.cleaner.pending[frontend])
		c.state.unsettled[frontend] = true
		clear(c.cleaner.pending)
	}
	require.True(t, c.handleNext())
	c.settle()
	require.True(t, c.cleaner.pending[frontend])
}

// UDP connections end with the Service, and stay when another port of it takes their NodePort, even if that does not succeed at once.
func TestUDPConnectionsThroughController(t *testing.T) {
	dns := testService("dns", "10.96.0.1", "53/UDP", nodePorts("30053"))
	moved := testService("dns", "10.96.0.1", "54/UDP", nodePorts("30053"))
	bad := testService("bad", "10.96.0.9", "80")
	refuse := func(prefix string) func(openflow.ServicePort) bool {
		return func(p openflow.ServicePort) bool { return strings.HasPrefix(p.Name, prefix) }
	}
	for _, tc := range []struct {
		name    string
		refused string
		now     *corev1.Service
		// The connection is there after some time, and after refused is accepted.
		kept  []time.Duration
		ended time.Duration
	}{
		{name: "the Service goes", ended: time.Second},
		{name: "another Service is refused all the time", refused: "ns/bad:", ended: time.Second},
		{name: "another port has the NodePort", now: moved, kept: []time.Duration{time.Second, time.Minute}},
		{name: "another port has it after some attempts", refused: "ns/dns:54/", now: moved, kept: []time.Duration{time.Second, 3 * time.Second}},
		{name: "another port is to have it and is refused", refused: "ns/dns:54/", now: moved, kept: []time.Duration{time.Second}, ended: 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				flows := &lockedSwitch{fakeSwitch: newFakeSwitch(t)}
				if tc.refused != "" {
					flows.set(nil, refuse(tc.refused))
				}
				c := startProxyAll(t, &fakeHost{}, flows, dns, bad, testSlice("dns-1", "dns", "53/UDP", "10.0.1.1@n1"))
				time.Sleep(time.Minute) // what was refused is tried rarely
				synctest.Wait()
				open := connection(openflow.ConntrackZoneIPv4, unix.IPPROTO_UDP, "169.254.0.252:30053", "10.0.1.1:53", serviceMark)
				c.connections.set(open)
				services := c.kube.CoreV1().Services("ns")
				var err error
				if tc.now == nil {
					err = services.Delete(t.Context(), "dns", metav1.DeleteOptions{})
				} else {
					_, err = services.Update(t.Context(), tc.now, metav1.UpdateOptions{})
				}
				require.NoError(t, err)
				for _, d := range tc.kept {
					time.Sleep(d)
					synctest.Wait()
					require.Len(t, c.connections.get(), 1, "after %s", d)
				}
				if tc.ended == 0 {
					flows.set(nil, nil)
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Len(t, c.connections.get(), 1, "once it is installed")
					return
				}
				time.Sleep(tc.ended)
				synctest.Wait()
				require.Empty(t, c.connections.get())
			})
		})
	}
}
