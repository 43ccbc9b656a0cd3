// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency/occupied"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// fakeMembers shows the snapshot that a test sets.
type fakeMembers struct {
	mu      sync.Mutex
	now     *memberlist.Snapshot
	changed func()
}

func (m *fakeMembers) Snapshot() *memberlist.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *fakeMembers) Subscribe(changed func()) { m.changed = changed }

func (m *fakeMembers) set(now *memberlist.Snapshot) {
	m.mu.Lock()
	m.now = now
	m.mu.Unlock()
	m.changed()
}

func membersOf(nodes ...string) *memberlist.Snapshot {
	return &memberlist.Snapshot{Alive: sets.New(nodes...), Rings: map[string]*memberlist.Ring{"": memberlist.NewRing(nodes), "p": memberlist.NewRing(nodes)}}
}

// fakeDevice is the device, the announcements and the Events.
type fakeDevice struct {
	mu    sync.Mutex
	addrs map[netip.Addr]place
	fail  bool
	told  []string
	// answered are the addresses for which neighbours get answers.
	answered sets.Set[netip.Addr]
	// objects are the Egresses and pools of the API.
	objects dynamic.Interface
}

func (d *fakeDevice) List() (map[netip.Addr]place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.addrs), nil
}

func (*fakeDevice) Keep() error { return nil }

func (d *fakeDevice) Add(addr netip.Addr, subnet config.EgressSubnet) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail {
		return errors.New("no device of kind dummy")
	}
	d.addrs[addr] = placeOf(addr, subnet)
	return nil
}

func (d *fakeDevice) Remove(addr netip.Addr) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.addrs, addr)
	return nil
}

func (d *fakeDevice) Assigned(e *v1beta1.Egress, addr netip.Addr)   { d.tell("+", e, addr) }
func (d *fakeDevice) Unassigned(e *v1beta1.Egress, addr netip.Addr) { d.tell("-", e, addr) }

func (d *fakeDevice) tell(sign string, e *v1beta1.Egress, addr netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, sign+e.Name+" "+addr.String())
}

// Set and Run are the answers to neighbours.
func (d *fakeDevice) Set(addrs sets.Set[netip.Addr]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered = addrs
}

func (d *fakeDevice) Run(ctx context.Context) { <-ctx.Done() }

// answers reports whether neighbours get answers for the address, and for no other.
func (d *fakeDevice) answers(addr netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answered.Equal(sets.New(addr))
}

func (d *fakeDevice) has(addr netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.addrs[addr]
	return ok
}

// startAssigner starts an Assigner of a Node beside Egress e with the address of pool p. end ends it.
func startAssigner(t *testing.T, node string, addr netip.Addr, members *fakeMembers) (a *Assigner, d *fakeDevice, end func()) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList",
	})
	egress, pool := crd.New(v1beta1.EgressKind, "e"), crd.New(v1beta1.ExternalIPPoolKind, "p")
	require.NoError(t, crd.Fill(egress, &v1beta1.Egress{Spec: v1beta1.EgressSpec{EgressIP: addr.String(), ExternalIPPool: "p"}}))
	require.NoError(t, crd.Fill(pool, &v1beta1.ExternalIPPool{}))
	_, err := client.Resource(crd.Egresses).Create(t.Context(), egress, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.Resource(crd.ExternalIPPools).Create(t.Context(), pool, metav1.CreateOptions{})
	require.NoError(t, err)
	objects, err := crd.NewEgressObjects(client)
	require.NoError(t, err)
	factory := informers.NewSharedInformerFactory(kubefake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}), 0)
	d = &fakeDevice{objects: client, addrs: map[netip.Addr]place{netip.MustParseAddr("10.9.9.9"): {config.EgressDevice, 32}}} // a former agent's
	a, err = New(Config{
		Occupied: occupied.New(), OccupiedSynced: func() bool { return true }, NodeName: node, Limit: 255, Uplink: "none", Members: members, Objects: objects, Nodes: factory.Core().V1().Nodes(), Changed: func() {}, Events: d,
	})
	require.NoError(t, err)
	a.device, a.responder = d, d
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	factory.Start(ctx.Done())
	running.Go(func() { objects.Run(ctx) })
	running.Go(func() { a.Run(ctx) })
	end = func() { cancel(); running.Wait() }
	t.Cleanup(end)
	return a, d, end
}

