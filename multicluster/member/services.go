// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

var errForeign = errors.New("it exists and was not made by an import; delete it, or rename it")

// serviceChanges derives Services. Only the ports of one that exists are changed.
func (s *snapshot) serviceChanges(a *accepted) (changes []change.Change) {
	for _, k := range sortedByName(a.services) {
		name := derivedKey(k)
		existing := s.services[name]
		switch ports := servicePorts(a.services[k]); {
		case existing == nil && s.namespaces[k.Namespace]:
			changes = append(changes, change.ToCreate(coreServices, &corev1.Service{
				ObjectMeta: derivedMeta(name),
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeClusterIP, Ports: ports,
					IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack), IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
				},
			}))
		case existing == nil || existing.DeletionTimestamp != nil:
		case !ours(existing):
			a.refusals = append(a.refusals, refusal{object: "Service " + name.String(), err: errForeign})
		case !slices.EqualFunc(existing.Spec.Ports, ports, samePort):
			changed := existing.DeepCopy()
			changed.Spec.Ports = ports
			changes = append(changes, change.ToUpdate(coreServices, existing, changed)...)
		}
	}
	for _, existing := range s.imported.services {
		k, ok := derived(existing)
		if _, wanted := a.services[k]; ok && ours(existing) && !wanted && !a.keeps(k, v1alpha1.ServiceKind) && existing.DeletionTimestamp == nil {
			changes = append(changes, change.ToDelete(coreServices, existing))
		}
	}
	return changes
}

// has reports whether there is a derived Service, which endpoints may belong to.
func (s *snapshot) has(name key) bool {
	service := s.services[name]
	return service != nil && ours(service) && service.DeletionTimestamp == nil
}

func servicePorts(spec mcs.ServiceImportSpec) []corev1.ServicePort {
	ports := make([]corev1.ServicePort, len(spec.Ports))
	for i, p := range spec.Ports {
		ports[i] = corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port, AppProtocol: p.AppProtocol}
	}
	return ports
}

func samePort(a, b corev1.ServicePort) bool {
	return a.Name == b.Name && a.Protocol == b.Protocol && a.Port == b.Port && ptr.Equal(a.AppProtocol, b.AppProtocol)
}

// serviceImportChanges shows users which Services are imported, under the names that these have in the other clusters.
func (s *snapshot) serviceImportChanges(a *accepted) (changes []change.Change) {
	existing := map[key]*mcs.ServiceImport{}
	for _, i := range s.imported.serviceImports {
		existing[keyOf(i)] = i
	}
	for _, k := range sortedByName(a.services) {
		service := s.services[derivedKey(k)]
		if !s.has(derivedKey(k)) || !clusterIPv4(service).IsValid() {
			continue // Later.
		}
		spec := a.services[k]
		want := &mcs.ServiceImport{ObjectMeta: derivedMeta(k), Spec: mcs.ServiceImportSpec{
			Type: mcs.ClusterSetIP, Ports: spec.Ports, IPs: []string{clusterIPv4(service).String()},
		}}
		switch i := existing[k]; {
		case i == nil:
			changes = append(changes, change.ToCreate(serviceImports, want))
		case !ours(i):
			a.refusals = append(a.refusals, refusal{object: "ServiceImport " + k.String(), err: errForeign})
		case i.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(i.Spec, want.Spec):
			changed := *i
			changed.Spec = want.Spec
			changes = append(changes, change.ToUpdate(serviceImports, i, &changed)...)
		}
	}
	for _, i := range s.imported.serviceImports {
		k := keyOf(i)
		if _, wanted := a.services[k]; ours(i) && !wanted && !a.keeps(k, v1alpha1.ServiceKind) && i.DeletionTimestamp == nil {
			changes = append(changes, change.ToDelete(serviceImports, i))
		}
	}
	return changes
}
