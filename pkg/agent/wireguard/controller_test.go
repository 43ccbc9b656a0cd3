// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// fakeDevice does what the kernel does with the operations.
type fakeDevice struct {
	mutex sync.Mutex
	state state
	fails error
	// failsLate is the result of operations that were done.
	failsLate error
}

func (d *fakeDevice) read() (state, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s := d.state
	s.peers = maps.Clone(s.peers)
	return s, nil
}

func (d *fakeDevice) apply(ops []operation, want settings) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.fails != nil {
		return d.fails
	}
	for _, op := range ops {
		switch op.kind {
		case createDevice:
			d.state = state{exists: true, peers: map[wgtypes.Key]peer{}}
		case setMTU:
			d.state.mtu = want.mtu
		case setAddresses:
			d.state.addresses = want.addresses
		case makeKey:
			d.state.private, _ = wgtypes.GeneratePrivateKey()
		case setPort:
			d.state.port = want.port
		case clearMark:
			d.state.mark = 0
		case setUp:
			d.state.up = true
		case removePeer:
			delete(d.state.peers, op.key)
		case setPeer:
			d.state.peers[op.key] = op.peer
		}
	}
	return d.failsLate
}

func (d *fakeDevice) change(f func(*fakeDevice)) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	f(d)
}

// fakeRoutes is a host that has every route.
type fakeRoutes struct {
	fails error
	// restored counts the calls of Restored.
	restored atomic.Int32
}

func (*fakeRoutes) SetNodeAddresses(string, []netip.Addr) error { return nil }
func (*fakeRoutes) Guard(string, []netip.Prefix) error          { return nil }
func (*fakeRoutes) Reconcile([]netip.Prefix) error              { return nil }
func (f *fakeRoutes) DeleteRoutes(netip.Prefix) error           { return f.fails }
func (f *fakeRoutes) AddRoutes(netip.Prefix, string, reach.Reach, netip.Addr) error {
	return f.fails
}

type world struct {
	*Controller
	kube     *fake.Clientset
	device   *fakeDevice
	problems *problem.Recorder
	routes   Routes
	host     *fakeRoutes
	complete chan struct{}
	// refused: the API refuses changes of Nodes.
	refused atomic.Bool
}

// newWorld is an agent on node1, which has started, unless it waits for the Nodes' networks, with node2.
func newWorld(t *testing.T, device *fakeDevice) *world {
	t.Helper()
	w := &world{device: device, problems: problem.NewRecorder(), host: &fakeRoutes{}, complete: make(chan struct{})}
	w.kube = fake.NewClientset(nodeWith("node1", ""), nodeWith("node2", keyOf(2).String()))
	w.kube.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return w.refused.Load(), nil, errors.New("refused")
	})
	factory := informers.NewSharedInformerFactory(w.kube, 0)
	want := settings{port: 51820, mtu: 1440, addresses: []netip.Prefix{netip.MustParsePrefix("10.10.1.1/32")}}
	c, err := newController("node1", want, device, w.kube, factory.Core().V1().Nodes(), w.problems)
	require.NoError(t, err)
	w.Controller, w.routes = c, Routes{RouteClient: w.host, Controller: c}
	require.NoError(t, c.Prepare())
	c.Restored = func() error { w.host.restored.Add(1); return nil }
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx, w.complete) })
	t.Cleanup(func() { cancel(); running.Wait(); factory.Shutdown() })
	w.connect(t, "10.10.2.0/24", "node2", "192.0.2.2")
	return w
}

func nodeWith(name, key string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if key != "" {
		node.Annotations = map[string]string{KeyAnnotation: key}
	}
	return node
}

func (w *world) connect(t *testing.T, cidr, node, address string) {
	t.Helper()
	by := reach.Reach{Kind: reach.WireGuard, Address: netip.MustParseAddr(address)}
	require.NoError(t, w.routes.AddRoutes(netip.MustParsePrefix(cidr), node, by, netip.Addr{}))
}

func (w *world) annotate(t *testing.T, node, key string) {
	t.Helper()
	_, err := w.kube.CoreV1().Nodes().Update(t.Context(), nodeWith(node, key), metav1.UpdateOptions{})
	require.NoError(t, err)
}

// count returns the number of problems.
func (w *world) count() int {
	found, _ := w.problems.List()
	return len(found)
}

