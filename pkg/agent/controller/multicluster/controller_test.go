// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// recorder is host and switch. It checks that the host knows the gateways to which flows lead.
type recorder struct {
	mu        sync.Mutex
	t         *testing.T
	addresses []netip.Addr
	source    netip.Addr
	clusters  []openflow.Cluster
	// tracked are the entries of conntrack by their zone, ended those that have ended.
	tracked map[uint16][]*conntrack.Connection
	ended   []*conntrack.Connection
	fail    error
	// guarded are the addresses of GuardClusters, device is nil without encryption.
	guarded []netip.Addr
	device  *fakeDevice
	unguard error
}

var errForever = errors.New("the switch refuses everything")

func (r *recorder) SetNodeAddresses(name string, addresses []netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name != holder {
		r.t.Errorf("addresses of %s", name)
	}
	r.addresses = addresses
	r.check()
	return nil
}

func (r *recorder) GuardClusters(addresses []netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unguard == nil {
		r.guarded = addresses
		r.check()
	}
	return r.unguard
}

func (r *recorder) SetClusters(source netip.Addr, clusters []openflow.Cluster) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fail; err != nil {
		if !errors.Is(err, errForever) {
			r.fail = nil
		}
		return err
	}
	r.source, r.clusters = source, clusters
	r.check()
	for _, c := range clusters {
		if r.device != nil {
			r.device.checkPeer(r, c)
		}
	}
	return nil
}

func (r *recorder) End(zone uint16, ended func(*conntrack.Connection) bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tracked[zone] = slices.DeleteFunc(r.tracked[zone], func(entry *conntrack.Connection) bool {
		ends := ended(entry)
		if ends {
			r.ended = append(r.ended, entry)
		}
		return ends
	})
	return nil
}

func (r *recorder) check() {
	for _, c := range r.clusters {
		if r.device != nil {
			r.device.check(r, c)
			continue
		}
		if c.Peer.IsValid() && !slices.Contains(r.addresses, c.Gateway) {
			r.t.Errorf("flows lead to %v, but the host knows %v", c.Gateway, r.addresses)
		}
	}
}

func (r *recorder) state() (netip.Addr, []openflow.Cluster, []netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source, r.clusters, r.addresses
}

// bench is a controller of Node n1 with its surroundings.
type bench struct {
	*recorder
	*Controller
	problems *problem.Recorder
	objects  dynamic.Interface
}

func newBench(t *testing.T, fail error, objects ...runtime.Object) *bench {
	t.Helper()
	return newBenchWith(t, &recorder{fail: fail}, func() error { return nil }, objects...)
}

// newBenchWith makes a bench whose Kubernetes API answers with an error as long as away returns one.
func newBenchWith(t *testing.T, r *recorder, away func() error, objects ...runtime.Object) *bench {
	t.Helper()
	return newBenchOf(t, r, away, false, objects...)
}

func newBenchOf(t *testing.T, r *recorder, away func() error, podToPod bool, objects ...runtime.Object) *bench {
	t.Helper()
	r.t = t
	if r.tracked == nil {
		r.tracked = map[uint16][]*conntrack.Connection{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	kube := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	reader := noderoute.NewReader()
	require.NoError(t, reader.Follow(kube.Core().V1().Nodes()))
	b := &bench{recorder: r, problems: problem.NewRecorder()}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		v1alpha1.Gateways: "GatewayList", v1alpha1.ClusterInfoImports: "ClusterInfoImportList",
	})
	b.objects = client
	for _, o := range objects {
		b.create(o)
	}
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := away()
		return err != nil, nil, err
	})
	var err error
	b.Controller, err = New(Config{NodeName: "n1", Namespace: "kube-system", PodToPod: podToPod, Objects: b.objects, Nodes: reader, Flows: b.recorder, Host: b.recorder, End: b.End, Problems: b.problems})
	require.NoError(t, err)
	b.patience = 10 * time.Millisecond
	b.SetNeeded([]dependency.Address{{Addr: addr("172.18.0.1"), Kind: dependency.Host, What: "a next hop of the Node"}})
	b.Controller.setNode("n1", noderoute.Accepted{Addresses: []netip.Addr{addr("172.18.0.2")}})
	b.Controller.setNode("n2", noderoute.Accepted{Addresses: []netip.Addr{addr("172.18.0.3")}})
	kube.Start(ctx.Done())
	done := make(chan struct{})
	go func() { defer close(done); b.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; kube.Shutdown() })
	return b
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	if o.GetKind() == v1alpha1.GatewayKind {
		return v1alpha1.Gateways
	}
	return v1alpha1.ClusterInfoImports
}

