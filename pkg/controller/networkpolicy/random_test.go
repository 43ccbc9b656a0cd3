// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// shadow is an agent's knowledge of one resource, gained only from its watch.
type shadow struct {
	t *testing.T
	// objects are by name: JSON of policies, sets of members of groups.
	objects map[string]any
}

func (s *shadow) handle(events []watch.Event) {
	for _, event := range events {
		s.handleOne(event)
	}
}

func (s *shadow) handleOne(event watch.Event) {
	switch object := event.Object.(type) {
	case *controlplane.NetworkPolicy:
		s.whole(event, object.Name, toJSON(object))
	case *controlplane.AddressGroup:
		s.whole(event, object.Name, asSet(object.GroupMembers))
	case *controlplane.AppliedToGroup:
		s.whole(event, object.Name, asSet(object.GroupMembers))
	case *controlplane.EgressGroup:
		s.whole(event, object.Name+" "+string(object.UID), asSet(object.GroupMembers))
	case *controlplane.EgressGroupPatch:
		s.patch(event, object.Name+" "+string(object.UID), object.AddedGroupMembers, object.RemovedGroupMembers)
	case *controlplane.AddressGroupPatch:
		s.patch(event, object.Name, object.AddedGroupMembers, object.RemovedGroupMembers)
	case *controlplane.AppliedToGroupPatch:
		s.patch(event, object.Name, object.AddedGroupMembers, object.RemovedGroupMembers)
	default:
		s.t.Fatalf("%s of a %T", event.Type, event.Object)
	}
}

func (s *shadow) whole(event watch.Event, name string, content any) {
	_, known := s.objects[name]
	switch event.Type {
	case watch.Added:
		require.False(s.t, known, "ADDED of what is known: %s", toJSON(event.Object))
		s.objects[name] = content
	case watch.Modified:
		require.True(s.t, known, "MODIFIED of what is not known")
		require.NotEqual(s.t, s.objects[name], content, "MODIFIED changes nothing")
		s.objects[name] = content
	case watch.Deleted:
		require.True(s.t, known, "DELETED of what is not known")
		delete(s.objects, name)
	default:
		require.Equal(s.t, watch.Bookmark, event.Type)
	}
}

func (s *shadow) patch(event watch.Event, name string, added, removed []controlplane.GroupMember) {
	require.Equal(s.t, watch.Modified, event.Type)
	require.Contains(s.t, s.objects, name)
	members := s.objects[name].(map[string]struct{})
	for _, m := range memberTexts(removed) {
		require.Contains(s.t, members, m)
		delete(members, m)
	}
	for _, m := range memberTexts(added) {
		require.NotContains(s.t, members, m)
		members[m] = struct{}{}
	}
}

func asSet(members []controlplane.GroupMember) map[string]struct{} {
	set := map[string]struct{}{}
	for _, m := range memberTexts(members) {
		set[m] = struct{}{}
	}
	return set
}

// drain takes the events that wait in a watcher that does not run.
func (w *watcher) drain() []watch.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.queue
	w.queue = nil
	return events
}

// randomObjects are the objects of a Kubernetes API that change at random.
type randomObjects struct {
	t          *testing.T
	rng        *rand.Rand
	namespaces map[string]*corev1.Namespace
	pods       map[string]*corev1.Pod
	policies   map[string]*networkingv1.NetworkPolicy
	// antrea are the events that make the other objects, by kind and name.
	antrea map[string]func(*core) []change
	made   int
}

func (r *randomObjects) labels() string {
	var parts []string
	for _, key := range []string{"a", "b"} {
		if n := r.rng.IntN(4); n < 3 {
			parts = append(parts, fmt.Sprintf("%s=%d", key, n))
		}
	}
	return strings.Join(parts, ",")
}

func (r *randomObjects) selector() string {
	return []string{
		"{}", "{matchLabels: {a: '0'}}", "{matchLabels: {a: '1'}}", "{matchLabels: {a: '1', b: '0'}}",
		"{matchExpressions: [{key: a, operator: NotIn, values: ['0', '2']}]}", "{matchExpressions: [{key: b, operator: DoesNotExist}]}",
		"{matchExpressions: [{key: b, operator: In, values: ['1', '2']}]}",
	}[r.rng.IntN(7)]
}

func (r *randomObjects) spec() string {
	rule := func(direction string) string {
		var peers []string
		for range r.rng.IntN(3) {
			peers = append(peers, []string{
				"{podSelector: " + r.selector() + "}", "{namespaceSelector: " + r.selector() + "}",
				"{namespaceSelector: " + r.selector() + ", podSelector: " + r.selector() + "}", "{ipBlock: {cidr: 10.0.0.0/8}}",
			}[r.rng.IntN(4)])
		}
		return fmt.Sprintf("{%s: [%s], ports: [{port: %s}]}", direction, strings.Join(peers, ", "), []string{"80", "http"}[r.rng.IntN(2)])
	}
	return fmt.Sprintf("{podSelector: %s, policyTypes: [Ingress, Egress], ingress: [%s], egress: [%s]}", r.selector(), rule("from"), rule("to"))
}