func (w *world) annotation(t *testing.T) (string, error) {
	node, err := w.kube.CoreV1().Nodes().Get(t.Context(), "node1", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return node.Annotations[KeyAnnotation], nil
}

func (w *world) published(t *testing.T) string {
	t.Helper()
	key, err := w.annotation(t)
	require.NoError(t, err)
	return key
}

func (w *world) eventually(t *testing.T, what string, is func(s state) bool) {
	t.Helper()
	require.Eventually(t, func() bool { s, _ := w.device.read(); return is(s) }, 20*time.Second, 5*time.Millisecond, what)
}

func (w *world) eventuallyPeers(t *testing.T, want map[wgtypes.Key]peer) {
	t.Helper()
	w.eventually(t, "the peers of the device", func(s state) bool { return maps.EqualFunc(s.peers, want, peer.equal) })
}

func (w *world) eventuallyPublished(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, _ := w.device.read()
		key, err := w.annotation(t)
		return err == nil && key == s.private.PublicKey().String()
	}, 20*time.Second, 5*time.Millisecond)
}

var node2 = peerAt("192.0.2.2:51820", "10.10.2.0/24")

func TestFollowsNodes(t *testing.T) {
	w := newWorld(t, &fakeDevice{})
	close(w.complete)
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2})
	w.eventuallyPublished(t)
	s, _ := w.device.read()
	require.Equal(t, w.want, s.settings)
	require.True(t, s.up)

	w.connect(t, "10.10.3.0/24", "node3", "192.0.2.3")
	require.Eventually(t, func() bool { return w.count() == 1 }, 20*time.Second, 5*time.Millisecond)
	found, _ := w.problems.List()
	require.Equal(t, ReasonNoEncryption, found[0].Reason)
	_, err := w.kube.CoreV1().Nodes().Create(t.Context(), nodeWith("node3", keyOf(3).String()), metav1.CreateOptions{})
	require.NoError(t, err)
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2, keyOf(3): peerAt("192.0.2.3:51820", "10.10.3.0/24")})
	require.Eventually(t, func() bool { return w.count() == 0 }, 20*time.Second, 5*time.Millisecond)

	w.connect(t, "10.10.2.0/24", "node2", "192.0.2.22") // moved
	w.annotate(t, "node3", keyOf(33).String())          // another key
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): peerAt("192.0.2.22:51820", "10.10.2.0/24"), keyOf(33): peerAt("192.0.2.3:51820", "10.10.3.0/24")})

	w.host.fails = errors.New("the kernel refuses")
	require.Error(t, w.routes.DeleteRoutes(netip.MustParsePrefix("10.10.2.0/24")))
	w.annotate(t, "node3", "")
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): peerAt("192.0.2.22:51820", "10.10.2.0/24")})
	w.host.fails = nil
	require.NoError(t, w.routes.DeleteRoutes(netip.MustParsePrefix("10.10.2.0/24")))
	w.eventuallyPeers(t, map[wgtypes.Key]peer{})
}

// TestRestartKeepsKeyAndPeers: the key stays, and peers of which nothing is known yet, until all networks are known.
func TestRestartKeepsKeyAndPeers(t *testing.T) {
	private, err := wgtypes.GeneratePrivateKey()
	require.NoError(t, err)
	others := map[wgtypes.Key]peer{keyOf(2): peerAt("192.0.2.99:51820", "10.10.2.0/24"), keyOf(8): peerAt("192.0.2.8:51820", "10.10.8.0/24")}
	w := newWorld(t, &fakeDevice{state: state{exists: true, private: private, peers: maps.Clone(others)}})
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2, keyOf(8): others[keyOf(8)]})
	s, _ := w.device.read()
	require.Equal(t, private, s.private)
	w.eventuallyPublished(t)
	close(w.complete)
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2})
}

// TestDeviceDeletedUnderTheAgent: a new device has a new key, which is published, and the peers.
func TestDeviceDeletedUnderTheAgent(t *testing.T) {
	w := newWorld(t, &fakeDevice{})
	close(w.complete)
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2})
	w.eventuallyPublished(t)
	former := w.published(t)
	require.Zero(t, w.host.restored.Load())
	w.device.change(func(d *fakeDevice) { d.state = state{} })
	require.NoError(t, w.Upkeep().Repair(t.Context()))
	require.EqualValues(t, 1, w.host.restored.Load())
	w.device.change(func(d *fakeDevice) { d.state.up = false })
	require.NoError(t, w.Upkeep().Repair(t.Context()))
	require.EqualValues(t, 2, w.host.restored.Load())
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2})
	w.eventuallyPublished(t)
	require.NotEqual(t, former, w.published(t))

	w.annotate(t, "node1", "") // by someone else
	w.eventuallyPublished(t)
	w.device.change(func(d *fakeDevice) { d.state.peers[keyOf(9)] = peerAt("192.0.2.9:51820", "10.10.9.0/24") })
	require.NoError(t, w.Upkeep().Repair(t.Context()))
	w.eventuallyPeers(t, map[wgtypes.Key]peer{keyOf(2): node2})
}