func (b *bench) create(object runtime.Object) {
	o := object.(*unstructured.Unstructured)
	_, err := b.objects.Resource(resourceOf(o)).Namespace(o.GetNamespace()).Create(context.Background(), o, metav1.CreateOptions{})
	require.NoError(b.t, err)
}

func (b *bench) update(object runtime.Object) {
	o := object.(*unstructured.Unstructured)
	_, err := b.objects.Resource(resourceOf(o)).Namespace(o.GetNamespace()).Update(context.Background(), o, metav1.UpdateOptions{})
	require.NoError(b.t, err)
}

func (b *bench) remove(resource schema.GroupVersionResource, name string) {
	require.NoError(b.t, b.objects.Resource(resource).Namespace("kube-system").Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// becomes waits until the switch leads to these clusters, as the gateway Node or not.
func (b *bench) becomes(gateway bool, clusters ...openflow.Cluster) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		source, have, _ := b.state()
		return source.IsValid() == gateway && (&decision{source: source, clusters: have}).sameWays(&decision{source: source, clusters: clusters})
	}, 20*time.Second, time.Millisecond)
}

// first is the first problem.
func (b *bench) first() problem.Problem {
	if problems, _ := b.problems.List(); len(problems) > 0 {
		return problems[0]
	}
	return problem.Problem{}
}

func encode(t *testing.T, kind string, object any) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	return u
}

