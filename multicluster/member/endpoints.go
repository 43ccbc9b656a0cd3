// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"hash/fnv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
)

const (
	// skipMirror keeps Kubernetes from making EndpointSlices of Endpoints. managedBy names the maker of theirs.
	skipMirror = "endpointslice.kubernetes.io/skip-mirror"
	managedBy  = "antrea-mc-controller"
)

// wantsEndpoints reports whether the derived Service has endpoints of an import, and whether they must not be changed.
func (s *snapshot) wantsEndpoints(a *accepted, k key) (wanted, kept bool) {
	if !s.has(derivedKey(k)) {
		return false, false
	}
	_, service := a.services[k]
	service = service || a.keeps(k, v1alpha1.ServiceKind)
	_, wanted = a.endpoints[k]
	return service && wanted, service && a.keeps(k, v1alpha1.EndpointsKind)
}

// endpointsChanges writes Endpoints, which have no effect but to be seen.
func (s *snapshot) endpointsChanges(a *accepted) (changes []change.Change) {
	existing := map[key]*Endpoints{}
	for _, e := range s.imported.endpoints {
		existing[keyOf(e)] = e
	}
	for _, k := range sortedByName(a.endpoints) {
		if wanted, _ := s.wantsEndpoints(a, k); !wanted {
			continue
		}
		want := &Endpoints{ObjectMeta: derivedMeta(derivedKey(k))}
		want.Labels = map[string]string{skipMirror: "true"}
		for _, g := range endpoints.ByPorts(a.endpoints[k]) {
			subset := v1alpha1.EndpointSubset{Ports: g.Ports}
			for _, ip := range g.Addresses {
				subset.Addresses = append(subset.Addresses, v1alpha1.EndpointAddress{IP: ip})
			}
			want.Subsets = append(want.Subsets, subset)
		}
		switch e := existing[keyOf(want)]; {
		case e == nil:
			changes = append(changes, change.ToCreate(coreEndpoints, want))
		case !ours(e):
			a.refusals = append(a.refusals, refusal{object: "Endpoints " + keyOf(e).String(), err: errForeign})
		case e.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(e.Subsets, want.Subsets):
			changed := *e
			changed.Subsets = want.Subsets
			changes = append(changes, change.ToUpdate(coreEndpoints, e, &changed)...)
		}
	}
	for _, e := range s.imported.endpoints {
		k, ok := derived(e)
		if wanted, kept := s.wantsEndpoints(a, k); ok && ours(e) && !wanted && !kept && e.DeletionTimestamp == nil {
			changes = append(changes, change.ToDelete(coreEndpoints, e))
		}
	}
	return changes
}

// sliceChanges writes the EndpointSlices of derived Services, one for each list of ports.
func (s *snapshot) sliceChanges(a *accepted) (changes []change.Change) {
	existing := map[key]*discoveryv1.EndpointSlice{}
	for _, e := range s.imported.slices {
		existing[keyOf(e)] = e
	}
	for _, k := range sortedByName(a.endpoints) {
		if wanted, _ := s.wantsEndpoints(a, k); !wanted {
			continue
		}
		for _, g := range endpoints.ByPorts(a.endpoints[k]) {
			want := endpointSlice(derivedKey(k), g)
			e := existing[keyOf(want)]
			delete(existing, keyOf(want))
			if e == nil {
				changes = append(changes, change.ToCreate(endpointSlices, want))
			} else if e.DeletionTimestamp == nil && !(equality.Semantic.DeepEqual(e.Endpoints, want.Endpoints) && equality.Semantic.DeepEqual(e.Ports, want.Ports)) {
				changed := *e
				changed.Endpoints, changed.Ports = want.Endpoints, want.Ports
				changes = append(changes, change.ToUpdate(endpointSlices, e, &changed)...)
			}
		}
	}
	for _, name := range sortedByName(existing) {
		e := existing[name]
		k := key{Namespace: e.Namespace, Name: strings.TrimPrefix(e.Labels[discoveryv1.LabelServiceName], v1alpha1.ImportedPrefix)}
		if _, kept := s.wantsEndpoints(a, k); ours(e) && !kept && e.DeletionTimestamp == nil {
			changes = append(changes, change.ToDelete(endpointSlices, e))
		}
	}
	return changes
}

// endpointSlice returns the EndpointSlice of a Service for one list of ports, which its name is made of.
func endpointSlice(service key, g endpoints.Group) *discoveryv1.EndpointSlice {
	hash := fnv.New32a()
	fmt.Fprint(hash, g.Ports)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  derivedMeta(key{Namespace: service.Namespace, Name: fmt.Sprintf("%s-%08x", service.Name, hash.Sum32())}),
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: managedBy}
	for _, p := range g.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(p.Name), Port: ptr.To(p.Port), Protocol: ptr.To(p.Protocol)})
	}
	for _, ip := range g.Addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	return slice
}
