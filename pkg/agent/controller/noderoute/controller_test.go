// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// The contracts of the real clients.
var (
	_ FlowClient  = openflow.Client(nil)
	_ RouteClient = route.Interface(nil)
)

// recorder is both clients: it notes each successful call as text, and fails calls on demand.
type recorder struct {
	mutex sync.Mutex
	calls []string
	// addresses are those of all Nodes. Calls that set them are not among the others.
	addresses map[string]string
	// failures is how often each call has still to fail; failed counts those that did.
	failures map[string]int
	failed   map[string]int
}

func newRecorder(failures map[string]int) *recorder {
	return &recorder{addresses: map[string]string{}, failures: failures, failed: map[string]int{}}
}

func (r *recorder) call(format string, args ...any) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text := fmt.Sprintf(format, args...)
	if r.failures[text] > 0 {
		r.failures[text]--
		r.failed[text]++
		return errors.New("planned failure")
	}
	r.calls = append(r.calls, text)
	return nil
}

func (r *recorder) SetNodeAddresses(node string, addresses []netip.Addr) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text := fmt.Sprintf("addresses %s %v", node, addresses)
	switch {
	case r.failures[text] > 0:
		r.failures[text]--
		r.failed[text]++
		return errors.New("planned failure")
	case len(addresses) == 0:
		delete(r.addresses, node)
	default:
		r.addresses[node] = fmt.Sprint(addresses)
	}
	return nil
}

func (r *recorder) addressesOf(node string) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.addresses[node]
}

func (r *recorder) InstallNodeFlows(node string, peers map[netip.Prefix]openflow.Peer) error {
	if r.addressesOf(node) == "" {
		return fmt.Errorf("flows of Node %s come before its addresses", node)
	}
	gateways, ip := map[netip.Prefix]netip.Addr{}, netip.Addr{}
	for cidr, p := range peers {
		gateways[cidr], ip = p.Gateway, p.TunnelIP
	}
	return r.call("flows+ %s %v %s", node, gateways, ip) // fmt prints maps in the order of their keys' bytes
}
func (r *recorder) UninstallNodeFlows(node string) error {
	if r.addressesOf(node) == "" {
		return fmt.Errorf("the addresses of Node %s go before its flows", node)
	}
	return r.call("flows- %s", node)
}
func (r *recorder) AddRoutes(cidr netip.Prefix, node string, ip, gateway netip.Addr) error {
	return r.call("route+ %s %s %s %s", cidr, node, ip, gateway)
}
func (r *recorder) DeleteRoutes(cidr netip.Prefix) error    { return r.call("route- %s", cidr) }
func (r *recorder) Reconcile(podCIDRs []netip.Prefix) error { return r.call("reconcile %v", podCIDRs) }

func (r *recorder) fail(text string, times int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.failures[text] = times
}

func (r *recorder) failuresOf(text string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.failed[text]
}

// take returns the calls so far and forgets them.
func (r *recorder) take() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func (r *recorder) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.calls)
}

type fixture struct {
	*recorder
	t          *testing.T
	client     *fake.Clientset
	controller *Controller
}

// start runs the controller on node1 with the given Nodes, and gives the failures before it starts.
func start(t *testing.T, failures map[string]int, nodes ...*corev1.Node) *fixture {
	t.Helper()
	var objects []runtime.Object
	for _, n := range nodes {
		objects = append(objects, n)
	}
	if failures == nil {
		failures = map[string]int{}
	}
	f := &fixture{t: t, client: fake.NewClientset(objects...), recorder: newRecorder(failures)}
	factory := informers.NewSharedInformerFactory(f.client, 0)
	var err error
	f.controller, err = New(factory.Core().V1().Nodes(), f.recorder, f.recorder,
		&config.NetworkConfig{IPv4Enabled: true},
		&config.NodeConfig{Name: "node1", PodIPv4CIDR: netip.MustParsePrefix("10.10.1.0/24"), Uplink: config.Uplink{IPv4: netip.MustParsePrefix("192.168.0.1/24")}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.controller.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		factory.Shutdown()
	})
	return f
}

func (f *fixture) waitSynced() {
	f.t.Helper()
	select {
	case <-f.controller.Synced():
	case <-time.After(20 * time.Second):
		require.Fail(f.t, "not synced", "calls: %v", f.take())
	}
}

// expect waits for exactly these calls in this order.
func (f *fixture) expect(calls ...string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.count() >= len(calls) }, 20*time.Second, 5*time.Millisecond, "want %v", calls)
	require.Equal(f.t, calls, f.take())
}

func (f *fixture) update(node *corev1.Node) {
	f.t.Helper()
	_, err := f.client.CoreV1().Nodes().Update(context.Background(), node, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

func (f *fixture) create(node *corev1.Node) {
	f.t.Helper()
	_, err := f.client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *fixture) remove(name string) {
	f.t.Helper()
	require.NoError(f.t, f.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}))
}

