// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// scale is the size of a cluster. Each Namespace has as many applications as policies, and ten Pods of each. Its policies
// let an application be reached by its neighbor in the Namespace, by the frontends of its team's Namespaces, and by the
// monitoring Pod of every Namespace. So the monitoring group concerns every Node.
type scale struct {
	nodes, namespaces, applications int
}

const podsPerApplication = 10

func (s scale) pod(namespace, application, i int) *corev1.Pod {
	n := (namespace*s.applications+application)*podsPerApplication + i
	set := map[string]string{"app": fmt.Sprint("app", application), "tier": "backend"}
	switch {
	case application == 0 && i == 0:
		set["tier"] = "monitoring"
	case application < 2:
		set["tier"] = "frontend"
	}
	pod := makePod(fmt.Sprintf("ns%d/app%d-%d", namespace, application, i), "", fmt.Sprint("node", (n*7919)%s.nodes),
		fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
	pod.Labels = set
	return pod
}

// fill gives a store the cluster's objects.
func (s scale) fill(tb testing.TB, store *Store) {
	apply := func(event func(*core) ([]change, error)) { require.NoError(tb, store.apply(event)) }
	for ns := range s.namespaces {
		name := fmt.Sprint("ns", ns)
		apply(func(c *core) ([]change, error) {
			return c.SetNamespace(makeNamespace(name, fmt.Sprintf("team=%d,kubernetes.io/metadata.name=%s", ns/10, name))), nil
		})
		for app := range s.applications {
			for i := range podsPerApplication {
				apply(func(c *core) ([]change, error) { return c.SetPod(s.pod(ns, app, i)), nil })
			}
			policy := makePolicy(tb, fmt.Sprintf("%s/%s-app%d", name, name, app), fmt.Sprintf(`
podSelector: {matchLabels: {app: app%d}}
ingress:
- from: [{podSelector: {matchLabels: {app: app%d}}}]
  ports: [{port: 80}]
- from: [{namespaceSelector: {matchLabels: {team: "%d"}}, podSelector: {matchLabels: {tier: frontend}}}]
- from: [{namespaceSelector: {}, podSelector: {matchLabels: {tier: monitoring}}}]
  ports: [{port: 9090}]
`, app, (app+1)%s.applications, ns/10))
			apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(policy) })
		}
	}
}

// recipients returns the number of Nodes that are told of a change.
func (ch *change) recipients() (n int) {
	for range ch.told() {
		n++
	}
	return n
}

// countingSelector counts how often a selector is compared with labels.
type countingSelector struct {
	labels.Selector
	count *int
}

func (s countingSelector) Matches(l labels.Labels) bool {
	*s.count++
	return s.Selector.Matches(l)
}

// The cost of an event must depend on the objects that it affects, not on the size of the cluster. A selector may be
// compared with labels only when a class and a selector that can see it are new to each other.
func TestRecomputationIsIncremental(t *testing.T) {
	s := scale{nodes: 50, namespaces: 40, applications: 5}
	store := NewStore()
	s.fill(t, store)
	matches := 0
	for _, s := range store.core.selections {
		s.pods = countingSelector{s.pods, &matches}
	}
	for _, selector := range store.core.namespaceSelectors {
		selector.Selector = countingSelector{selector.Selector, &matches}
	}
	setLabels := func(pod *corev1.Pod, set string) *corev1.Pod {
		pod.Labels = parseLabels(set)
		return pod
	}
	groupsOfANamespace := len(store.core.namespaces["ns7"].selections) + 2 // and the groups of its team and of monitoring
	for _, tc := range []struct {
		name                     string
		event                    func(*core) []change
		matches, objects, events int
		// marked is the number of Nodes that get a mark, of three messages.
		marked int
	}{
		{"a new Pod of a known class", func(c *core) []change {
			return c.SetPod(makePod("ns7/new", "app=app3,tier=backend", "node1", "10.9.9.9"))
		}, 0, 6, 16, 1},
		{
			"a Pod moves from one known class to another",
			func(c *core) []change { return c.SetPod(setLabels(s.pod(7, 3, 0), "app=app1,tier=frontend")) }, 0, 100, 300, 21,
		},
		{
			"a Pod gets labels that no Pod of its Namespace has",
			func(c *core) []change { return c.SetPod(setLabels(s.pod(7, 3, 1), "app=app3,tier=backend,version=2")) }, groupsOfANamespace, 0, 0, 0,
		},
		{"a Pod changes its address", func(c *core) []change {
			pod := s.pod(8, 0, 0)
			pod.Status.PodIPs[0].IP = "10.9.9.8"
			return c.SetPod(pod)
		}, 0, 3, 100, 10},
		{"a Namespace changes a label that no policy selects", func(c *core) []change { return c.SetNamespace(makeNamespace("ns9", "team=0,x=y")) }, len(store.core.namespaceSelectors), 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			matches = 0
			changes := tc.event(store.core)
			require.LessOrEqual(t, matches, tc.matches, "comparisons of a selector with labels")
			require.LessOrEqual(t, len(changes), tc.objects, "changed objects")
			events := 0
			for _, ch := range changes {
				events += ch.recipients()
			}
			require.LessOrEqual(t, events, tc.events, "watch events")
			require.LessOrEqual(t, len(markedNodes(changes)), tc.marked, "Nodes with a mark")
		})
	}
}

