// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Controller feeds a Store with the events of the Kubernetes API.
type Controller struct {
	store     *Store
	factory   informers.SharedInformerFactory
	hasSynced []cache.InformerSynced
	synced    chan struct{}
	// egressesSynced and egressesRead are nil without FollowEgresses.
	egressesSynced cache.InformerSynced
	egressesRead   chan struct{}
}

// NewController makes a controller that reads with client once it runs.
func NewController(client kubernetes.Interface, store *Store) (*Controller, error) {
	c := &Controller{
		store: store, synced: make(chan struct{}),
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip)),
	}
	for what, informer := range map[string]cache.SharedIndexInformer{
		"Namespaces":      c.factory.Core().V1().Namespaces().Informer(),
		"Pods":            c.factory.Core().V1().Pods().Informer(),
		"NetworkPolicies": c.factory.Networking().V1().NetworkPolicies().Informer(),
	} {
		registration, err := informer.AddEventHandler(c.handler())
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", what, err)
		}
		c.hasSynced = append(c.hasSynced, registration.HasSynced)
	}
	return c, nil
}

// handler handles the events of objects of Kubernetes.
func (c *Controller) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: c.set, UpdateFunc: func(_, object any) { c.set(object) }, DeleteFunc: c.delete}
}

// FollowPolicies makes another part follow the NetworkPolicies of the Kubernetes API. It is called before Run, and
// Synced also waits for the part.
func (c *Controller) FollowPolicies(handler cache.ResourceEventHandler) error {
	registration, err := c.factory.Networking().V1().NetworkPolicies().Informer().AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("watching NetworkPolicies: %w", err)
	}
	c.hasSynced = append(c.hasSynced, registration.HasSynced)
	return nil
}

// Run watches until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	c.factory.Start(ctx.Done())
	defer c.factory.Shutdown()
	if cache.WaitForCacheSync(ctx.Done(), c.hasSynced...) {
		klog.InfoS("Computed all NetworkPolicies for the first time")
		close(c.synced)
		if c.egressesSynced != nil && cache.WaitForCacheSync(ctx.Done(), c.egressesSynced) {
			close(c.egressesRead)
		}
	}
	<-ctx.Done()
}

// Synced is closed once the store reflects all objects of the Kubernetes API. Before that it may lack policies.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// NodeOfPod returns the Node of a Pod; empty if no Pod of that name has this UID, or if it is not scheduled.
func (c *Controller) NodeOfPod(namespace, name, uid string) string {
	pod, err := c.factory.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil || string(pod.UID) != uid {
		return ""
	}
	return pod.Spec.NodeName
}

// PodNetwork reports whether a Pod exists, and whether it uses its Node's network.
func (c *Controller) PodNetwork(namespace, name string) (hostNetwork, found bool) {
	pod, err := c.factory.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return false, false
	}
	return pod.Spec.HostNetwork, true
}

// PodsWithIPs returns the running Pods (NAMESPACE/NAME) that have one of these addresses, by address. It leaves out
// Pods in the network of their Node, which share an address.
func (c *Controller) PodsWithIPs(ips sets.Set[string]) map[string]string {
	names := map[string]string{}
	for _, object := range c.factory.Core().V1().Pods().Informer().GetStore().List() {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, ip := range pod.Status.PodIPs {
			if ips.Has(ip.IP) {
				names[ip.IP] = pod.Namespace + "/" + pod.Name
			}
		}
	}
	return names
}

func (c *Controller) set(object any) {
	err := c.store.apply(func(core *core) ([]change, error) {
		switch object := object.(type) {
		case *corev1.Namespace:
			return core.SetNamespace(object), nil
		case *corev1.Pod:
			return core.SetPod(object), nil
		case *networkingv1.NetworkPolicy:
			return core.SetNetworkPolicy(object)
		case *corev1.Node:
			return core.SetNode(object), nil
		case *corev1.Service:
			return core.SetService(object), nil
		default:
			return nil, fmt.Errorf("unexpected object from an informer: %T", object)
		}
	})
	if err != nil {
		klog.ErrorS(err, "Cannot read all of an object; the unreadable parts allow nothing")
	}
}

func (c *Controller) delete(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	err := c.store.apply(func(core *core) ([]change, error) {
		switch object := object.(type) {
		case *corev1.Namespace:
			return core.DeleteNamespace(object.Name), nil
		case *corev1.Pod:
			return core.DeletePod(keyOf(object)), nil
		case *networkingv1.NetworkPolicy:
			return core.DeleteNetworkPolicy(keyOf(object)), nil
		case *corev1.Node:
			return core.DeleteNode(object.Name), nil
		case *corev1.Service:
			return core.DeleteService(keyOf(object)), nil
		default:
			return nil, fmt.Errorf("unexpected object from an informer: %T", object)
		}
	})
	if err != nil {
		klog.ErrorS(err, "Ignored a deletion")
	}
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// strip keeps only the parts of an object that the core uses, so that the informers' caches hold no more.
func strip(object any) (any, error) {
	if accessor, ok := object.(metav1.Object); ok {
		accessor.SetManagedFields(nil)
	}
	switch object := object.(type) {
	case *corev1.Pod:
		return stripPod(object), nil
	case *corev1.Node:
		return stripNode(object), nil
	case *corev1.Service:
		return stripService(object), nil
	}
	return object, nil
}

func stripPod(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion, Labels: pod.Labels,
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, HostNetwork: pod.Spec.HostNetwork, ServiceAccountName: pod.Spec.ServiceAccountName,
			Containers: portsOf(pod.Spec.Containers), InitContainers: portsOf(pod.Spec.InitContainers),
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP, PodIPs: pod.Status.PodIPs},
	}
}

// portsOf drops containers without ports.
func portsOf(containers []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, container := range containers {
		if len(container.Ports) > 0 {
			out = append(out, corev1.Container{Name: container.Name, Ports: container.Ports, RestartPolicy: container.RestartPolicy})
		}
	}
	return out
}