func node(name, ip, cidr string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if ip != "" {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}}
	}
	if cidr != "" {
		n.Spec.PodCIDRs = []string{cidr}
	}
	return n
}

var (
	own   = node("node1", "192.168.0.1", "10.10.1.0/24")
	node2 = node("node2", "192.168.0.2", "10.10.2.0/24")
)

const (
	flows2     = "flows+ node2 map[10.10.2.0/24:10.10.2.1] 192.168.0.2"
	route2     = "route+ 10.10.2.0/24 node2 192.168.0.2 10.10.2.1"
	reconcile2 = "reconcile [10.10.2.0/24]"
)

func TestStartUp(t *testing.T) {
	f := start(t, nil, own, node2, node("node3", "192.168.0.3", "10.10.3.0/24"), node("no-cidr-yet", "192.168.0.4", ""))
	f.waitSynced()
	calls := f.take()
	require.Len(t, calls, 5)
	require.Less(t, slices.Index(calls, flows2), slices.Index(calls, route2), "flows before routes")
	require.Equal(t, "reconcile [10.10.2.0/24 10.10.3.0/24]", calls[4], "reconciliation comes last")
	require.Equal(t, []Peer{*peer("node2", "192.168.0.2", "10.10.2.0/24"), *peer("node3", "192.168.0.3", "10.10.3.0/24")}, f.controller.Peers())
}

func TestStartUpAlone(t *testing.T) {
	f := start(t, nil, own)
	f.waitSynced()
	f.expect("reconcile []")
	require.Empty(t, f.controller.Peers())
}

func TestLifeOfANode(t *testing.T) {
	f := start(t, nil, own)
	f.waitSynced()
	f.take()

	f.create(node2)
	f.expect(flows2, route2)

	f.update(node("node2", "192.168.0.22", "10.10.2.0/24"))
	f.expect("flows+ node2 map[10.10.2.0/24:10.10.2.1] 192.168.0.22", "route+ 10.10.2.0/24 node2 192.168.0.22 10.10.2.1")

	annotated := node("node2", "192.168.0.22", "10.10.2.0/24")
	annotated.Annotations = map[string]string{TransportAddressesAnnotation: "172.16.0.2"}
	f.update(annotated)
	f.expect("flows+ node2 map[10.10.2.0/24:10.10.2.1] 172.16.0.2", "route+ 10.10.2.0/24 node2 172.16.0.2 10.10.2.1")

	f.update(node("node2", "192.168.0.2", "10.10.9.0/24"))
	f.expect("route- 10.10.2.0/24", "flows- node2", "flows+ node2 map[10.10.9.0/24:10.10.9.1] 192.168.0.2", "route+ 10.10.9.0/24 node2 192.168.0.2 10.10.9.1")
	require.Equal(t, []Peer{*peer("node2", "192.168.0.2", "10.10.9.0/24")}, f.controller.Peers())

	f.remove("node2")
	f.expect("route- 10.10.9.0/24", "flows- node2")
	require.Eventually(t, func() bool { return len(f.controller.Peers()) == 0 }, 20*time.Second, time.Millisecond)
}

func TestChangesThatDoNotMatterAreIgnored(t *testing.T) {
	f := start(t, nil, own, node2)
	f.waitSynced()
	f.take()
	ready := node2.DeepCopy()
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	f.update(ready)
	f.update(node("node1", "192.168.0.99", "10.10.99.0/24")) // the Node itself
	f.create(node("last", "192.168.0.5", "10.10.5.0/24"))
	f.expect("flows+ last map[10.10.5.0/24:10.10.5.1] 192.168.0.5", "route+ 10.10.5.0/24 last 192.168.0.5 10.10.5.1")
}

func TestUnusableNodeKeepsWhatItHad(t *testing.T) {
	f := start(t, nil, own, node2)
	f.waitSynced()
	f.take()
	f.update(node("node2", "", "10.10.2.0/24"))
	f.update(node("node2", "192.168.0.22", "10.10.2.0/24"))
	f.expect("flows+ node2 map[10.10.2.0/24:10.10.2.1] 192.168.0.22", "route+ 10.10.2.0/24 node2 192.168.0.22 10.10.2.1")
}

func TestUnusableNodesDoNotDelayStartUp(t *testing.T) {
	f := start(t, nil, own, node2, node("no-address", "", "10.10.3.0/24"), node("claims-ours", "192.168.0.4", "10.10.1.0/24"))
	f.waitSynced()
	require.Equal(t, []string{flows2, route2, reconcile2}, f.take())
}

