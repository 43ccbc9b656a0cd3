// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/source"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Indexes.
const (
	byService = "service" // of EndpointSlices, by namespace/name of their Service
	derivedBy = "derived" // of what this controller has made, under "true"
)

// view has what this cluster shows.
type view struct {
	clusterSets    *source.Source[v1alpha2.ClusterSet]
	gateways       *source.Source[v1alpha1.Gateway]
	infos          *source.Source[v1alpha1.ClusterInfoImport]
	serviceExports *source.Source[mcs.ServiceExport]
	serviceImports *source.Source[mcs.ServiceImport]
	endpoints      *source.Source[Endpoints]
	services       *source.Source[corev1.Service]
	slices         *source.Source[discoveryv1.EndpointSlice]
	nodes          *source.Source[corev1.Node]
	namespaces     *source.Source[corev1.Namespace]

	policies      *source.Source[Policy]
	tiers, groups *source.Source[metav1.PartialObjectMetadata]
}

func newView(config Config, changed func()) (*view, error) {
	v, own := &view{}, source.Selection{Namespace: config.Namespace}
	core := informers.NewSharedInformerFactory(config.Kube, 0)
	var errs [13]error
	v.clusterSets, errs[0] = source.New[v1alpha2.ClusterSet](config.Dynamic, v1alpha2.ClusterSets, own, changed)
	v.gateways, errs[1] = source.New[v1alpha1.Gateway](config.Dynamic, v1alpha1.Gateways, own, changed)
	v.infos, errs[2] = source.New[v1alpha1.ClusterInfoImport](config.Dynamic, v1alpha1.ClusterInfoImports, own, changed)
	v.serviceExports, errs[3] = source.New[mcs.ServiceExport](config.Dynamic, mcs.ServiceExports, source.Selection{}, changed)
	v.serviceImports, errs[4] = source.New[mcs.ServiceImport](config.Dynamic, mcs.ServiceImports, source.Selection{}, changed)
	// Endpoints of imports are the only ones of interest.
	v.endpoints, errs[5] = source.New[Endpoints](config.Dynamic, coreEndpoints.Resource, source.Selection{Labels: skipMirror + "=true"}, changed)
	v.services, errs[6] = source.Of[corev1.Service](core.Core().V1().Services().Informer(), coreServices.Resource, withoutManagers, changed)
	v.slices, errs[7] = source.Of[discoveryv1.EndpointSlice](core.Discovery().V1().EndpointSlices().Informer(), endpointSlices.Resource, withoutManagers, changed)
	v.nodes, errs[8] = source.Of[corev1.Node](core.Core().V1().Nodes().Informer(), corev1.SchemeGroupVersion.WithResource("nodes"), onlyReach, changed)
	v.namespaces, errs[9] = source.Of[corev1.Namespace](core.Core().V1().Namespaces().Informer(), corev1.SchemeGroupVersion.WithResource("namespaces"), withoutManagers, changed)
	v.policies, errs[10] = source.New[Policy](config.Dynamic, clusterPolicies.Resource, source.Selection{}, changed)
	v.tiers, errs[11] = source.New[metav1.PartialObjectMetadata](config.Dynamic, crd.Tiers, source.Selection{}, changed)
	v.groups, errs[12] = source.New[metav1.PartialObjectMetadata](config.Dynamic, crd.ClusterGroups, source.Selection{}, changed)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return v, errors.Join(
		v.slices.Index(byService, func(e *discoveryv1.EndpointSlice) []string { return []string{serviceOf(e).String()} }),
		v.slices.Index(derivedBy, func(e *discoveryv1.EndpointSlice) []string {
			if e.Labels[discoveryv1.LabelManagedBy] == managedBy && ours(e) {
				return []string{"true"}
			}
			return nil
		}),
		v.services.Index(derivedBy, func(s *corev1.Service) []string {
			if ours(s) {
				return []string{"true"}
			}
			return nil
		}),
	)
}

func serviceOf(e *discoveryv1.EndpointSlice) key {
	return key{Namespace: e.Namespace, Name: e.Labels[discoveryv1.LabelServiceName]}
}

// withoutManagers leaves out what takes much memory and is not read.
func withoutManagers(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// onlyReach keeps the fields of a Node by which it is chosen and reached.
func onlyReach(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	kept := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, DeletionTimestamp: node.DeletionTimestamp, Annotations: map[string]string{},
	}}
	for _, name := range []string{v1alpha1.GatewayAnnotation, v1alpha1.GatewayIPAnnotation} {
		if value, ok := node.Annotations[name]; ok {
			kept.Annotations[name] = value
		}
	}
	kept.Spec.PodCIDR, kept.Spec.PodCIDRs = node.Spec.PodCIDR, node.Spec.PodCIDRs
	kept.Status.Addresses = node.Status.Addresses
	kept.Status.Conditions = slices.DeleteFunc(slices.Clone(node.Status.Conditions), func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeReady })
	return kept, nil
}

