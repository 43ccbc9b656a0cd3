// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	gossipkey "github.com/antrea-oncache/antrea/pkg/apis/gossip"
)

// fakeGossip has the members that a test sets. Joining an address makes its Node a member, unless it is silent.
type fakeGossip struct {
	mu      sync.Mutex
	config  gossipConfig
	members sets.Set[string]
	byAddr  map[netip.Addr]string
	silent  bool
	// foreign lets no Node be joined, for its key.
	foreign bool
	key     []byte
	ended   bool
}

func (f *fakeGossip) alive() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return sets.List(f.members)
}

func (f *fakeGossip) join(addr netip.Addr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent {
		return errors.New("no answer")
	}
	if f.foreign {
		return errOtherKey
	}
	f.members.Insert(f.byAddr[addr])
	return nil
}

func (f *fakeGossip) setKey(key []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key = key
	return nil
}

func (f *fakeGossip) end() { f.ended = true }

func (f *fakeGossip) set(members ...string) {
	f.mu.Lock()
	f.members = sets.New(members...)
	f.mu.Unlock()
	f.config.changed()
}

func makeNode(name, addr, os string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: os, "name": name}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: addr}}},
	}
}

func makeSecret(key []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: gossipkey.Secret, Namespace: apis.DefaultNamespace},
		Data:       map[string][]byte{gossipkey.Keys: []byte(base64.StdEncoding.EncodeToString(key) + "\nnext\n")},
	}
}

// testCluster is a Cluster of node-1 with a fake gossip. Its pool selects node-2.
type testCluster struct {
	*Cluster
	kube     *fake.Clientset
	gossip   *fakeGossip
	problems *problem.Recorder
	heard    chan struct{}
}

func startCluster(t *testing.T, silent bool) *testCluster {
	kube := fake.NewClientset(makeNode("node-1", "10.0.0.1", "linux"), makeNode("node-2", "10.0.0.2", "linux"), makeNode("windows", "10.0.0.3", "windows"))
	factory := informers.NewSharedInformerFactory(kube, 0)
	pools := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Node{}, 0, nil)
	c := &testCluster{kube: kube, problems: problem.NewRecorder()}
	c.gossip = &fakeGossip{members: sets.New("node-1"), silent: silent, byAddr: map[netip.Addr]string{netip.MustParseAddr("10.0.0.2"): "node-2"}}
	var err error
	c.Cluster, err = New(Config{
		NodeName: "node-1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 1, Kube: kube, Nodes: factory.Core().V1().Nodes(), Pools: pools, Problems: c.problems,
	})
	require.NoError(t, err)
	c.start = func(config gossipConfig) (gossip, error) {
		c.gossip.config, c.gossip.key = config, config.key
		return c.gossip, nil
	}
	c.Pools, c.heard = syncedInformer{pools}, make(chan struct{}, 100)
	c.Subscribe(func() { c.heard <- struct{}{} })
	c.setPool(poolOfNode2())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	factory.Start(ctx.Done())
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return c
}

func poolOfNode2() *v1beta1.ExternalIPPool {
	return &v1beta1.ExternalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1beta1.ExternalIPPoolSpec{
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"name": "node-2"}},
	}}
}

// syncedInformer is one whose objects the test sets.
type syncedInformer struct{ cache.SharedIndexInformer }

func (syncedInformer) HasSynced() bool { return true }

func (c *testCluster) await(t *testing.T, what string, condition func(s *Snapshot) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return condition(c.Snapshot()) }, 15*time.Second, 5*time.Millisecond, what)
}