// TestForeignKeyIsReported: another program's key in this Node's annotation is a problem until the agent has written its own again. Its own
// former key is none.
func TestForeignKeyIsReported(t *testing.T) {
	w := newWorld(t, &fakeDevice{})
	close(w.complete)
	w.eventuallyPublished(t)
	problems := func() (found []string) {
		list, _ := w.problems.List()
		for _, p := range list {
			found = append(found, fmt.Sprintf("%s %s: %s", p.Reason, p.Subject, p.Message))
		}
		return found
	}
	w.refused.Store(true)
	w.device.change(func(d *fakeDevice) { d.state = state{} })
	require.NoError(t, w.Upkeep().Repair(t.Context()))
	require.ErrorContains(t, w.publish(t.Context()), "refused")
	require.Empty(t, problems())
	w.refused.Store(false)
	w.eventuallyPublished(t)
	require.Eventually(t, func() bool { _, needed := w.lookAtAnnotation(); return !needed }, 20*time.Second, 5*time.Millisecond)

	w.refused.Store(true)
	w.annotate(t, "node1", keyOf(9).String())
	require.Eventually(t, func() bool { return len(problems()) == 1 }, 20*time.Second, 5*time.Millisecond)
	require.Contains(t, problems()[0], "KeyChanged Node node1: another program has set annotation "+KeyAnnotation+` to "`+keyOf(9).String())
	w.refused.Store(false)
	w.eventuallyPublished(t)
	require.Eventually(t, func() bool { return w.count() == 0 }, 20*time.Second, 5*time.Millisecond)
}

// TestRoutesAreRestoredAfterAFailure: routes that ended with the device come back even if the first repair, or Restored, fails.
func TestRoutesAreRestoredAfterAFailure(t *testing.T) {
	d := &fakeDevice{}
	c := newLoneController(t, d)
	require.NoError(t, c.Prepare())
	var failure error
	restored := 0
	c.Restored = func() error { restored++; return failure }
	require.NoError(t, c.reconcile())
	require.Zero(t, restored)

	d.state.up, failure = false, errors.New("the kernel refuses")
	require.ErrorIs(t, c.reconcile(), failure)
	failure = nil
	require.NoError(t, c.reconcile())
	require.Equal(t, 2, restored)

	d.state.up, d.failsLate = false, errors.New("the last operation has failed")
	require.ErrorIs(t, c.reconcile(), d.failsLate)
	require.True(t, d.state.up)
	d.failsLate = nil
	require.NoError(t, c.reconcile())
	require.NoError(t, c.reconcile())
	require.Equal(t, 3, restored)
}

// TestOwnFormerKeyAtTheStart: a former agent has made a new key and not published it.
func TestOwnFormerKeyAtTheStart(t *testing.T) {
	private, err := wgtypes.GeneratePrivateKey()
	require.NoError(t, err)
	c := newLoneController(t, &fakeDevice{state: state{exists: true, private: private}})
	c.setNode(nodeWith("node1", keyOf(7).String()))
	require.NoError(t, c.Prepare())
	own, needed := c.lookAtAnnotation()
	require.True(t, needed)
	require.Equal(t, private.PublicKey(), own)
	found, _ := c.problems.(*problem.Recorder).List()
	require.Empty(t, found)
}

// newLoneController returns the Controller of node1, which does not run.
func newLoneController(t *testing.T, d *fakeDevice) *Controller {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	c, err := newController("node1", settings{}, d, fake.NewClientset(), factory.Core().V1().Nodes(), problem.NewRecorder())
	require.NoError(t, err)
	return c
}

func TestPrepareFailsWithoutKernelSupport(t *testing.T) {
	d := &fakeDevice{fails: errors.New("the kernel has no WireGuard")}
	require.ErrorContains(t, newLoneController(t, d).Prepare(), "the kernel has no WireGuard")
}