func (v *view) sources() []source.Runner { return slices.Concat(v.ownSources(), v.policySources()) }

// ownSources are needed for all that is written.
func (v *view) ownSources() []source.Runner {
	return []source.Runner{v.clusterSets, v.gateways, v.infos, v.serviceExports, v.serviceImports, v.endpoints, v.services, v.slices, v.nodes, v.namespaces}
}

// policySources are read for policies only: a cluster without their CRDs has Services nevertheless.
func (v *view) policySources() []source.Runner { return []source.Runner{v.policies, v.tiers, v.groups} }

// synced returns an error that names what is not read yet.
func (v *view) synced() error { return syncedAll(v.ownSources()) }

func syncedAll(sources []source.Runner) error {
	for _, s := range sources {
		if err := s.Synced(); err != nil {
			return err
		}
	}
	return nil
}

// clusterSet returns the ClusterSet in effect, or nil. It fails while it is in doubt which one that is.
func (v *view) clusterSet() (*v1alpha2.ClusterSet, error) {
	if names := v.clusterSets.Unreadable(); len(names) > 0 {
		return nil, fmt.Errorf("ClusterSet %s does not have the form of a ClusterSet", names[0])
	}
	all := slices.DeleteFunc(v.clusterSets.List(), func(s *v1alpha2.ClusterSet) bool { return s.DeletionTimestamp != nil })
	switch {
	case len(all) == 0:
		return nil, nil
	case len(all) > 1:
		return nil, fmt.Errorf("there are the ClusterSets %s and %s, allowed: one", all[0].Name, all[1].Name)
	case len(all[0].Spec.Leaders) != 1 || all[0].Spec.ClusterID == "":
		return nil, fmt.Errorf("ClusterSet %s must have a clusterID, and one leader", all[0].Name)
	}
	return all[0], nil
}

// clusterUID tells this cluster from others; empty if it is not known.
func (v *view) clusterUID() string {
	if system := v.namespaces.Get("", metav1.NamespaceSystem); system != nil {
		return string(system.UID)
	}
	return ""
}

// snapshot returns what this cluster shows to the core.
func (v *view) snapshot(set *v1alpha2.ClusterSet) *snapshot {
	s := &snapshot{
		set: set, serviceExports: v.serviceExports.List(), services: map[key]*corev1.Service{}, slices: map[key][]*discoveryv1.EndpointSlice{},
		nodes: v.nodes.List(), gateways: v.gateways.List(), namespaces: map[string]bool{},
		imported: imported{
			services: v.services.ByIndex(derivedBy, "true"), endpoints: v.endpoints.List(), slices: v.slices.ByIndex(derivedBy, "true"),
			serviceImports: v.serviceImports.List(), infos: v.infos.List(),
		},
	}
	for _, e := range s.serviceExports {
		k := keyOf(e)
		if service := v.services.Get(k.Namespace, k.Name); service != nil {
			s.services[k] = service
			s.slices[k] = v.slices.ByIndex(byService, k.String())
		}
	}
	for _, service := range s.imported.services {
		s.services[keyOf(service)] = service
	}
	for _, n := range v.namespaces.List() {
		s.namespaces[n.Name] = n.DeletionTimestamp == nil
	}
	s.policies = v.policySnapshot()
	return s
}

func (v *view) policySnapshot() policies {
	if err := syncedAll(v.policySources()); err != nil {
		return policies{unread: fmt.Errorf("%w; is their CRD installed?", err)}
	}
	return policies{all: v.policies.List(), tiers: namesOf(v.tiers), groups: namesOf(v.groups)}
}

func namesOf(s *source.Source[metav1.PartialObjectMetadata]) map[string]bool {
	names := map[string]bool{}
	for _, o := range s.List() {
		names[o.Name] = o.DeletionTimestamp == nil
	}
	return names
}

// addNamesakes adds Services that have the names of Services to derive, whoever made them.
func (v *view) addNamesakes(s *snapshot) {
	for _, r := range s.leader.imports {
		k := derivedKey(key{Namespace: r.Spec.Namespace, Name: r.Spec.Name})
		if service := v.services.Get(k.Namespace, k.Name); service != nil {
			s.services[k] = service
		}
	}
}