func TestController(t *testing.T) {
	gateway := func(node, internal string) *unstructured.Unstructured {
		return encode(t, v1alpha1.GatewayKind, gatewayOf(node, "192.0.2.1", internal))
	}
	closed := clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2")
	closed.Peer = netip.Addr{}
	imported := func(services, ip string) *unstructured.Unstructured {
		return encode(t, v1alpha1.ClusterInfoImportKind, importOf("west", services, ip, 1))
	}
	direct := clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2")
	b := newBench(t, errors.New("the switch is away"), gateway("n1", "172.18.0.2"), imported("10.112.0.0/12", "172.19.0.2"))
	<-b.Synced()
	b.becomes(true, direct)

	b.recorder.mu.Lock()
	local, out := connectionOf("10.244.0.5", "10.96.0.9", "10.244.0.5", 0), connectionOf("10.244.0.5", "10.112.0.9", "10.244.0.5", snatMark)
	b.recorder.tracked[openflow.ConntrackZoneIPv4] = []*conntrack.Connection{local, out}
	b.recorder.tracked[openflow.ConntrackZoneSNAT] = []*conntrack.Connection{connectionOf("10.244.0.5", "10.112.0.9", "192.0.2.1", snatMark)}
	b.recorder.mu.Unlock()
	b.remove(v1alpha1.Gateways, "n1")
	b.becomes(false, closed)
	b.create(gateway("n2", "172.18.0.3"))
	b.becomes(false, clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.18.0.3"))
	require.Eventually(t, func() bool {
		b.recorder.mu.Lock()
		defer b.recorder.mu.Unlock()
		return len(b.recorder.ended) == 2 && slices.Equal(b.recorder.tracked[openflow.ConntrackZoneIPv4], []*conntrack.Connection{local})
	}, 20*time.Second, time.Millisecond)
	b.update(imported("10.112.0.0/12", "172.19.0.9"))
	b.becomes(false, clusterTo("west", "10.112.0.0/12", "172.19.0.9", "172.18.0.3"))
	require.Eventually(t, func() bool {
		_, _, addresses := b.state()
		return len(addresses) == 3 && addresses[1] == addr("172.19.0.9")
	}, 20*time.Second, time.Millisecond, "the former gateway's address is removed")

	b.update(imported("10.96.0.0/16", "172.19.0.9"))
	b.becomes(false)
	require.Equal(t, ReasonClusterRefused, b.first().Reason)
	b.SetNeeded([]dependency.Address{{Addr: addr("172.19.0.9"), Kind: dependency.Server, What: "the name server"}})
	b.update(imported("10.112.0.0/12", "172.19.0.9"))
	require.Eventually(t, func() bool {
		return b.first().Message == "it has no effect: its gateway address 172.19.0.9 is the name server of this cluster"
	},
		20*time.Second, time.Millisecond)
	b.SetNeeded(nil)
	b.becomes(false, clusterTo("west", "10.112.0.0/12", "172.19.0.9", "172.18.0.3"))
	require.Eventually(t, func() bool { return b.first() == problem.Problem{} }, 20*time.Second, time.Millisecond)
	pods := importOf("west", "10.112.0.0/12", "172.19.0.9", 1)
	pods.Spec.PodCIDRs = []string{"172.18.0.0/24"}
	b.update(encode(t, v1alpha1.ClusterInfoImportKind, pods))
	b.becomes(false, clusterTo("west", "10.112.0.0/12", "172.19.0.9", "172.18.0.3"))
	require.Equal(t, problem.Problem{}, b.first())
	b.remove(v1alpha1.ClusterInfoImports, "west-clusterinfo")
	b.becomes(false)
}

// TestControllerOfPods: the Pod networks of another cluster are led there as well, and follow its object. Wrong ones are reported.
func TestControllerOfPods(t *testing.T) {
	gateway := encode(t, v1alpha1.GatewayKind, gatewayOf("n1", "192.0.2.1", "172.18.0.2"))
	imported := func(pods string) *unstructured.Unstructured {
		return encode(t, v1alpha1.ClusterInfoImportKind, importOfWest(pods))
	}
	services := clusterTo("west", "10.112.0.0/12", "172.19.0.2", "172.19.0.2")
	with := func(pods string) openflow.Cluster {
		c := services
		c.Networks = append(slices.Clone(c.Networks), netip.MustParsePrefix(pods))
		return c
	}
	b := newBenchOf(t, &recorder{}, func() error { return nil }, true, gateway, imported("10.40.0.0/16"))
	<-b.Synced()
	b.becomes(true, with("10.40.0.0/16"))
	b.update(imported("10.41.0.0/16"))
	b.becomes(true, with("10.41.0.0/16"))
	b.update(imported("172.18.0.0/24"))
	b.becomes(true, services)
	require.Equal(t, "its Pod networks have no effect: 172.18.0.0/24 overlaps 172.18.0.1, a next hop of the Node of this cluster", b.first().Message)
	b.SetNeeded(nil)
	require.Eventually(t, func() bool {
		return b.first().Message == "its Pod networks have no effect: 172.18.0.0/24 overlaps 172.18.0.2, an address of a Node of this cluster"
	}, 20*time.Second, time.Millisecond)
	b.update(imported("10.41.0.0/16"))
	b.becomes(true, with("10.41.0.0/16"))
	require.Eventually(t, func() bool { return b.first() == problem.Problem{} }, 20*time.Second, time.Millisecond)
}

// TestStart: the start ends without any object, and after a while without CRDs or rights or if the switch refuses the flows. It does not end while the Kubernetes
// API does not answer: the flows of the former agent may lead to other clusters.
func TestStart(t *testing.T) {
	b := newBench(t, nil)
	<-b.Synced()
	b.becomes(false)
	<-newBenchWith(t, &recorder{}, func() error { return apierrors.NewNotFound(v1alpha1.Gateways.GroupResource(), "") }).Synced()
	<-newBenchWith(t, &recorder{}, func() error { return apierrors.NewForbidden(v1alpha1.Gateways.GroupResource(), "", nil) }).Synced()
	<-newBench(t, errForever).Synced()
	var answers atomic.Bool
	asked := make(chan struct{}, 100)
	b = newBenchWith(t, &recorder{}, func() error {
		if answers.Load() {
			return nil
		}
		asked <- struct{}{}
		return errors.New("the API is away")
	})
	for range 6 {
		<-asked // The informers wait for longer than the patience of these tests between two attempts.
	}
	select {
	case <-b.Synced():
		t.Fatal("the start has ended")
	default:
	}
	answers.Store(true)
	<-b.Synced()
}
