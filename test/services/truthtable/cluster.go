// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/test/services"
)

// api is the Kubernetes API.
type api struct {
	*fake.Clientset

	mu      sync.Mutex
	watches int
}

func newAPI() *api {
	a := &api{Clientset: fake.NewClientset()}
	a.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		var options metav1.ListOptions
		if w, ok := action.(clienttesting.WatchActionImpl); ok {
			options = w.ListOptions
		}
		w, err := a.Tracker().Watch(action.GetResource(), action.GetNamespace(), options)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watches++
		return true, w, err
	})
	return a
}

// watchesOf is the number of an agent's watches.
const watchesOf = 3

// waitWatches returns when n watches have been started: unlike a real one, this API loses events between a list and the
// watch that follows it.
func (a *api) waitWatches(n int) bool {
	for deadline := time.Now().Add(settleTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		a.mu.Lock()
		enough := a.watches >= n
		a.mu.Unlock()
		if enough {
			return true
		}
	}
	return false
}

// request is a change of one object, or of two with the same name.
type request func(context.Context) error

// change turns the objects of a World into the objects of another one, in random order.
func (a *api) change(ctx context.Context, rng *rand.Rand, before, after *services.World) error {
	var requests []request
	for _, n := range after.Nodes {
		if i := slices.IndexFunc(before.Nodes, func(o *services.Node) bool { return o.Name == n.Name }); i < 0 || before.Nodes[i] != n {
			requests = append(requests, replacement(a.CoreV1().Nodes(), object(before.Nodes, i), n.Object()))
		}
	}
	for _, s := range union(before.Services, after.Services) {
		old, now := find(before.Services, s), find(after.Services, s)
		if !reflect.DeepEqual(old, now) {
			requests = append(requests, replacement(a.CoreV1().Services(s.Namespace), old, now))
		}
	}
	for _, s := range union(before.Slices, after.Slices) {
		old, now := find(before.Slices, s), find(after.Slices, s)
		if !reflect.DeepEqual(old, now) {
			requests = append(requests, replacement(a.DiscoveryV1().EndpointSlices(s.Namespace), old, now))
		}
	}
	rng.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	for _, send := range requests {
		if err := send(ctx); err != nil {
			return err
		}
	}
	return nil
}

func object(nodes []*services.Node, i int) *corev1.Node {
	if i < 0 {
		return nil
	}
	return nodes[i].Object()
}

// apiObject is a pointer to an object of the API.
type apiObject interface {
	comparable
	metav1.Object
	runtime.Object
}

// union returns the objects of both lists, each name once.
func union[T apiObject](a, b []T) (all []T) {
	for _, o := range slices.Concat(a, b) {
		if find(all, o) == *new(T) {
			all = append(all, o)
		}
	}
	return all
}

// find returns the object with the name of another one, or nil.
func find[T apiObject](in []T, other T) (found T) {
	for _, o := range in {
		if o.GetNamespace() == other.GetNamespace() && o.GetName() == other.GetName() {
			return o
		}
	}
	return found
}

// client is a client for one kind of object in one Namespace.
type client[T any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// replacement makes one object of another one: it creates, updates or deletes it, or deletes and creates it if it has another UID.
func replacement[T apiObject](objects client[T], old, now T) request {
	return func(ctx context.Context) error {
		none := *new(T)
		if old != none && now != none && old.GetUID() == now.GetUID() {
			_, err := objects.Update(ctx, now, metav1.UpdateOptions{})
			return err
		}
		if old != none {
			if err := objects.Delete(ctx, old.GetName(), metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		if now == none {
			return nil
		}
		_, err := objects.Create(ctx, now, metav1.CreateOptions{})
		return err
	}
}
