// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The contracts of the real clients.
var (
	_ FlowClient  = openflow.Client(nil)
	_ RouteClient = route.Interface(nil)
)

// recorder implements both clients. It records each successful call as text, and fails calls on demand.
type recorder struct {
	mutex sync.Mutex
	calls []string
	// addresses are the addresses of all Nodes. Calls that set them are not recorded with the others.
	addresses map[string]string
	// guarded are the networks of all Nodes that are guarded.
	guarded map[string][]netip.Prefix
	// failures is the number of times that each call must still fail; failed counts the failures.
	failures map[string]int
	failed   map[string]int
	// failure is their error. By default it is one whose end an agent waits for.
	failure error
}

var errTransient = fmt.Errorf("planned failure: %w", of.ErrDisconnected)

func newRecorder(failures map[string]int) *recorder {
	return &recorder{addresses: map[string]string{}, guarded: map[string][]netip.Prefix{}, failures: failures, failed: map[string]int{}, failure: errTransient}
}

func (r *recorder) call(format string, args ...any) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text := fmt.Sprintf(format, args...)
	if r.failures[text] > 0 {
		r.failures[text]--
		r.failed[text]++
		return r.failure
	}
	if r.failures["panic "+text] > 0 {
		r.failures["panic "+text]--
		r.failed["panic "+text]++
		panic("planned panic")
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
		return r.failure
	case len(addresses) == 0:
		delete(r.addresses, node)
	default:
		r.addresses[node] = fmt.Sprint(addresses)
	}
	return nil
}

func (r *recorder) Guard(node string, cidrs []netip.Prefix) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.guarded[node] = cidrs; len(cidrs) == 0 {
		delete(r.guarded, node)
	}
	return nil
}

func (r *recorder) guards(node string, cidr netip.Prefix) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Contains(r.guarded[node], cidr)
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
		if !r.guards(node, cidr) {
			return fmt.Errorf("flows of Node %s come before %s is guarded", node, cidr)
		}
		gateways[cidr], ip = p.Gateway, p.Reach.Address
	}
	return r.call("flows+ %s %v %s", node, gateways, ip) // fmt prints maps in the order of their keys' bytes
}
func (r *recorder) UninstallNodeFlows(node string) error {
	if r.addressesOf(node) == "" {
		return fmt.Errorf("the addresses of Node %s go before its flows", node)
	}
	return r.call("flows- %s", node)
}
func (r *recorder) AddRoutes(cidr netip.Prefix, node string, by reach.Reach, gateway netip.Addr) error {
	return r.call("route+ %s %s %s %s", cidr, node, by.Address, gateway)
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

// take returns and forgets the calls so far.
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
	problems   *problem.Recorder
}

// start runs the controller on node1 with the given Nodes, and gives the failures before it starts.
func start(t *testing.T, failures map[string]int, nodes ...*corev1.Node) *fixture {
	t.Helper()
	return startWith(t, errTransient, failures, nodes...)
}

