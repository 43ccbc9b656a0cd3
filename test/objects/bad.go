// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/test/policy"
)

// bad is one bad thing: an object, a request or a file. Its presence may change only what it concerns; see the package's
// comment.
type bad struct {
	// Kind and What describe it.
	Kind, What string
	// versions are the contents of the object one after the other; nil is its absence.
	versions []runtime.Object
	at       int
	// request is sent whenever the thing appears; damage is done to the files of an agent that does not run.
	request func(*World) error
	damage  func(*World, *host) error
	// steps in the order in which they were made.
	order map[*step]int

	// prefixes are the Pod networks that a Node claims.
	prefixes []netip.Prefix
	// addresses are the addresses that a Node claims: packets of Pods to them are not for an Egress.
	addresses []netip.Addr
	// selects reports which Pods a policy may isolate.
	selects func(*policy.Pod) bool
	// alias is a Pod that claims the address of a good one.
	alias *policy.Pod
}

func (b *bad) String() string { return b.Kind + " " + b.What }

// makeBad makes the bad things of a set. Their random numbers are separate, so that removing one of them does not change
// the rest of the set.
func (s *Script) makeBad(rng *rand.Rand, world *policy.World) {
	makers := []func(*rand.Rand, int, *policy.World) *bad{
		badNode, badNode, badPod, badPolicy, badPolicy, badPolicy, badNamespace, badRequest, badFile,
	}
	for i := range 3 + rng.IntN(6) {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		b := makers[own.IntN(len(makers))](own, i, world)
		b.order = map[*step]int{}
		s.Bad = append(s.Bad, b)
	}
}

func (b *bad) step(do func(*World) error) *step {
	s := &step{bad: b, do: do}
	b.order[s] = len(b.order)
	return s
}

// next returns the next version of the thing, often immediately after its absence.
func (b *bad) next(rng *rand.Rand) []*step {
	dice := rng.IntN(4)
	if b.request != nil {
		return []*step{b.step(b.request)}
	}
	if len(b.versions) == 0 {
		return nil
	}
	version := b.versions[b.at%len(b.versions)]
	b.at++
	steps := []*step{b.step(b.appear(version))}
	switch dice {
	case 0: // It is deleted while it is being handled.
		steps = append(steps, b.step(b.disappear(version)))
	case 1: // It is created again under its name.
		again := version.DeepCopyObject()
		again.(metav1.Object).SetUID(types.UID(fmt.Sprintf("%s-again", version.(metav1.Object).GetUID())))
		steps = append(steps, b.step(b.disappear(version)), b.step(b.appear(again)))
	}
	return steps
}

func (b *bad) appear(object runtime.Object) func(*World) error {
	return func(w *World) error {
		w.present[b] = true
		object := object.DeepCopyObject()
		object.(metav1.Object).SetCreationTimestamp(metav1.Now()) // younger than all good ones
		w.kube.put(object)
		return nil
	}
}

func (b *bad) disappear(object runtime.Object) func(*World) error {
	return func(w *World) error {
		delete(w.present, b)
		w.kube.remove(object)
		return nil
	}
}

// vanish removes the thing.
func (b *bad) vanish() []*step {
	if len(b.versions) == 0 {
		return nil
	}
	return []*step{b.step(b.disappear(b.versions[0]))}
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func badMeta(kind string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: fmt.Sprintf("bad-%s-%d", kind, i), UID: types.UID(fmt.Sprintf("bad-uid-%s-%d", kind, i))}
}

// selectsLike reports which Pods of its Namespace a policy selects: all of them if its selector is invalid.
func selectsLike(p *networkingv1.NetworkPolicy) func(*policy.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	return func(pod *policy.Pod) bool {
		return pod.Namespace == p.Namespace && (err != nil || selector.Matches(labels.Set(pod.Labels)))
	}
}

func badNamespace(rng *rand.Rand, i int, _ *policy.World) *bad {
	ns := &corev1.Namespace{ObjectMeta: badMeta("namespace", i)}
	b := &bad{Kind: "Namespace", versions: []runtime.Object{ns}}
	switch rng.IntN(4) {
	case 0:
		b.What, ns.Labels = "with labels that are none", map[string]string{"": "", "team": "red\n", "a/b/c": "\x00", "Team ": "red"}
	case 1:
		b.What, ns.Labels = "with the labels of good ones", map[string]string{"team": pick(rng, "red", "blue")}
	case 2:
		b.What, ns.Labels = "with 3000 labels", map[string]string{}
		for n := range 3000 {
			ns.Labels[fmt.Sprintf("label-%d", n)] = "x"
		}
	default:
		b.What, ns.Annotations = "with odd annotations", map[string]string{"networkpolicy.antrea.io/enable-logging": "TRUE\n", "": "x"}
		ns.Name = pick(rng, "", "..", "a/b", "A B")
	}
	return b
}