func TestDuplicatePodCIDR(t *testing.T) {
	f := start(t, nil, own, node2)
	f.waitSynced()
	f.take()
	f.create(node("node2-renamed", "192.168.0.2", "10.10.2.0/24"))
	// Its first attempt has failed when the queue counts a retry.
	require.Eventually(t, func() bool { return f.controller.queue.NumRequeues("node2-renamed") > 0 }, 20*time.Second, time.Millisecond)
	require.Zero(t, f.count())
	f.remove("node2")
	f.expect("route- 10.10.2.0/24", "flows- node2",
		"flows+ node2-renamed map[10.10.2.0/24:10.10.2.1] 192.168.0.2", "route+ 10.10.2.0/24 node2-renamed 192.168.0.2 10.10.2.1")
}

func TestFailuresAtStartUpAreRetriedBeforeSynced(t *testing.T) {
	for _, failing := range []string{flows2, route2, reconcile2} {
		t.Run(failing, func(t *testing.T) {
			f := start(t, map[string]int{failing: 2}, own, node2)
			f.waitSynced()
			require.Equal(t, 2, f.failuresOf(failing))
			require.Equal(t, []string{flows2, route2, reconcile2}, f.take(), "what succeeded is not repeated, and the order holds")
		})
	}
}

func TestSyncedWaitsForFailingClients(t *testing.T) {
	f := start(t, map[string]int{flows2: 1 << 30}, own, node2, node("node3", "192.168.0.3", "10.10.3.0/24"))
	require.Eventually(t, func() bool { return f.failuresOf(flows2) >= 3 && f.count() == 2 }, 20*time.Second, time.Millisecond)
	select {
	case <-f.controller.Synced():
		require.Fail(t, "synced without the flows of node2")
	default:
	}
	f.fail(flows2, 0)
	f.waitSynced()
}

func TestFailedRemovalIsRetried(t *testing.T) {
	for _, failing := range []string{"route- 10.10.2.0/24", "flows- node2"} {
		t.Run(failing, func(t *testing.T) {
			f := start(t, nil, own, node2)
			f.waitSynced()
			f.take()
			f.fail(failing, 2)
			f.remove("node2")
			f.expect("route- 10.10.2.0/24", "flows- node2")
			require.Equal(t, 2, f.failuresOf(failing))
		})
	}
}

func TestRemovalCleansUpAfterFailedAddition(t *testing.T) {
	f := start(t, nil, own)
	f.waitSynced()
	f.take()
	f.fail(route2, 1<<30)
	f.create(node2)
	require.Eventually(t, func() bool { return f.failuresOf(route2) > 0 }, 20*time.Second, time.Millisecond)
	f.remove("node2")
	f.expect(flows2, "route- 10.10.2.0/24", "flows- node2")
}

// Of every Node, this one included, all addresses are known that some Node may send tunnel packets to.
func TestAddressesOfAllNodes(t *testing.T) {
	f := start(t, map[string]int{"addresses node2 [192.168.0.2]": 2}, own, node2, node("no-cidr-yet", "192.168.0.4", ""))
	f.waitSynced()
	require.Equal(t, 2, f.failuresOf("addresses node2 [192.168.0.2]"), "a failure is repeated before the controller has synced")
	require.Equal(t, []string{flows2, route2, reconcile2}, f.take())
	becomes := func(name, addresses string) {
		t.Helper()
		require.Eventually(t, func() bool { return f.addressesOf(name) == addresses }, 20*time.Second, time.Millisecond,
			"addresses of %s: %s, want %s", name, f.addressesOf(name), addresses)
	}
	becomes("node1", "[192.168.0.1]")
	becomes("node2", "[192.168.0.2]")
	becomes("no-cidr-yet", "[192.168.0.4]")

	all := node("node2", "192.168.0.2", "10.10.2.0/24")
	all.Annotations = map[string]string{TransportAddressesAnnotation: "172.16.0.2,fd00::2"}
	all.Status.Addresses = append(all.Status.Addresses,
		corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.2"}, corev1.NodeAddress{Type: corev1.NodeHostName, Address: "192.0.2.2"})
	f.update(all)
	becomes("node2", "[172.16.0.2 fd00::2 192.168.0.2 203.0.113.2]")
	f.update(node("node1", "192.168.0.11", "10.10.1.0/24"))
	becomes("node1", "[192.168.0.11]")

	unusable := node("node2", "192.168.0.2", "no network")
	unusable.Annotations = map[string]string{TransportAddressesAnnotation: "no address"}
	f.update(unusable)
	becomes("node2", "[192.168.0.2]")
	f.remove("node2")
	becomes("node2", "")
}

func TestRunEndsWithoutSync(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0) // never started
	r := newRecorder(nil)
	c, err := New(factory.Core().V1().Nodes(), r, r, &config.NetworkConfig{IPv4Enabled: true}, &config.NodeConfig{Name: "node1"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Run(ctx)
	require.Empty(t, r.take())
}