// startWith is start with the given error of the clients.
func startWith(t *testing.T, failure error, failures map[string]int, nodes ...*corev1.Node) *fixture {
	t.Helper()
	var objects []runtime.Object
	for _, n := range nodes {
		objects = append(objects, n)
	}
	if failures == nil {
		failures = map[string]int{}
	}
	f := &fixture{t: t, client: fake.NewClientset(objects...), recorder: newRecorder(failures), problems: problem.NewRecorder()}
	f.failure = failure
	factory := informers.NewSharedInformerFactory(f.client, 0)
	var err error
	f.controller, err = New(factory.Core().V1().Nodes(), f.recorder, f.recorder,
		&config.NetworkConfig{IPv4Enabled: true},
		&config.NodeConfig{Name: "node1", PodIPv4CIDR: netip.MustParsePrefix("10.10.1.0/24"), Uplink: config.Uplink{IPv4: netip.MustParsePrefix("192.168.0.1/24")}}, f.problems)
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
	require.Eventually(f.t, func() bool { return f.count() >= len(calls) }, time.Minute, 5*time.Millisecond, "want %v", calls)
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

// TestGuardsNodesThatAreNotConnected: nothing leaves in clear for Pods of a Node whose object is wrong, as long as there is one. Addresses that the Node
// itself needs are not cut off.
func TestGuardsNodesThatAreNotConnected(t *testing.T) {
	unreadable := node("node3", "192.168.0.3", "10.10.3.0/24")
	unreadable.Annotations = map[string]string{TransportAddressesAnnotation: "nonsense"}
	f := start(t, nil, own, node2, unreadable, node("no-address", "", "10.10.4.0/24"), node("greedy", "192.168.0.5", "192.168.0.0/25"))
	f.waitSynced()
	require.Len(t, f.controller.Peers(), 1)
	network := netip.MustParsePrefix
	require.True(t, f.guards("node2", network("10.10.2.0/24")))
	require.True(t, f.guards("node3", network("10.10.3.0/24")))
	require.True(t, f.guards("no-address", network("10.10.4.0/24")))
	require.False(t, f.guards("greedy", network("192.168.0.0/25")), "it has addresses of Nodes")
	f.remove("node3")
	require.Eventually(t, func() bool { return !f.guards("node3", network("10.10.3.0/24")) }, time.Minute, 5*time.Millisecond)
}

// TestGuardsBeforeTheFirstNodeIsHandled: flows of a former agent may lead to any of them.
func TestGuardsBeforeTheFirstNodeIsHandled(t *testing.T) {
	r := newRecorder(nil)
	factory := informers.NewSharedInformerFactory(fake.NewClientset(own, node2), 0)
	c, err := New(factory.Core().V1().Nodes(), r, r, &config.NetworkConfig{IPv4Enabled: true}, &config.NodeConfig{Name: "node1"}, problem.NewRecorder())
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	require.NoError(t, c.noteInitialNodes())
	require.True(t, r.guards("node2", netip.MustParsePrefix("10.10.2.0/24")))
	require.Empty(t, r.guarded["node1"])
}

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
	require.Eventually(t, func() bool { return len(f.controller.Peers()) == 0 }, time.Minute, time.Millisecond)
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

// problemsOf returns the reasons of the Node's present problems.
func (f *fixture) problemsOf(name string) (reasons []problem.Reason) {
	all, _ := f.problems.List()
	for _, p := range all {
		if p.Subject.Kind == "Node" && p.Subject.Name == name {
			reasons = append(reasons, p.Reason)
		}
	}
	return reasons
}

func (f *fixture) waitProblems(name string, want ...problem.Reason) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return slices.Equal(want, f.problemsOf(name)) }, time.Minute, time.Millisecond, "problems of %s", name)
}

func TestYoungerNodeWaitsForItsPodCIDR(t *testing.T) {
	for name, cidr := range map[string]string{"equal": "10.10.2.0/24", "a part": "10.10.2.128/25", "more": "10.10.2.0/23"} {
		t.Run(name, func(t *testing.T) {
			f := start(t, nil, own, node2)
			f.waitSynced()
			f.take()
			late := node("node2-again", "192.168.0.22", cidr)
			late.CreationTimestamp = metav1.Unix(1, 0).Rfc3339Copy()
			f.create(late)
			f.waitProblems("node2-again", ReasonPodCIDROverlaps)
			require.Zero(t, f.count())
			f.remove("node2")
			f.waitProblems("node2-again")
			gateway := netip.MustParsePrefix(cidr).Addr().Next()
			f.expect("route- 10.10.2.0/24", "flows- node2",
				fmt.Sprintf("flows+ node2-again map[%s:%s] 192.168.0.22", cidr, gateway), fmt.Sprintf("route+ %s node2-again 192.168.0.22 %s", cidr, gateway))
		})
	}
}

// The same Nodes have the same Pod networks, whichever the agent has seen first.
func TestOlderNodeGetsItsPodCIDRBack(t *testing.T) {
	late := node("a-late-node", "192.168.0.22", "10.10.2.0/25")
	late.CreationTimestamp = metav1.Unix(1, 0).Rfc3339Copy()
	f := start(t, nil, own, late)
	f.waitSynced()
	f.take()
	f.create(node2)
	f.expect("route- 10.10.2.0/25", "flows- a-late-node", flows2, route2)
	f.waitProblems("a-late-node", ReasonPodCIDROverlaps)
}