// step makes one random event.
func (r *randomObjects) step() func(*core) ([]change, error) {
	namespace := fmt.Sprintf("ns%d", r.rng.IntN(3))
	if r.rng.IntN(3) == 0 {
		return r.antreaStep(namespace)
	}
	switch n := r.rng.IntN(20); {
	case n == 0:
		object := makeNamespace(namespace, r.labels())
		if r.rng.IntN(3) == 0 {
			object.Annotations = map[string]string{loggingAnnotation: "true"}
		}
		r.namespaces[namespace] = object
		return func(c *core) ([]change, error) { return c.SetNamespace(object), nil }
	case n == 1 && r.rng.IntN(3) == 0:
		delete(r.namespaces, namespace)
		return func(c *core) ([]change, error) { return c.DeleteNamespace(namespace), nil }
	case n < 5:
		name := fmt.Sprintf("p%d", r.rng.IntN(4))
		object := makePolicy(r.t, namespace+"/"+name, r.spec())
		object.UID = types.UID(namespace + "-" + name)
		if r.rng.IntN(3) == 0 {
			r.made++
			object.UID += types.UID(fmt.Sprint(r.made))
		} else if old := r.policies[namespace+"/"+name]; old != nil {
			object.UID = old.UID
		}
		r.policies[namespace+"/"+name] = object
		return func(c *core) ([]change, error) { return c.SetNetworkPolicy(object) }
	case n < 7:
		key := types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("p%d", r.rng.IntN(4))}
		delete(r.policies, key.String())
		return func(c *core) ([]change, error) { return c.DeleteNetworkPolicy(key), nil }
	case n < 10:
		key := types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("pod%d", r.rng.IntN(6))}
		delete(r.pods, key.String())
		return func(c *core) ([]change, error) { return c.DeletePod(key), nil }
	default:
		name := fmt.Sprintf("%s/pod%d", namespace, r.rng.IntN(6))
		object := makePod(name, r.labels(), []string{"", "node0", "node1", "node2"}[r.rng.IntN(4)])
		object.Spec.ServiceAccountName = []string{"", "x", "y"}[r.rng.IntN(3)]
		for range r.rng.IntN(3) {
			object.Status.PodIPs = append(object.Status.PodIPs, corev1.PodIP{IP: fmt.Sprintf("10.0.0.%d", r.rng.IntN(250))})
		}
		object.Spec.HostNetwork = r.rng.IntN(8) == 0
		if r.rng.IntN(8) == 0 {
			object.Status.Phase = corev1.PodFailed
		}
		r.pods[name] = object
		return func(c *core) ([]change, error) { return c.SetPod(object), nil }
	}
}

// fresh returns a store that is told of the present objects, in the random order of the maps.
func (r *randomObjects) fresh() *Store {
	s := NewStore()
	apply := func(event func(*core) ([]change, error)) { require.NoError(r.t, s.apply(event)) }
	for _, object := range r.pods {
		apply(func(c *core) ([]change, error) { return c.SetPod(object), nil })
	}
	for _, set := range r.antrea {
		apply(func(c *core) ([]change, error) { return set(c), nil })
	}
	for _, object := range r.policies {
		apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(object) })
	}
	for _, object := range r.namespaces {
		apply(func(c *core) ([]change, error) { return c.SetNamespace(object), nil })
	}
	return s
}

// requireIndexed compares the store's index of objects by Node with their spans.
func requireIndexed(t *testing.T, s *Store, nodes []string) {
	t.Helper()
	for resource := range resources {
		want := map[string]map[object]struct{}{}
		s.core.objects(resource, func(o object) {
			for _, node := range nodes {
				if o.concerns().has(node) {
					if want[node] == nil {
						want[node] = map[object]struct{}{}
					}
					want[node][o] = struct{}{}
				}
			}
		})
		require.Equal(t, len(want), len(s.onNode[resource]), "Nodes of %s", resource)
		for node := range want {
			require.True(t, maps.Equal(want[node], s.onNode[resource][node]), "%s of %s", resource, node)
		}
	}
}

// After every event, agents have concluded from their watches what a controller that starts now would tell them.
func TestWatchesAgreeWithARestartedController(t *testing.T) {
	nodes := []string{"", "node0", "node1", "node2"}
	for seed := range uint64(randomSeeds) {
		r := &randomObjects{
			t: t, rng: rand.New(rand.NewPCG(seed, 0)), namespaces: map[string]*corev1.Namespace{},
			pods: map[string]*corev1.Pod{}, policies: map[string]*networkingv1.NetworkPolicy{}, antrea: map[string]func(*core) []change{},
		}
		store := NewStore()
		type watching struct {
			resource Resource
			node     string
			watcher  *watcher
			shadow   *shadow
		}
		var all []*watching
		bookmark := func(string) runtime.Object { return &controlplane.NetworkPolicy{} }
		for resource := range resources {
			for _, node := range nodes {
				w := &watching{resource: resource, node: node, shadow: &shadow{t: t, objects: map[string]any{}}}
				var initial []watch.Event
				w.watcher, initial = store.subscribe(resource, Selection{Node: node}, bookmark)
				require.Len(t, initial, 1)
				all = append(all, w)
			}
		}
		for step := range randomSteps {
			require.NoError(t, store.apply(r.step()))
			requireIndexed(t, store, nodes[1:])
			fresh := r.fresh()
			requireSame(t, fresh.core, store.core)
			for _, w := range all {
				w.shadow.handle(w.watcher.drain())
				want := &shadow{t: t, objects: map[string]any{}}
				objects, _ := fresh.List(w.resource, Selection{Node: w.node})
				for _, o := range objects {
					want.handleOne(watch.Event{Type: watch.Added, Object: o})
				}
				if diff := cmp.Diff(want.objects, w.shadow.objects); diff != "" {
					t.Fatalf("seed %d, step %d, %s of Node %q: - a fresh controller's, + the watch's\n%s", seed, step, w.resource, w.node, diff)
				}
			}
		}
	}
}
