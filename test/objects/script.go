// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/test/policy"
)

// Script is one set: events, in phases after each of which the worlds are compared.
type Script struct {
	phases []*phase
	// Bad are the bad objects of the set.
	Bad []*bad
	// late are Pods that are connected again whenever the Nodes must be ready for Pods.
	late []*policy.Pod
}

// phase is a part of a set.
type phase struct {
	name  string
	steps []*step
	// world has the good objects at the end, nodes are the good Nodes.
	world  *policy.World
	nodes  []byte
	probes []*policy.Probe
	// disturbs is set where no good object changes: everything that is closed before and after must also be closed in
	// between.
	disturbs bool
	// begins is set where agents have started and must become ready.
	begins bool
}

// step is one event of a phase.
type step struct {
	// bad is the thing that the step changes; nil for a step in both worlds.
	bad *bad
	do  func(*World) error
	// waits makes the world settle before the next step.
	waits bool
}

// lastNode is the highest number of a good Node.
const lastNode = 6

// probePorts are the destination ports of probes: around those that policies name.
var probePorts = []uint16{79, 80, 443, 8080}

// NewScript makes a set. The same arguments make the same set.
func NewScript(seed, set uint64) *Script {
	rng := rand.New(rand.NewPCG(seed, set))
	s := &Script{}
	generator := policy.NewGenerator(rng)
	world, nodes := generator.Next(), []byte{1, 2, 3, 4}
	s.late = world.Pods[len(world.Pods)-agents:]
	s.makeBad(rng, world)

	begin := s.phase("the begin", world, nodes)
	begin.begins = true
	for _, object := range objectsOf(world, nodes) {
		begin.good(put(object))
	}
	s.appear(rng, begin, 40)
	rng.Shuffle(len(begin.steps), func(i, j int) { begin.steps[i], begin.steps[j] = begin.steps[j], begin.steps[i] })
	begin.good((*World).start)
	for _, pod := range world.Pods {
		if !slices.Contains(s.late, pod) {
			begin.good(connect(pod))
		}
	}
	world, nodes = s.changes(rng, "changes", generator, world, nodes)
	s.disturbance(rng, world, nodes)
	world, nodes = s.changes(rng, "more changes", generator, world, nodes)
	s.disturbance(rng, world, nodes)
	end := s.phase("all bad objects are gone", world, nodes)
	for _, b := range s.Bad {
		end.steps = append(end.steps, b.vanish()...)
	}
	for _, p := range s.phases {
		p.probes = probesOf(rng, p.world)
	}
	return s
}

func (s *Script) phase(name string, world *policy.World, nodes []byte) *phase {
	p := &phase{name: fmt.Sprintf("%d (%s)", len(s.phases)+1, name), world: world, nodes: nodes}
	s.phases = append(s.phases, p)
	return p
}

func (p *phase) good(do func(*World) error) { p.steps = append(p.steps, &step{do: do}) }

// appear makes some of the absent bad objects appear, change, or vanish for a time.
func (s *Script) appear(rng *rand.Rand, p *phase, percent int) {
	for _, b := range s.Bad {
		if rng.IntN(100) < percent {
			p.steps = append(p.steps, b.next(rng)...)
		}
	}
}

// changes is a phase of changes of good objects, between which bad ones appear.
func (s *Script) changes(rng *rand.Rand, name string, generator *policy.Generator, world *policy.World, nodes []byte) (*policy.World, []byte) {
	next := generator.Next()
	for i, pod := range next.Pods {
		pod.Ports = world.Pods[i].Ports
	}
	after := slices.Clone(nodes)
	if last := after[len(after)-1]; last < lastNode && rng.IntN(2) == 0 {
		after = append(after, last+1)
	}
	p := s.phase(name, next, after)
	before := map[string]runtime.Object{}
	for _, object := range objectsOf(world, nodes) {
		before[fmt.Sprint(keyOf(object))] = object
	}
	for _, object := range objectsOf(next, after) {
		key := fmt.Sprint(keyOf(object))
		old := before[key]
		delete(before, key)
		if old == nil || rng.IntN(3) > 0 || !sameLabels(old, object) {
			p.good(put(object))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		p.good(remove(before[key]))
	}
	s.appear(rng, p, 50)
	rng.Shuffle(len(p.steps), func(i, j int) { p.steps[i], p.steps[j] = p.steps[j], p.steps[i] })
	for _, step := range p.steps {
		step.waits = rng.IntN(4) == 0
	}
	inOrder(p.steps)
	return next, after
}

// inOrder restores the order of each bad object's steps, in the places that they have.
func inOrder(steps []*step) {
	places := map[*bad][]int{}
	for i, s := range steps {
		if s.bad != nil {
			places[s.bad] = append(places[s.bad], i)
		}
	}
	for _, at := range places {
		var own []*step
		for _, i := range at {
			own = append(own, steps[i])
		}
		slices.SortFunc(own, func(a, b *step) int { return a.bad.order[a] - b.bad.order[b] })
		for n, i := range at {
			steps[i] = own[n]
		}
	}
}

func sameLabels(a, b runtime.Object) bool {
	return maps.Equal(a.(metav1.Object).GetLabels(), b.(metav1.Object).GetLabels()) && a.(metav1.Object).GetUID() == b.(metav1.Object).GetUID()
}

func put(object runtime.Object) func(*World) error {
	return func(w *World) error { w.kube.put(object); return nil }
}

func remove(object runtime.Object) func(*World) error {
	return func(w *World) error { w.kube.remove(object); return nil }
}

func connect(pod *policy.Pod) func(*World) error {
	return func(w *World) error {
		if err := w.host(pod.Node).connect(w.runtime, pod); err != nil {
			w.incident("ADD of %s/%s: %v", pod.Namespace, pod.Name, err)
		}
		return nil
	}
}

// begun is the creation time of good Nodes, earlier than the clock of any world.
var begun = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)

// objectsOf returns the objects of a world.
func objectsOf(world *policy.World, nodes []byte) []runtime.Object {
	var objects []runtime.Object
	for _, number := range nodes {
		objects = append(objects, nodeObject(number))
	}
	for _, name := range slices.Sorted(maps.Keys(world.Namespaces)) {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: world.Namespaces[name]}})
	}
	for _, pod := range world.Pods {
		objects = append(objects, pod.Object())
	}
	for _, p := range world.Policies {
		objects = append(objects, p)
	}
	return objects
}

func nodeObject(number byte) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(number), UID: types.UID(nodeName(number)), CreationTimestamp: metav1.NewTime(begun.Add(time.Duration(number) * time.Hour)),
		},
		Spec: corev1.NodeSpec{PodCIDR: podCIDR(number).String(), PodCIDRs: []string{podCIDR(number).String()}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: nodeName(number)}, {Type: corev1.NodeInternalIP, Address: transportIP(number).String()},
		}},
	}
}

// probesOf returns all ordered pairs of Pods, each with a protocol and a port.
func probesOf(rng *rand.Rand, world *policy.World) []*policy.Probe {
	var probes []*policy.Probe
	protocols := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	for _, from := range world.Pods {
		for _, to := range world.Pods {
			if from != to {
				probes = append(probes, &policy.Probe{From: from, To: to, Protocol: protocols[rng.IntN(3)], Port: probePorts[rng.IntN(len(probePorts))]})
			}
		}
	}
	return probes
}