// An error in a Node is reported for that Node, whatever it is, and all others are connected.
func TestLyingNodesDelayNobody(t *testing.T) {
	cidr := func(cidrs ...string) *corev1.Node {
		n := node("liar", "192.168.0.9", "")
		n.Spec.PodCIDRs = cidrs
		return n
	}
	annotated := func(value string) *corev1.Node {
		n := node("liar", "192.168.0.9", "10.10.9.0/24")
		n.Annotations = map[string]string{TransportAddressesAnnotation: value}
		return n
	}
	var hundreds []string
	for i := range 300 {
		hundreds = append(hundreds, fmt.Sprintf("10.20.%d.0/24", i%256))
	}
	manyAddresses := node("liar", "", "10.10.9.0/24")
	for i := range 1000 {
		manyAddresses.Status.Addresses = append(manyAddresses.Status.Addresses,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.168.%d.%d", 10+i/256, i%256)})
	}
	const none = ""
	for name, tc := range map[string]struct {
		liar *corev1.Node
		// peer is the part of the liar that is connected.
		peer   string
		reason problem.Reason
	}{
		"own Pod network":                {cidr("10.10.1.0/24"), none, ReasonPodCIDROverlaps},
		"around the own Pod network":     {cidr("10.10.0.0/16"), none, ReasonPodCIDROverlaps},
		"part of the own Pod network":    {cidr("10.10.1.128/25"), none, ReasonPodCIDROverlaps},
		"another Node's Pod network":     {cidr("10.10.2.0/24"), none, ReasonPodCIDROverlaps},
		"part of another Node's":         {cidr("10.10.2.0/25"), none, ReasonPodCIDROverlaps},
		"around another Node's":          {cidr("10.10.2.0/23"), none, ReasonPodCIDROverlaps},
		"everything":                     {cidr("0.0.0.0/0"), none, ReasonPodCIDRInvalid},
		"half of everything":             {cidr("128.0.0.0/1"), none, ReasonPodCIDRInvalid},
		"loopback":                       {cidr("127.0.5.0/24"), none, ReasonPodCIDRInvalid},
		"multicast":                      {cidr("224.0.1.0/24"), none, ReasonPodCIDRInvalid},
		"link-local":                     {cidr("169.254.1.0/24"), none, ReasonPodCIDRInvalid},
		"IPv4 as IPv6":                   {cidr("::ffff:10.10.9.0/120"), none, ReasonPodCIDRInvalid},
		"one address":                    {cidr("10.10.9.1/32"), none, ReasonPodCIDRInvalid},
		"garbage":                        {cidr("ten"), none, ReasonPodCIDRInvalid},
		"garbage and more":               {cidr("ten", "10.10.9.0/24"), "10.10.9.0/24 192.168.0.9", ReasonPodCIDRInvalid},
		"not masked":                     {cidr("10.10.9.7/24"), "10.10.9.0/24 192.168.0.9", none},
		"of another IP version":          {cidr("fd00:9::/64"), none, none},
		"hundreds":                       {cidr(hundreds...), "10.20.0.0/24 192.168.0.9", ReasonPodCIDRInvalid},
		"this Node's address":            {cidr("192.168.0.0/31"), none, ReasonPodCIDRInvalid},
		"all Nodes' addresses":           {cidr("192.168.0.0/16"), none, ReasonPodCIDRInvalid},
		"beside Nodes' addresses":        {cidr("192.168.0.4/30"), "192.168.0.4/30 192.168.0.9", none},
		"its own address":                {cidr("192.168.0.8/30"), none, ReasonNodeAddressInvalid},
		"no address":                     {node("liar", "", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address of no host":             {node("liar", "0.0.0.0", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: loopback":              {node("liar", "127.0.0.1", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: multicast":             {node("liar", "224.0.0.1", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: broadcast":             {node("liar", "255.255.255.255", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: link-local":            {node("liar", "169.254.0.9", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: with zone":             {node("liar", "fe80::1%eth0", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: this Node's":           {node("liar", "192.168.0.1", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: in this Node's Pods":   {node("liar", "10.10.1.9", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: in node2's Pods":       {node("liar", "10.10.2.9", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: in its own Pods":       {node("liar", "10.10.9.9", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"address: node2's":               {node("liar", "192.168.0.2", "10.10.9.0/24"), "10.10.9.0/24 192.168.0.2", none},
		"address: of another IP version": {node("liar", "fd00::9", "10.10.9.0/24"), none, ReasonNodeAddressInvalid},
		"a thousand addresses":           {manyAddresses, "10.10.9.0/24 192.168.10.0", ReasonNodeAddressInvalid},
		"annotation: garbage":            {annotated("nine"), none, ReasonNodeAddressInvalid},
		"annotation: loopback":           {annotated("127.0.0.1"), "10.10.9.0/24 192.168.0.9", ReasonNodeAddressInvalid},
		"annotation: this Node's":        {annotated("192.168.0.1"), "10.10.9.0/24 192.168.0.9", ReasonNodeAddressInvalid},
		"annotation: in node2's Pods":    {annotated("10.10.2.9"), "10.10.9.0/24 192.168.0.9", ReasonNodeAddressInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			tc.liar.CreationTimestamp = metav1.Unix(1, 0).Rfc3339Copy()
			node3 := node("node3", "192.168.0.3", "10.10.4.0/24")
			f := start(t, nil, own, node2, node3, tc.liar)
			f.waitSynced()
			want := []Peer{*peer("node2", "192.168.0.2", "10.10.2.0/24"), *peer("node3", "192.168.0.3", "10.10.4.0/24")}
			if cidr, ip, connected := strings.Cut(tc.peer, " "); connected {
				want = slices.Insert(want, 0, *peer("liar", ip, cidr))
			}
			require.Equal(t, want, f.controller.Peers())
			if tc.reason == none {
				f.waitProblems("liar")
			} else {
				f.waitProblems("liar", tc.reason)
			}
			all, _ := f.problems.List()
			for _, p := range all {
				require.Equal(t, "liar", p.Subject.Name, "%v", p)
				require.Contains(t, p.Message, "liar")
			}
			f.remove("liar")
			f.waitProblems("liar")
			require.Eventually(t, func() bool { return f.addressesOf("liar") == "" }, time.Minute, time.Millisecond)
		})
	}
}

// When this Node is the wrong one, it continues and is told.
func TestOwnNodeIsTold(t *testing.T) {
	young := own.DeepCopy()
	young.CreationTimestamp = metav1.Unix(1, 0).Rfc3339Copy()
	f := start(t, nil, young, node2, node("node3", "192.168.0.3", "10.10.0.0/23"))
	f.waitSynced()
	f.waitProblems("node1", ReasonPodCIDROverlaps)
	f.waitProblems("node3")
	require.Equal(t, []Peer{*peer("node2", "192.168.0.2", "10.10.2.0/24")}, f.controller.Peers())
	f.remove("node3")
	f.waitProblems("node1")
}

func TestOwnPodCIDRChanged(t *testing.T) {
	f := start(t, nil, own, node2)
	f.waitSynced()
	f.update(node("node1", "192.168.0.1", "10.10.7.0/24"))
	f.waitProblems("node1", ReasonPodCIDRChanged)
	f.create(node("node3", "192.168.0.3", "10.10.1.0/24"))
	f.waitProblems("node1", ReasonPodCIDRChanged, ReasonPodCIDROverlaps)
	f.waitProblems("node3")
	f.remove("node3")
	f.waitProblems("node1", ReasonPodCIDRChanged)
	f.update(own)
	f.waitProblems("node1")
}

// A Node that Open vSwitch or the kernel refuses does not delay the others: it is reported and retried.
func TestRefusedNodesDelayNobody(t *testing.T) {
	for name, refusal := range map[string]error{
		"switch": &of.FlowError{Flow: "f", Err: &of.Error{Type: 4, Code: 9}},
		"kernel": fmt.Errorf("add route: %w", unix.EINVAL),
		"ipset":  fmt.Errorf("add entry: %w", nl.IPSetError(nl.IPSET_ERR_INVALID_CIDR)),
		"other":  errors.New("not what was expected"),
	} {
		for _, failing := range []string{flows2, route2, "addresses node2 [192.168.0.2]", "reconcile [10.10.2.0/24 10.10.3.0/24]"} {
			t.Run(name+", "+failing, func(t *testing.T) {
				f := startWith(t, refusal, map[string]int{failing: 1 << 30}, own, node2, node("node3", "192.168.0.3", "10.10.3.0/24"))
				f.waitSynced()
				require.Contains(t, f.controller.Peers(), *peer("node3", "192.168.0.3", "10.10.3.0/24"))
				subject, reason := "node2", ReasonNodeNotConnected
				if strings.HasPrefix(failing, "reconcile") {
					subject, reason = "node1", ReasonRoutesNotReconciled
				}
				f.waitProblems(subject, reason)
				require.Eventually(t, func() bool { return f.failuresOf(failing) >= 3 }, time.Minute, time.Millisecond, "it is tried again")
				f.fail(failing, 0)
				f.waitProblems(subject)
				require.Eventually(t, func() bool { return len(f.controller.Peers()) == 2 }, time.Minute, time.Millisecond)
			})
		}
	}
}

func TestWhatStartUpWaitsFor(t *testing.T) {
	_, noGateway := netlink.LinkByName("no-such-port")
	require.Error(t, noGateway)
	for _, failure := range []error{of.ErrDisconnected, context.DeadlineExceeded, noGateway, unix.ENETDOWN, unix.ENODEV, unix.ENOBUFS, unix.EPERM} {
		require.True(t, isTransient(fmt.Errorf("add: %w", failure)), "%v", failure)
	}
	for _, failure := range []error{nil, &of.FlowError{Err: errors.New("no")}, unix.EINVAL, unix.ENETUNREACH, unix.EEXIST, nl.IPSetError(nl.IPSET_ERR_INVALID_CIDR)} {
		require.False(t, isTransient(failure), "%v", failure)
	}
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

func TestPanicsAreRetried(t *testing.T) {
	problems := problem.NewRecorder()
	recovery.ReportTo(problems)
	f := start(t, map[string]int{"panic " + flows2: 2, "panic " + route2: 1, "panic " + reconcile2: 1}, own, node2)
	f.waitSynced()
	require.Eventually(t, func() bool { return f.count() == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, 2, f.failuresOf("panic "+flows2))
	require.ElementsMatch(t, []string{flows2, route2, reconcile2}, f.take())
	require.Len(t, f.controller.Peers(), 1)
	require.Eventually(t, func() bool { list, _ := problems.List(); return len(list) == 0 }, time.Minute, time.Millisecond)
}

// No Pod of this Node is connected before it is synced: an object that makes the agent panic each time must not prevent
// that.
func TestPanicsDelayNobody(t *testing.T) {
	problems := problem.NewRecorder()
	recovery.ReportTo(problems)
	f := start(t, map[string]int{"panic " + flows2: 1 << 30}, own, node2, node("node3", "192.168.0.3", "10.10.3.0/24"))
	f.waitSynced()
	require.Equal(t, []Peer{*peer("node3", "192.168.0.3", "10.10.3.0/24")}, f.controller.Peers())
	list, _ := problems.List()
	require.Len(t, list, 1)
	require.Equal(t, "Node node2", list[0].Subject.String())
	f.waitProblems("node2", ReasonNodeNotConnected)
	f.fail("panic "+flows2, 0)
	f.waitProblems("node2")
	require.Len(t, f.controller.Peers(), 2)
}

// panickingLister panics a number of times instead of listing.
type panickingLister struct {
	corelisters.NodeLister
	panics int
}

func (l *panickingLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	if l.panics--; l.panics >= 0 {
		panic("planned panic")
	}
	return l.NodeLister.List(selector)
}

func TestRunBearsToBeRunAgain(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(own, node2), 0)
	r := newRecorder(map[string]int{})
	c, err := New(factory.Core().V1().Nodes(), r, r, &config.NetworkConfig{IPv4Enabled: true},
		&config.NodeConfig{Name: "node1", PodIPv4CIDR: netip.MustParsePrefix("10.10.1.0/24"), Uplink: config.Uplink{IPv4: netip.MustParsePrefix("192.168.0.1/24")}},
		problem.NewRecorder())
	require.NoError(t, err)
	c.lister = &panickingLister{NodeLister: c.lister, panics: 1}
	factory.Start(t.Context().Done())
	require.Panics(t, func() { c.Run(t.Context()) })
	go c.Run(t.Context())
	f := &fixture{t: t, recorder: r, controller: c}
	f.waitSynced()
	require.Len(t, c.Peers(), 1)
}

func TestSyncedWaitsForFailingClients(t *testing.T) {
	f := start(t, map[string]int{flows2: 1 << 30}, own, node2, node("node3", "192.168.0.3", "10.10.3.0/24"))
	require.Eventually(t, func() bool { return f.failuresOf(flows2) >= 3 && f.count() == 2 }, time.Minute, time.Millisecond)
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
	require.Eventually(t, func() bool { return f.failuresOf(route2) > 0 }, time.Minute, time.Millisecond)
	f.remove("node2")
	f.expect(flows2, "route- 10.10.2.0/24", "flows- node2")
}

// All addresses are known to which any Node may send tunnel packets, for every Node including this one.
func TestAddressesOfAllNodes(t *testing.T) {
	f := start(t, map[string]int{"addresses node2 [192.168.0.2]": 2}, own, node2, node("no-cidr-yet", "192.168.0.4", ""))
	f.waitSynced()
	require.Equal(t, 2, f.failuresOf("addresses node2 [192.168.0.2]"), "a failure is repeated before the controller has synced")
	require.Equal(t, []string{flows2, route2, reconcile2}, f.take())
	becomes := func(name, addresses string) {
		t.Helper()
		require.Eventually(t, func() bool { return f.addressesOf(name) == addresses }, time.Minute, time.Millisecond,
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
	becomes("node2", "[172.16.0.2 192.168.0.2 203.0.113.2 fd00::2]")
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
	c, err := New(factory.Core().V1().Nodes(), r, r, &config.NetworkConfig{IPv4Enabled: true}, &config.NodeConfig{Name: "node1"}, problem.NewRecorder())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Run(ctx)
	require.Empty(t, r.take())
}
