// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// Informers are the sources of the objects.
type Informers struct {
	Services  coreinformers.ServiceInformer
	Endpoints discoveryinformers.EndpointSliceInformer
	// Nodes is for this Node's zone, Accepted says what counts of all Nodes; nil for a Reader of its own.
	Nodes    coreinformers.NodeInformer
	Accepted *noderoute.Reader
}

// NewFactory makes a factory for the informers of Services and EndpointSlices. Those that concern headless Services are not
// even sent to the agent, and what no part of the agent uses is not kept.
func NewFactory(kube kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(trim), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = "!" + corev1.IsHeadlessService
	}))
}

// watch registers the controller with the informers.
func (c *Controller) watch(in Informers) error {
	services, endpoints := in.Services.Informer(), in.Endpoints.Informer()
	for _, w := range []struct {
		kind     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{kindService, services, handlerOf(
			func(_, s *corev1.Service) []key {
				countUpdate(serviceUpdates, &c.config, versionsOf(s)...)
				return c.core.setService(s)
			},
			func(s *corev1.Service) []key { return c.core.deleteService(key{Namespace: s.Namespace, Name: s.Name}) }, c)},
		{kindEndpointSlice, endpoints, handlerOf(
			func(former, s *discoveryv1.EndpointSlice) []key {
				if f, ok := addressFamilies[s.AddressType]; ok {
					countUpdate(endpointsUpdates, &c.config, f)
				}
				return c.core.setSlice(former, s)
			}, c.core.deleteSlice, c)},
		{"Node", in.Nodes.Informer(), handlerOf(
			func(_, n *corev1.Node) []key { return c.setZone(n.Name, n.Labels[corev1.LabelTopologyZone]) },
			func(n *corev1.Node) []key { return c.setZone(n.Name, "") }, c)},
	} {
		registration, err := w.informer.AddEventHandler(recovery.Handler(controllerName, w.kind, w.handler))
		if err != nil {
			return fmt.Errorf("watch objects of kind %s: %w", w.kind, err)
		}
		c.synced = append(c.synced, registration.HasSynced)
	}
	if in.Accepted == nil {
		in.Accepted = noderoute.NewReader()
		if err := in.Accepted.Follow(in.Nodes); err != nil {
			return err
		}
	}
	in.Accepted.Watch(func(node string, now noderoute.Accepted) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enqueue(c.core.setNode(node, now))
	})
	c.synced = append(c.synced, in.Accepted.HasSynced)
	return nil
}

func (c *Controller) setZone(node, zone string) []key {
	if node != c.config.NodeName {
		return nil
	}
	return c.core.setZone(zone)
}

// SetNeeded tells the controller the Node's dependencies besides Nodes and Config.NeededServices. It replaces the
// former list of the source.
func (c *Controller) SetNeeded(source string, now []dependency.Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enqueue(c.core.setNeeded(source, now))
}

// handlerOf makes a handler that tells the core of each object and enqueues the Services that the object matters for.
func handlerOf[T any](set func(former, now *T) []key, remove func(*T) []key, c *Controller) cache.ResourceEventHandler {
	locked := func(tell func() []key) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enqueue(tell())
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if now, ok := object.(*T); ok {
				locked(func() []key { return set(nil, now) })
			}
		},
		UpdateFunc: func(old, object any) {
			former, ok := old.(*T)
			if now, isNow := object.(*T); ok && isNow {
				locked(func() []key { return set(former, now) })
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if former, ok := object.(*T); ok {
				locked(func() []key { return remove(former) })
			}
		},
	}
}

// versionsOf returns the IP versions of a Service.
func versionsOf(s *corev1.Service) (versions []family) {
	for _, v := range s.Spec.IPFamilies {
		if v == corev1.IPv6Protocol {
			versions = append(versions, ipv6)
		} else {
			versions = append(versions, ipv4)
		}
	}
	return versions
}

var yes, no = true, false

// trim removes the unused parts of a Service or an EndpointSlice, and makes equal values share their memory: the informers keep all objects of the
// cluster.
func trim(object any) (any, error) {
	if service, ok := object.(*corev1.Service); ok {
		service.ManagedFields = nil
	}
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return object, nil
	}
	s.ManagedFields, s.Annotations, s.OwnerReferences = nil, nil, nil
	names := map[string]*string{}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		e.Hostname, e.TargetRef, e.DeprecatedTopology, e.Zone = nil, nil, nil, nil
		for _, condition := range []**bool{&e.Conditions.Ready, &e.Conditions.Serving, &e.Conditions.Terminating} {
			if *condition != nil && **condition {
				*condition = &yes
			} else if *condition != nil {
				*condition = &no
			}
		}
		if e.NodeName == nil {
			continue
		}
		if names[*e.NodeName] == nil {
			names[*e.NodeName] = e.NodeName
		}
		e.NodeName = names[*e.NodeName]
	}
	return s, nil
}