// TestNoKeyNoMembers: without a usable key nothing is known, with one the others are joined, Windows Nodes are not, and a key that goes, or
// becomes invalid, changes nothing.
func TestNoKeyNoMembers(t *testing.T) {
	c := startCluster(t, false)
	require.Eventually(t, func() bool { return c.count() == 1 }, 15*time.Second, 5*time.Millisecond)
	require.Contains(t, c.first().Message, gossipkey.Secret)
	require.Error(t, c.Snapshot().Unknown)
	c.removePool("p")
	require.Eventually(t, func() bool { return c.count() == 0 }, 15*time.Second, 5*time.Millisecond, "without pools it is no problem")
	c.setPool(poolOfNode2())
	secrets := c.kube.CoreV1().Secrets(apis.DefaultNamespace)
	_, err := secrets.Create(t.Context(), makeSecret(testKey[:5]), metav1.CreateOptions{})
	require.NoError(t, err)
	c.await(t, "the problem names the length", func(s *Snapshot) bool {
		return s.Unknown != nil && bytes.Contains([]byte(s.Unknown.Error()), []byte("5 bytes"))
	})
	_, err = secrets.Update(t.Context(), makeSecret(testKey), metav1.UpdateOptions{})
	require.NoError(t, err)
	both := func(s *Snapshot) bool { return s.Unknown == nil && s.Alive.Equal(sets.New("node-1", "node-2")) }
	c.await(t, "both Nodes", both)
	require.Zero(t, c.count())
	owner, err := c.Snapshot().Owner("p", netip.MustParseAddr("10.1.0.1"), nil)
	require.NoError(t, err)
	require.Equal(t, "node-2", owner)

	_, err = secrets.Update(t.Context(), makeSecret(otherKey), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c.gossip.mu.Lock()
		defer c.gossip.mu.Unlock()
		return bytes.Equal(c.gossip.key, otherKey)
	}, 15*time.Second, 5*time.Millisecond)
	require.NoError(t, secrets.Delete(t.Context(), gossipkey.Secret, metav1.DeleteOptions{}))
	c.gossip.set("node-1", "node-2")
	require.Never(t, func() bool { return !both(c.Snapshot()) }, 100*time.Millisecond, 10*time.Millisecond)
}

// TestMembersSettle: an agent that begins does not count itself as the only one while it has not asked the others; it does if none answers.
func TestMembersSettle(t *testing.T) {
	c := startCluster(t, true)
	_, err := c.kube.CoreV1().Secrets(apis.DefaultNamespace).Create(t.Context(), makeSecret(testKey), metav1.CreateOptions{})
	require.NoError(t, err)
	c.await(t, "joining", func(s *Snapshot) bool {
		return s.Unknown != nil && s.Unknown.Error() == "this Node has not joined the others yet"
	})
	c.await(t, "alone", func(s *Snapshot) bool { return s.Unknown == nil && s.Alive.Equal(sets.New("node-1")) })
	_, err = c.Snapshot().Owner("p", netip.MustParseAddr("10.1.0.1"), nil)
	require.ErrorIs(t, err, ErrNoNode)
	for len(c.heard) > 0 {
		<-c.heard
	}
	c.gossip.set("node-1", "node-2")
	c.await(t, "node-2 is back", func(s *Snapshot) bool { return s.Alive.Has("node-2") })
	<-c.heard
}

// TestOtherKey: a Node whose agent has another key is named until it is a member.
func TestOtherKey(t *testing.T) {
	c := startCluster(t, false)
	c.gossip.mu.Lock()
	c.gossip.foreign = true
	c.gossip.mu.Unlock()
	_, err := c.kube.CoreV1().Secrets(apis.DefaultNamespace).Create(t.Context(), makeSecret(testKey), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return c.count() == 1 && strings.HasPrefix(c.first().Message, "the agent of 10.0.0.2 has another gossip key than this one, or none")
	}, 15*time.Second, 5*time.Millisecond)
	require.Equal(t, ReasonMembersUnknown, c.first().Reason)
	c.await(t, "alone", func(s *Snapshot) bool { return s.Unknown == nil && s.Alive.Equal(sets.New("node-1")) })
	require.Equal(t, 1, c.count())
	c.gossip.set("node-1", "node-2")
	require.Eventually(t, func() bool { return c.count() == 0 }, 15*time.Second, 5*time.Millisecond)
}

func (c *testCluster) count() int {
	problems, _ := c.problems.List()
	return len(problems)
}

func (c *testCluster) first() problem.Problem {
	problems, _ := c.problems.List()
	return problems[0]
}
