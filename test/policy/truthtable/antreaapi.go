// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// kinds are the kinds of Antrea's objects and of the Kubernetes network policy API, by resource.
var kinds = map[schema.GroupVersionResource]string{
	crd.Tiers: v1beta1.TierKind, crd.ClusterGroups: v1beta1.ClusterGroupKind, crd.Groups: v1beta1.GroupKind,
	crd.ClusterNetworkPolicies: v1beta1.ClusterNetworkPolicyKind, crd.NetworkPolicies: v1beta1.NetworkPolicyKind,
	crd.AdminNetworkPolicies: policy.AdminKind, crd.BaselineAdminNetworkPolicies: policy.BaselineKind, crd.K8sClusterNetworkPolicies: policy.ClusterKind,
}

func newAntreaAPI() *dynamicfake.FakeDynamicClient {
	lists := map[schema.GroupVersionResource]string{}
	for resource, kind := range kinds {
		lists[resource] = kind + "List"
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
}

// antreaKey identifies an object. Another UID makes another object, as for the API server.
type antreaKey struct {
	resource             schema.GroupVersionResource
	namespace, name, uid string
}

// antreaObjects returns the objects of these kinds.
func antreaObjects(world *policy.World) map[antreaKey]metav1.Object {
	all := map[antreaKey]metav1.Object{}
	add := func(resource schema.GroupVersionResource, o metav1.Object) {
		all[antreaKey{resource, o.GetNamespace(), o.GetName(), string(o.GetUID())}] = o
	}
	for _, o := range world.Tiers {
		add(crd.Tiers, o)
	}
	for _, o := range world.ClusterGroups {
		add(crd.ClusterGroups, o)
	}
	for _, o := range world.Groups {
		add(crd.Groups, o)
	}
	for _, o := range world.ClusterNetworkPolicies {
		add(crd.ClusterNetworkPolicies, o)
	}
	for _, o := range world.AntreaNetworkPolicies {
		add(crd.NetworkPolicies, o)
	}
	for _, o := range world.AdminPolicies {
		for resource, kind := range kinds {
			if kind == o.Kind && resource.Group == adminGroup {
				add(resource, o.Object())
			}
		}
	}
	return all
}

// adminGroup is the group of the Kubernetes network policy API.
const adminGroup = "policy.networking.k8s.io"

// changeAntrea turns the objects of one world into the objects of another: all deletions come first.
func (c *cluster) changeAntrea(ctx context.Context, before, after *policy.World) error {
	had, has := antreaObjects(before), antreaObjects(after)
	for key := range had {
		if has[key] == nil {
			if err := c.antrea.Resource(key.resource).Namespace(key.namespace).Delete(ctx, key.name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	for key, object := range has {
		damage := after.Damaged[object.GetUID()]
		if old := had[key]; !reflect.DeepEqual(old, object) || damage != before.Damaged[object.GetUID()] {
			if err := c.setAntrea(ctx, key.resource, object, damage, old == nil); err != nil {
				return err
			}
		}
	}
	return c.changeServicesAndNodes(ctx, before, after)
}

// setAntrea creates or updates an object.
func (c *cluster) setAntrea(ctx context.Context, resource schema.GroupVersionResource, object metav1.Object, damage policy.Damage, create bool) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	damage.Apply(content)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(resource.GroupVersion().WithKind(kinds[resource]))
	client := c.antrea.Resource(resource).Namespace(object.GetNamespace())
	if create {
		_, err = client.Create(ctx, u, metav1.CreateOptions{})
	} else {
		_, err = client.Update(ctx, u, metav1.UpdateOptions{})
	}
	return err
}

func (c *cluster) changeServicesAndNodes(ctx context.Context, before, after *policy.World) error {
	had := map[string]*corev1.Service{}
	for _, s := range before.Services {
		had[s.Namespace+"/"+s.Name] = s
	}
	for _, s := range after.Services {
		services, err := c.api.CoreV1().Services(s.Namespace), error(nil)
		if old := had[s.Namespace+"/"+s.Name]; old == nil {
			_, err = services.Create(ctx, s, metav1.CreateOptions{})
		} else if !reflect.DeepEqual(old, s) {
			_, err = services.Update(ctx, s, metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
		delete(had, s.Namespace+"/"+s.Name)
	}
	for _, s := range had {
		if err := c.api.CoreV1().Services(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	for _, host := range after.Hosts {
		_, err := c.api.CoreV1().Nodes().Update(ctx, nodeObject(host, after.NodeLabels[host.Node]), metav1.UpdateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// createNodes makes the Nodes, with addresses of Pods in their network.
func (c *cluster) createNodes(ctx context.Context, world *policy.World) error {
	for _, host := range world.Hosts {
		if _, err := c.api.CoreV1().Nodes().Create(ctx, nodeObject(host, world.NodeLabels[host.Node]), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func nodeObject(host *policy.Pod, labels map[string]string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host.Node, Labels: labels}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: host.IPv4.String()}, {Type: corev1.NodeInternalIP, Address: host.IPv6.String()},
	}}}
	for number := byte(1); number <= 2; number++ {
		if n := (switchpair.Identity{Number: number}); n.Name() == host.Node {
			for _, cidr := range n.PodCIDRs() {
				node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, cidr.String())
			}
		}
	}
	return node
}
