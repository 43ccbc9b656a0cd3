// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// refusal says why something is not imported.
type refusal struct {
	object string
	// policy is the name of the ResourceImport if that is a policy's, whose failures the leader is told.
	policy string
	err    error
}

// accepted is the usable part of all that the leader sends.
type accepted struct {
	services  map[key]mcs.ServiceImportSpec
	endpoints map[key][]v1alpha1.EndpointSubset
	infos     map[string]*v1alpha1.ClusterInfo
	// policies are the ResourceImports of policies, by the names that these have at the leader.
	policies map[string]*v1alpha1.ResourceImport
	// kept are names of ResourceImports that are refused: what was made of their former content stays.
	kept     map[string]bool
	refusals []refusal
}

// accept reads what the leader sends.
func (s *snapshot) accept() *accepted {
	a := &accepted{
		services: map[key]mcs.ServiceImportSpec{}, endpoints: map[key][]v1alpha1.EndpointSubset{}, infos: map[string]*v1alpha1.ClusterInfo{},
		policies: map[string]*v1alpha1.ResourceImport{}, kept: map[string]bool{},
	}
	for _, name := range s.leader.unreadable {
		a.refuse(name, errors.New("it does not have the form of a ResourceImport"))
	}
	var infos, policies []*v1alpha1.ResourceImport
	counted := 0
	for _, r := range s.leader.imports {
		if r.DeletionTimestamp != nil || len(r.Spec.ClusterIDs) > 0 && !slices.Contains(r.Spec.ClusterIDs, clusterID(s)) {
			continue
		}
		switch r.Spec.Kind {
		case v1alpha1.ClusterInfoKind:
			infos = append(infos, r)
			continue
		case v1alpha1.ClusterNetworkPolicyKind:
			policies = append(policies, r)
			continue
		}
		if counted++; counted > maxImports {
			a.refuse(r.Name, fmt.Errorf("the leader has more than %d of Services and Endpoints", maxImports))
			continue
		}
		k := key{Namespace: r.Spec.Namespace, Name: r.Spec.Name}
		switch r.Spec.Kind {
		case v1alpha1.ServiceImportKind:
			if a.refuse(r.Name, checkService(r)) {
				a.services[k] = r.Spec.ServiceImport.Spec
			}
		case v1alpha1.EndpointsKind:
			if a.refuse(r.Name, checkEndpoints(r)) {
				a.endpoints[k] = r.Spec.Endpoints.Subsets
			}
		}
	}
	s.acceptInfos(a, infos)
	s.leaveOutUnreachable(a)
	s.acceptPolicies(a, policies)
	return a
}

// refuse records the error about a ResourceImport, if there is one; it reports whether there is none.
func (a *accepted) refuse(name string, err error) bool {
	if err != nil {
		a.kept[name] = true
		a.refusals = append(a.refusals, refusal{object: "ResourceImport " + name, err: err})
	}
	return err == nil
}

// keeps reports whether the ResourceImport that a Service or Endpoints was derived from is refused.
func (a *accepted) keeps(k key, kind string) bool {
	return a.kept[v1alpha1.ImportName(k.Namespace, k.Name, kind)]
}

// importChanges returns what has to be written for imports, and what is refused. Without a ClusterSet nothing imported stays; before the leader
// has shown everything, everything does.
func (s *snapshot) importChanges() ([]change.Change, []refusal) {
	a := &accepted{}
	if s.set != nil {
		if !s.leader.ready {
			return nil, nil
		}
		a = s.accept()
	}
	changes := slices.Concat(s.serviceChanges(a), s.serviceImportChanges(a), s.endpointsChanges(a), s.sliceChanges(a), s.infoChanges(a), s.policyChanges(a))
	if s.leader.recovering {
		changes = slices.DeleteFunc(changes, func(c change.Change) bool { return c.Verb == change.Delete })
	}
	slices.SortStableFunc(changes, func(x, y change.Change) int { return turn(x) - turn(y) })
	return changes, a.refusals
}

// turn orders changes: ways to other clusters come before Endpoints there and go after them, and Endpoints of a Service go before the Service.
// Policies come before all that they can forbid.
func turn(c change.Change) int {
	switch {
	case c.Type == clusterPolicies && c.Verb != change.Delete:
		return -1
	case c.Type == infoImports && c.Verb == change.Delete, c.Type == clusterPolicies:
		return 3
	case c.Type == infoImports:
		return 0
	case c.Type == coreServices && c.Verb == change.Delete:
		return 2
	}
	return 1
}

// derived returns what an object that was derived from an import of a Service or Endpoints is of; false if its name is not one of a derived object.
func derived(object metav1.Object) (key, bool) {
	name, ok := strings.CutPrefix(object.GetName(), v1alpha1.ImportedPrefix)
	return key{Namespace: object.GetNamespace(), Name: name}, ok
}

// derivedKey is the key of the objects that are derived from imports of k.
func derivedKey(k key) key {
	return key{Namespace: k.Namespace, Name: v1alpha1.ImportedName(k.Name)}
}

func derivedMeta(k key) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, Annotations: map[string]string{v1alpha1.ImportedServiceAnnotation: "true"}}
}

func sortedByName[T any](m map[key]T) []key {
	keys := make([]key, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.String(), b.String()) })
	return keys
}