// TestAssigner: an address comes when the members are known, goes when another Node has it, comes back, and goes at the end if another Node
// takes it. Addresses of no Egress go at once.
func TestAssigner(t *testing.T) {
	addr := netip.MustParseAddr("169.254.100.1")
	owner, other := "node-2", "node-1" // by the ring
	members := &fakeMembers{now: &memberlist.Snapshot{Unknown: errors.New("no key")}}
	a, d, end := startAssigner(t, owner, addr, members)
	eventually := func(what string, condition func() bool) {
		t.Helper()
		require.Eventually(t, condition, 20*time.Second, 5*time.Millisecond, what)
	}
	eventually("the former agent's address goes", func() bool { return !d.has(netip.MustParseAddr("10.9.9.9")) })
	require.False(t, d.has(addr), "nothing is claimed without members")
	d.mu.Lock()
	d.fail = true
	d.mu.Unlock()
	members.set(membersOf(owner, other))
	eventually("the failure is told", func() bool { return a.Failures()["e"] != nil })
	d.mu.Lock()
	d.fail = false
	d.mu.Unlock()
	eventually("the address comes", func() bool { return d.has(addr) && d.answers(addr) && len(a.Failures()) == 0 })
	members.set(membersOf(other))
	eventually("the address goes", func() bool { return !d.has(addr) && !d.answers(addr) })
	members.set(membersOf(owner))
	eventually("the address is back", func() bool { return d.has(addr) })
	end()
	require.True(t, d.has(addr), "no other Node takes it")
	require.Equal(t, []string{"+e 169.254.100.1", "-e 169.254.100.1", "+e 169.254.100.1"}, d.told)

	a, d, end = startAssigner(t, owner, addr, members)
	members.set(membersOf(owner, other))
	eventually("the address comes", func() bool { return d.has(addr) })
	end()
	require.False(t, d.has(addr), "another Node takes it")
	require.Empty(t, a.Failures())
}

// TestAddressOfAnEgressChanges: users are told of the address that goes, although its Egress shows another one by then, and of no Egress that is deleted.
func TestAddressOfAnEgressChanges(t *testing.T) {
	former, next := netip.MustParseAddr("169.254.100.1"), netip.MustParseAddr("169.254.100.2")
	_, d, end := startAssigner(t, "node-2", former, &fakeMembers{now: membersOf("node-2")})
	eventually := func(what string, condition func() bool) {
		t.Helper()
		require.Eventually(t, condition, 20*time.Second, 5*time.Millisecond, what)
	}
	eventually("the address comes", func() bool { return d.has(former) })
	egresses := d.objects.Resource(crd.Egresses)
	egress, err := egresses.Get(t.Context(), "e", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, crd.Fill(egress, &v1beta1.Egress{Spec: v1beta1.EgressSpec{EgressIP: next.String(), ExternalIPPool: "p"}}))
	_, err = egresses.Update(t.Context(), egress, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually("the next address comes", func() bool { return d.has(next) && !d.has(former) })
	require.NoError(t, egresses.Delete(t.Context(), "e", metav1.DeleteOptions{}))
	eventually("it goes", func() bool { return !d.has(next) })
	end()
	require.Equal(t, []string{"+e 169.254.100.1", "-e 169.254.100.1", "+e 169.254.100.2"}, d.told)
}

// TestOccupiedAddresses: a pool has the address of the Node's router. The Node that should take it says why it does not; it gives it up if it had it.
func TestOccupiedAddresses(t *testing.T) {
	addr := netip.MustParseAddr("169.254.100.1")
	members := &fakeMembers{now: membersOf("node-2")}
	a, d, _ := startAssigner(t, "node-2", addr, members)
	eventually := func(what string, condition func() bool) {
		t.Helper()
		require.Eventually(t, condition, 20*time.Second, 5*time.Millisecond, what)
	}
	eventually("the address comes", func() bool { return d.has(addr) })
	a.Occupied.SetNeeded([]dependency.Address{{Addr: addr, Kind: dependency.Host, What: "a next hop of the Node"}})
	eventually("the address goes", func() bool { return !d.has(addr) && a.Failures()["e"] != nil })
	require.ErrorContains(t, a.Failures()["e"], "169.254.100.1 is a next hop of the Node")
	a.Occupied.SetNeeded(nil)
	eventually("the address is back", func() bool { return d.has(addr) && len(a.Failures()) == 0 })
}

// TestNoNode: one Node says that none can have an address.
func TestNoNode(t *testing.T) {
	full := membersOf("node-1", "node-2")
	full.Rings["p"] = memberlist.NewRing(nil)
	reported := 0
	for _, node := range []string{"node-1", "node-2"} {
		d := decide(input{
			node: node, members: full, limit: func(string) int { return 1 }, refuse: func(netip.Addr) error { return nil }, pools: map[string]*v1beta1.ExternalIPPool{"p": {}},
			egresses: []*v1beta1.Egress{{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Spec: v1beta1.EgressSpec{EgressIP: "169.254.100.1", ExternalIPPool: "p"}}},
		})
		if err := d.failures["e"]; err != nil {
			reported++
			require.ErrorIs(t, err, memberlist.ErrNoNode)
		}
		require.Empty(t, d.add)
	}
	require.Equal(t, 1, reported)
}

// TestUnknownMembers: while no Node knows which ones are alive, one Node says so of each Egress without a Node, after the time that agents need to start.
func TestUnknownMembers(t *testing.T) {
	began := time.Unix(1000, 0)
	egress := func(name, node string) *v1beta1.Egress {
		return &v1beta1.Egress{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.EgressSpec{EgressIP: "169.254.100.1", ExternalIPPool: "p"}, Status: v1beta1.EgressStatus{EgressNode: node},
		}
	}
	static := egress("static", "")
	static.Spec.ExternalIPPool = ""
	reported := map[string]int{}
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		in := input{
			node: node, members: &memberlist.Snapshot{Unknown: errors.New("there is no key")}, now: began.Add(unknownPatience - time.Second), unknownSince: began,
			egresses: []*v1beta1.Egress{egress("a", ""), egress("b", ""), egress("held", "node-1"), static}, ready: []string{"node-1", "node-2", "node-3"},
		}
		d := decide(in)
		require.Empty(t, d.failures)
		require.Equal(t, time.Second, d.again)
		in.now = began.Add(unknownPatience)
		for name, err := range decide(in).failures {
			reported[name]++
			require.ErrorIs(t, err, ErrMembersUnknown)
			require.EqualError(t, err, "the agent of Node "+node+" does not know which Nodes are alive: there is no key")
		}
		in.ready = nil
		require.Empty(t, decide(in).failures)
	}
	require.Equal(t, map[string]int{"a": 1, "b": 1}, reported)
}

