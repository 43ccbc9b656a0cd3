// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podfeed decides which local Pods ONCache hears of: what the Pod's object says is decided here, what its interface is in
// package oncache.
package podfeed

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
)

// bandwidthAnnotations make the bandwidth plugin shape a Pod's traffic on its host-side interface, past which the fast
// path goes.
var bandwidthAnnotations = []string{"kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth"}

// Feed shows ONCache the Pods that may use it: Pods whose interface is in the store and whose object has been seen without a bandwidth
// annotation, in either order.
type Feed struct {
	store interfacestore.InterfaceStore

	mu sync.Mutex
	// allowed holds the Pods whose object has been seen, by namespace and name: true when they may use the cache.
	allowed map[string]bool
	// shown are the interfaces that subscribers know, by name.
	shown     map[string]oncache.Pod
	subscribe []func(added, removed *oncache.Pod)
}

// New makes a feed of the Pods in store and subscribes to it. A Pod is shown once Handler has got its object.
func New(store interfacestore.InterfaceStore) *Feed {
	f := &Feed{store: store, allowed: map[string]bool{}, shown: map[string]oncache.Pod{}}
	store.Subscribe(func(e interfacestore.Event) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if e.Deleted != nil {
			f.hide(e.Deleted.InterfaceName)
		}
		if e.Added != nil {
			f.consider(e.Added)
		}
	})
	return f
}

// Pods implements oncache.InterfaceStore.
func (f *Feed) Pods() []oncache.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	pods := make([]oncache.Pod, 0, len(f.shown))
	for _, pod := range f.shown {
		pods = append(pods, pod)
	}
	return pods
}

// Subscribe implements oncache.InterfaceStore. Callbacks must not call the feed.
func (f *Feed) Subscribe(changed func(added, removed *oncache.Pod)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribe = append(f.subscribe, changed)
}

// Limited implements oncache.InterfaceStore.
func (f *Feed) Limited() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.store.GetInterfacesByType(interfacestore.ContainerInterface) {
		pod := podOf(i)
		if pod == nil {
			continue
		}
		if allowed, seen := f.allowed[podKey(pod.Namespace, pod.Name)]; seen && !allowed {
			n++
		}
	}
	return n
}

// Handler must be added to the informer of local Pods.
func (f *Feed) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { f.seen(object) },
		UpdateFunc: func(_, object any) { f.seen(object) },
		DeleteFunc: f.gone,
	}
}

func (f *Feed) seen(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	allowed := true
	for _, annotation := range bandwidthAnnotations {
		if pod.Annotations[annotation] != "" {
			allowed = false
		}
	}
	key := podKey(pod.Namespace, pod.Name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if was, known := f.allowed[key]; known && was == allowed {
		return
	}
	if !allowed {
		klog.InfoS("Pod stays on Open vSwitch: its bandwidth is limited", "pod", klog.KObj(pod))
	}
	f.allowed[key] = allowed
	for _, i := range f.store.GetContainerInterfacesByPod(pod.Name, pod.Namespace) {
		f.consider(i)
	}
}

func (f *Feed) gone(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		// The interface is hidden when CNI deletes it.
		delete(f.allowed, podKey(pod.Namespace, pod.Name))
	}
}

// consider shows or hides an interface of the store. The caller holds mu.
func (f *Feed) consider(i *interfacestore.InterfaceConfig) {
	pod := podOf(i)
	if pod == nil {
		return
	}
	_, shown := f.shown[pod.InterfaceName]
	switch allowed := f.allowed[podKey(pod.Namespace, pod.Name)]; {
	case allowed && !shown:
		f.shown[pod.InterfaceName] = *pod
		for _, changed := range f.subscribe {
			changed(pod, nil)
		}
	case !allowed && shown:
		f.hide(pod.InterfaceName)
	}
}

// hide withdraws an interface, if it was shown. The caller holds mu.
func (f *Feed) hide(interfaceName string) {
	pod, shown := f.shown[interfaceName]
	if !shown {
		return
	}
	delete(f.shown, interfaceName)
	for _, changed := range f.subscribe {
		changed(nil, &pod)
	}
}

func podKey(namespace, name string) string { return namespace + "/" + name }

// podOf returns nil for interfaces that are not a Pod's first one or have no OpenFlow port.
func podOf(i *interfacestore.InterfaceConfig) *oncache.Pod {
	if i.ContainerInterfaceConfig == nil || i.OVSPortConfig == nil || i.OFPort == 0 {
		return nil
	}
	return &oncache.Pod{
		InterfaceName: i.InterfaceName, Namespace: i.PodNamespace, Name: i.PodName,
		IPs: i.IPs, MAC: i.MAC, OFPort: i.OFPort,
	}
}
