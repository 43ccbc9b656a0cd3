// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// kube is a Kubernetes API in memory that checks nothing. Like the real one it has versions, so that a watch after a list
// loses nothing, and it lists in any order. It can end watches, forget old versions and be unavailable.
type kube struct {
	mu      sync.Mutex
	rng     *rand.Rand
	version int
	// oldest is the first version from which a watch can continue.
	oldest  int
	objects map[kubeKey]runtime.Object
	log     []kubeEvent
	watches map[*kubeWatch]bool
	// unavailable are resources that cannot be listed or watched now.
	unavailable map[string]bool
}

type kubeKey struct{ resource, namespace, name string }

type kubeEvent struct {
	version  int
	resource string
	event    watch.Event
}

func newKube(rng *rand.Rand) *kube {
	return &kube{rng: rng, objects: map[kubeKey]runtime.Object{}, watches: map[*kubeWatch]bool{}, unavailable: map[string]bool{}}
}

func resourceOf(object runtime.Object) string {
	switch object.(type) {
	case *corev1.Node:
		return "nodes"
	case *corev1.Namespace:
		return "namespaces"
	case *corev1.Pod:
		return "pods"
	case *networkingv1.NetworkPolicy:
		return "networkpolicies"
	}
	panic(fmt.Sprintf("no resource for %T", object))
}

func keyOf(object runtime.Object) kubeKey {
	m := object.(metav1.Object)
	return kubeKey{resourceOf(object), m.GetNamespace(), m.GetName()}
}

// put creates or replaces the object.
func (k *kube) put(object runtime.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, kind := keyOf(object), watch.Added
	if k.objects[key] != nil {
		kind = watch.Modified
	}
	object = object.DeepCopyObject()
	k.objects[key] = object
	k.happen(key.resource, kind, object)
}

// remove deletes the object, if it exists.
func (k *kube) remove(object runtime.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := keyOf(object)
	if last := k.objects[key]; last != nil {
		delete(k.objects, key)
		k.happen(key.resource, watch.Deleted, last.DeepCopyObject())
	}
}

func (k *kube) happen(resource string, kind watch.EventType, object runtime.Object) {
	k.version++
	object.(metav1.Object).SetResourceVersion(strconv.Itoa(k.version))
	e := kubeEvent{k.version, resource, watch.Event{Type: kind, Object: object}}
	k.log = append(k.log, e)
	for w := range k.watches {
		w.add(e)
	}
}

// breakWatches ends all watches. If gone is set it tells their clients with 410 Gone that they must list again.
func (k *kube) breakWatches(gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if gone {
		// No client can know the next version: nothing has been listed since.
		k.version++
		k.oldest = k.version
	}
	for w := range k.watches {
		if gone {
			w.add(kubeEvent{k.version, w.resource, watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("too old").ErrStatus}})
		}
		w.end()
		delete(k.watches, w)
	}
}

// setAvailable sets whether a resource can be listed and watched from now on.
func (k *kube) setAvailable(resource string, available bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unavailable[resource] = !available
}

// client is a client of this API.
func (k *kube) client() kubernetes.Interface {
	c := &fake.Clientset{}
	c.AddReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list, err := k.list(action.GetResource().Resource)
		return true, list, err
	})
	c.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := k.watch(action.GetResource().Resource, action.(clienttesting.WatchActionImpl).ListOptions.ResourceVersion)
		return true, w, err
	})
	return c
}

func (k *kube) list(resource string) (runtime.Object, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unavailable[resource] {
		return nil, apierrors.NewServiceUnavailable(resource)
	}
	var items []runtime.Object
	for key, object := range k.objects {
		if key.resource == resource {
			items = append(items, object.DeepCopyObject())
		}
	}
	// In no particular order, but in the same one for the same seed.
	slices.SortFunc(items, func(a, b runtime.Object) int { return strings.Compare(fmt.Sprint(keyOf(a)), fmt.Sprint(keyOf(b))) })
	k.rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	lists := map[string]runtime.Object{
		"nodes": &corev1.NodeList{}, "namespaces": &corev1.NamespaceList{}, "pods": &corev1.PodList{}, "networkpolicies": &networkingv1.NetworkPolicyList{},
	}
	list := lists[resource]
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	list.(metav1.ListInterface).SetResourceVersion(strconv.Itoa(k.version))
	return list, nil
}

func (k *kube) watch(resource, from string) (watch.Interface, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unavailable[resource] {
		return nil, apierrors.NewServiceUnavailable(resource)
	}
	version, err := strconv.Atoi(from)
	if err != nil {
		return nil, apierrors.NewBadRequest("resource version " + from)
	}
	if version < k.oldest {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := &kubeWatch{resource: resource, result: make(chan watch.Event), wake: make(chan struct{}, 1), done: make(chan struct{})}
	for _, e := range k.log {
		if e.version > version {
			w.add(e)
		}
	}
	k.watches[w] = true
	go w.run()
	return w, nil
}

// kubeWatch is one watch.
type kubeWatch struct {
	resource string
	result   chan watch.Event
	wake     chan struct{}
	done     chan struct{}
	stop     sync.Once

	mu    sync.Mutex
	queue []watch.Event
	ended bool
}

func (w *kubeWatch) add(e kubeEvent) {
	if e.resource != w.resource {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.event.Object = e.event.Object.DeepCopyObject()
	w.queue = append(w.queue, e.event)
	w.notify()
}

// end ends the watch after the queued events.
func (w *kubeWatch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.notify()
}

func (w *kubeWatch) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *kubeWatch) run() {
	defer close(w.result)
	for {
		w.mu.Lock()
		queue, ended := w.queue, w.ended
		w.queue = nil
		w.mu.Unlock()
		for _, event := range queue {
			select {
			case w.result <- event:
			case <-w.done:
				return
			}
		}
		if ended {
			return
		}
		select {
		case <-w.wake:
		case <-w.done:
			return
		}
	}
}

// Stop implements watch.Interface.
func (w *kubeWatch) Stop() { w.stop.Do(func() { close(w.done) }) }

// ResultChan implements watch.Interface.
func (w *kubeWatch) ResultChan() <-chan watch.Event { return w.result }
