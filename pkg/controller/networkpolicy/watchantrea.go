// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// FollowAntrea makes the controller follow Antrea's policies, tiers and groups, whose informers run elsewhere, and the Nodes
// and Services that these name. It is called before Run, and Synced also waits for them.
func (c *Controller) FollowAntrea(objects *crd.Policies) error {
	return c.follow([]followed{
		{"Nodes", c.factory.Core().V1().Nodes().Informer(), c.handler()},
		{"Services", c.factory.Core().V1().Services().Informer(), c.handler()},
		{"Tiers", objects.Tiers, follow(c.store, setTier, func(core *core, name types.NamespacedName) []change { return core.DeleteTier(name.Name) })},
		{"ClusterGroups", objects.ClusterGroups, follow(c.store, setClusterGroup, deleteGroup)},
		{"Groups", objects.Groups, follow(c.store, setGroup, deleteGroup)},
		{"ClusterNetworkPolicies", objects.ClusterNetworkPolicies, follow(c.store, (*core).SetClusterNetworkPolicy, (*core).DeleteAntreaPolicy)},
		{"NetworkPolicies of Antrea", objects.NetworkPolicies, follow(c.store, (*core).SetAntreaNetworkPolicy, (*core).DeleteAntreaPolicy)},
	})
}

// FollowAdmin makes the controller follow the policies of the Kubernetes network policy API, whose informers run elsewhere. FollowAntrea is called
// before, which follows Nodes, and Run afterward. Synced also waits for them.
func (c *Controller) FollowAdmin(objects *crd.AdminPolicies) error {
	var kinds []followed
	if objects.AdminNetworkPolicies != nil {
		kinds = append(kinds,
			followed{"AdminNetworkPolicies", objects.AdminNetworkPolicies,
				follow(c.store, (*core).SetAdminNetworkPolicy, deleteAdmin(controlplane.AdminNetworkPolicy))},
			followed{"BaselineAdminNetworkPolicies", objects.BaselineAdminNetworkPolicies,
				follow(c.store, (*core).SetBaselineAdminNetworkPolicy, deleteAdmin(controlplane.BaselineAdminNetworkPolicy))})
	}
	if objects.ClusterNetworkPolicies != nil {
		kinds = append(kinds, followed{"ClusterNetworkPolicies of Kubernetes", objects.ClusterNetworkPolicies,
			follow(c.store, (*core).SetK8sClusterNetworkPolicy, deleteAdmin(controlplane.K8sClusterNetworkPolicy))})
	}
	return c.follow(kinds)
}

// FollowEgresses makes the controller follow Egresses, whose informers run elsewhere. It is called before Run. Synced does not wait for them:
// the channel is closed once the store reflects all objects of the Kubernetes API and all Egresses.
func (c *Controller) FollowEgresses(objects *crd.EgressObjects) (read <-chan struct{}, err error) {
	registration, err := objects.Egresses.AddEventHandler(follow(c.store, (*core).SetEgress, (*core).DeleteEgress))
	if err != nil {
		return nil, fmt.Errorf("watching Egresses: %w", err)
	}
	c.egressesSynced, c.egressesRead = registration.HasSynced, make(chan struct{})
	return c.egressesRead, nil
}

// followed is a kind of objects that the controller follows.
type followed struct {
	what     string
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandler
}

func (c *Controller) follow(kinds []followed) error {
	for _, f := range kinds {
		registration, err := f.informer.AddEventHandler(f.handler)
		if err != nil {
			return fmt.Errorf("watching %s: %w", f.what, err)
		}
		c.hasSynced = append(c.hasSynced, registration.HasSynced)
	}
	return nil
}

// follow gives a store the events of one kind.
func follow[T any](store *Store, set func(*core, *T, error) ([]change, error), remove func(*core, types.NamespacedName) []change) cache.ResourceEventHandler {
	update := func(object any) {
		content, doubt := read[T](object)
		if err := store.apply(func(c *core) ([]change, error) { return set(c, content, doubt) }); err != nil {
			klog.ErrorS(err, "Cannot enforce all of an object; what is in doubt allows nothing")
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: update, UpdateFunc: func(_, object any) { update(object) },
		DeleteFunc: func(object any) {
			name, err := cache.DeletionHandlingObjectToName(object)
			if err != nil {
				klog.ErrorS(err, "Ignored a deletion")
				return
			}
			_ = store.apply(func(c *core) ([]change, error) { return remove(c, types.NamespacedName(name)), nil })
		},
	}
}

// read returns the content of an object. With a doubt, as of crd.ReadParts, the content is only the part that could be read.
func read[T any](object any) (content *T, doubt error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return crd.ReadParts[T](u)
	}
	if content, doubt = crd.Object[T](object); doubt != nil {
		return new(T), doubt
	}
	return content, nil
}

// setTier keeps the former version of a tier that cannot be read. Without one, the policies in it have no place.
func setTier(c *core, tier *v1beta1.Tier, doubt error) ([]change, error) {
	switch former, known := c.antrea.tiers[tier.Name]; {
	case doubt == nil:
		return c.SetTier(tier), nil
	case known && former.uid == tier.UID:
		return nil, fmt.Errorf("%w: the former version stays in force", doubt)
	}
	return c.DeleteTier(tier.Name), doubt
}

func setClusterGroup(c *core, group *v1beta1.ClusterGroup, doubt error) ([]change, error) {
	return c.SetClusterGroup(group, doubt), doubt
}

func setGroup(c *core, group *v1beta1.Group, doubt error) ([]change, error) {
	return c.SetGroup(group, doubt), doubt
}

func deleteGroup(c *core, name types.NamespacedName) []change {
	return c.DeleteGroup(name.Namespace, name.Name)
}

// stripNode keeps the parts of a Node that the core uses.
func stripNode(node *corev1.Node) *corev1.Node {
	out := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
		Spec:       corev1.NodeSpec{PodCIDR: node.Spec.PodCIDR, PodCIDRs: node.Spec.PodCIDRs},
		Status:     corev1.NodeStatus{Addresses: node.Status.Addresses},
	}
	if addresses, ok := node.Annotations[transportAddresses]; ok {
		out.Annotations = map[string]string{transportAddresses: addresses}
	}
	return out
}

// stripService keeps the parts of a Service that the core uses.
func stripService(service *corev1.Service) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name, UID: service.UID, ResourceVersion: service.ResourceVersion},
		Spec:       corev1.ServiceSpec{Type: service.Spec.Type, Selector: service.Spec.Selector},
	}
}