// agents are the watches of all Nodes. They encode their events, as the API server does for each client.
type agents struct {
	watches  []watch.Interface
	received atomic.Int64
	marks    atomic.Int64
	bytes    atomic.Int64
}

type countingWriter struct{ n *atomic.Int64 }

func (w countingWriter) Write(p []byte) (int, error) {
	w.n.Add(int64(len(p)))
	return len(p), nil
}

var _ io.Writer = countingWriter{}

func (a *agents) connect(b *testing.B, store *Store, nodes int) {
	scheme := apiruntime.NewScheme()
	require.NoError(b, controlplane.AddToScheme(scheme))
	require.NoError(b, v1beta2.AddToScheme(scheme))
	encoder := serializer.NewCodecFactory(scheme).LegacyCodec(v1beta2.SchemeGroupVersion)
	var connected atomic.Int64
	for node := range nodes {
		for resource := range resources {
			selection := Selection{Node: fmt.Sprint("node", node), Marked: resource != EgressGroups}
			w := store.Watch(resource, selection, func(string) apiruntime.Object { return &controlplane.NetworkPolicy{} })
			a.watches = append(a.watches, w)
			go func() {
				initial := true
				for event := range w.ResultChan() {
					if err := encoder.Encode(event.Object, countingWriter{&a.bytes}); err != nil {
						panic(err)
					}
					switch {
					case event.Type == watch.Bookmark && initial:
						initial = false
						connected.Add(1)
					case event.Type == watch.Bookmark:
						a.marks.Add(1)
					case !initial:
						a.received.Add(1)
					}
				}
			}()
		}
	}
	waitUntil(func() bool { return connected.Load() == int64(nodes*int(resources)) })
}

func waitUntil(condition func() bool) {
	for !condition() {
		time.Sleep(100 * time.Microsecond)
	}
}

func heapMiB() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / (1 << 20)
}

// BenchmarkScale measures a cluster of 5,000 Nodes, 100,000 Pods and 10,000 policies. Every Node has its watches, with marks. The
// result is the processor time from a Pod's change until the last affected Node has been told, of all threads and including
// the encoding for every client.
func BenchmarkScale(b *testing.B) {
	s := scale{nodes: 5000, namespaces: 500, applications: 20}
	store := NewStore()
	before := heapMiB()
	cpu := cost.ProcessorTime(b)
	s.fill(b, store)
	computed, computation := cost.ProcessorTime(b)-cpu, heapMiB()-before
	require.Len(b, store.core.pods, 100000)
	require.Len(b, store.core.policies, 10000)
	cpu = cost.ProcessorTime(b)
	var all agents
	all.connect(b, store, s.nodes)
	connected := cost.ProcessorTime(b) - cpu
	b.Run("start", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(computed.Seconds(), "compute-cpu-s")
		b.ReportMetric(computation, "compute-MiB")
		b.ReportMetric(connected.Seconds(), "connect-cpu-s")
		b.ReportMetric(float64(all.bytes.Load())/(1<<20), "JSON-MiB")
		b.ReportMetric(heapMiB()-before, "watched-MiB")
	})
	defer func() {
		for _, w := range all.watches {
			w.Stop()
		}
	}()

	for _, bc := range []struct {
		name   string
		change func(pod *corev1.Pod, i int)
		target [3]int
	}{
		{"label, peer of one application", func(pod *corev1.Pod, i int) { pod.Labels["app"] = []string{"app7", "none"}[i%2] }, [3]int{123, 7, 3}},
		{"label, peer of a team", func(pod *corev1.Pod, i int) { pod.Labels["tier"] = []string{"frontend", "backend"}[i%2] }, [3]int{123, 1, 3}},
		{"label, peer of every Node", func(pod *corev1.Pod, i int) { pod.Labels["tier"] = []string{"monitoring", "backend"}[i%2] }, [3]int{123, 0, 0}},
		{"label never seen", func(pod *corev1.Pod, i int) { pod.Labels["version"] = fmt.Sprint(i) }, [3]int{123, 7, 4}},
		{"Pod comes and goes", func(pod *corev1.Pod, i int) {
			pod.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed}[i%2]
		}, [3]int{123, 7, 5}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			events, marks := 0, all.marks.Load()
			runtime.GC()
			begin := cost.ProcessorTime(b)
			for i := range b.N {
				pod := s.pod(bc.target[0], bc.target[1], bc.target[2])
				bc.change(pod, i+1)
				want := all.received.Load()
				require.NoError(b, store.apply(func(c *core) ([]change, error) {
					changes := c.SetPod(pod)
					for _, ch := range changes {
						want += int64(ch.recipients())
						events += ch.recipients()
					}
					return changes, nil
				}))
				waitUntil(func() bool { return all.received.Load() >= want })
			}
			b.ReportMetric(float64(cost.ProcessorTime(b)-begin)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(events)/float64(b.N), "events/op")
			b.ReportMetric(float64(all.marks.Load()-marks)/float64(b.N), "marks/op")
		})
	}
}