// TestRefusedAddress: no Node takes, or keeps, an address that the controller has not given to the Egress.
func TestRefusedAddress(t *testing.T) {
	addr := netip.MustParseAddr("169.254.100.1")
	in := input{
		node: "node-1", members: membersOf("node-1"), limit: func(string) int { return 1 }, refuse: func(netip.Addr) error { return nil }, places: map[netip.Addr]place{},
		pools: map[string]*v1beta1.ExternalIPPool{"p": {}}, egresses: []*v1beta1.Egress{{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Spec: v1beta1.EgressSpec{EgressIP: addr.String(), ExternalIPPool: "p"}}},
	}
	require.Equal(t, []netip.Addr{addr}, decide(in).add, "not judged yet, or by a controller without conditions")
	status := &in.egresses[0].Status
	status.EgressNode = "node-1"
	status.Conditions = []v1beta1.EgressCondition{{Type: v1beta1.IPAllocated, Status: corev1.ConditionFalse}}
	require.Empty(t, decide(in).add)
	in.places[addr] = place{config.EgressDevice, 32}
	require.Equal(t, []netip.Addr{addr}, decide(in).remove)
	in.members = &memberlist.Snapshot{Unknown: errors.New("no key")}
	require.Equal(t, []netip.Addr{addr}, decide(in).remove)
	status.Conditions[0].Status = corev1.ConditionTrue
	require.Empty(t, decide(in).remove)
}

// TestLimit: the annotation of a Node counts before the configuration, and no Node has more addresses than marks for packets.
func TestLimit(t *testing.T) {
	annotated := func(name, limit string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{LimitAnnotation: limit}}}
	}
	factory := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0)
	nodes := factory.Core().V1().Nodes()
	for _, node := range []*corev1.Node{annotated("few", "3"), annotated("many", "255"), annotated("wrong", "x")} {
		require.NoError(t, nodes.Informer().GetStore().Add(node))
	}
	a := &Assigner{Config: Config{Limit: 100, Nodes: nodes}}
	for name, want := range map[string]int{"few": 3, "many": 254, "wrong": 100, "unknown": 100} {
		require.Equal(t, want, a.limit(name), name)
	}
	a.Limit = 255
	require.Equal(t, 254, a.limit("unknown"))
}

// TestHasSource: only translated connections have a source of the device.
func TestHasSource(t *testing.T) {
	pod, addr, server := netip.MustParseAddr("10.10.0.5"), netip.MustParseAddr("169.254.100.1"), netip.MustParseAddr("203.0.113.9")
	for _, test := range []struct {
		from, source netip.Addr
		want         bool
	}{{pod, addr, true}, {pod, server, false}, {addr, addr, false}} {
		c := &conntrack.Connection{Original: conntrack.Tuple{Source: test.from, Destination: server}, Reply: conntrack.Tuple{Source: server, Destination: test.source}}
		require.Equal(t, test.want, hasSource(c, sets.New(addr)))
	}
}
