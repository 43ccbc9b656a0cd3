// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy reads the ClusterNetworkPolicies of Antrea that an administrator of the leader gives to all members: they are copied as a whole or
// not at all, so a field that is not known here refuses all of one.
//
// policy.go reads and compares policies, reader.go does so once for each version of an object.
package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/policycheck"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Bounds of the policies of a ClusterSet.
const (
	// Most is the number of policies.
	Most = 500
	// maxSpec is the size of the spec of one, in bytes of JSON: a plan of a member is about all of them.
	maxSpec     = 64 << 10
	minPriority = 1
	maxPriority = 10000
	// mostText is the number of bytes of an error that are of a policy.
	mostText = 500
)

// CheckExport refuses a ResourceExport of which no policy can be made.
func CheckExport(spec *v1alpha1.ResourceExportSpec) error {
	if err := checkNames(spec.Namespace, spec.Name); err != nil {
		return err
	}
	_, err := read("spec.clusterNetworkPolicy", spec.ClusterNetworkPolicy)
	return err
}

// checkImport returns the policy of a ResourceImport, or why it is refused.
func checkImport(r *v1alpha1.ResourceImport) (*v1beta1.ClusterNetworkPolicySpec, error) {
	if err := checkNames(r.Spec.Namespace, r.Spec.Name); err != nil {
		return nil, err
	}
	if want := v1alpha1.PolicyImportName(r.Spec.Name); r.Name != want {
		return nil, fmt.Errorf("metadata.name must be %s", want)
	}
	return read("spec.clusternetworkpolicy", r.Spec.ClusterNetworkPolicy)
}

func checkNames(namespace, name string) error {
	if namespace != "" {
		return fmt.Errorf("spec.namespace is %.100q; a policy of clusters has none", namespace)
	}
	for _, made := range []string{v1alpha1.ImportedName(name), v1alpha1.PolicyImportName(name)} {
		if problems := validation.IsDNS1123Subdomain(made); name == "" || len(problems) > 0 {
			return fmt.Errorf("spec.name is %.100q; want one with which %.300q is the name of an object", name, made)
		}
	}
	return nil
}

// read reads the spec of a policy strictly. The error names the field that has it.
func read(field string, content any) (*v1beta1.ClusterNetworkPolicySpec, error) {
	if content == nil {
		return nil, fmt.Errorf("%s is missing", field)
	}
	object, ok := content.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is a %T; want an object", field, content)
	}
	text, err := json.Marshal(object)
	if err == nil && len(text) > maxSpec {
		err = fmt.Errorf("it has %d bytes; allowed: %d", len(text), maxSpec)
	}
	var spec v1beta1.ClusterNetworkPolicySpec
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, &spec, true)
	}
	if err == nil {
		err = check(&spec)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %.*s", field, mostText, err.Error())
	}
	return &spec, nil
}

func check(spec *v1beta1.ClusterNetworkPolicySpec) error {
	if !(spec.Priority >= minPriority && spec.Priority <= maxPriority) {
		return fmt.Errorf("priority is %g; allowed: %d to %d", spec.Priority, minPriority, maxPriority)
	}
	// Protocols of layer 7 are refused by members whose gate is off.
	if refusal := policycheck.Policy(v1beta1.ClusterNetworkPolicyKind, spec, true); refusal != "" {
		return errors.New(refusal)
	}
	if isStretched(spec) {
		return errors.New("scope ClusterSet is not supported")
	}
	return nil
}

// isStretched reports whether a rule is about Pods or Services of all clusters of the ClusterSet.
func isStretched(spec *v1beta1.ClusterNetworkPolicySpec) bool {
	return slices.ContainsFunc(slices.Concat(spec.Ingress, spec.Egress), func(r v1beta1.Rule) bool {
		return slices.ContainsFunc(slices.Concat(r.From, r.To), func(p v1beta1.NetworkPolicyPeer) bool { return p.Scope == v1beta1.ScopeClusterSet }) ||
			slices.ContainsFunc(r.ToServices, func(s v1beta1.PeerService) bool { return s.Scope == v1beta1.ScopeClusterSet })
	})
}

// groupsOf returns the names of the ClusterGroups that a policy refers to.
func groupsOf(spec *v1beta1.ClusterNetworkPolicySpec) (names []string) {
	applied, peers := slices.Clone(spec.AppliedTo), []v1beta1.NetworkPolicyPeer(nil)
	for _, rules := range [][]v1beta1.Rule{spec.Ingress, spec.Egress} {
		for i := range rules {
			applied = append(applied, rules[i].AppliedTo...)
			peers = append(append(peers, rules[i].From...), rules[i].To...)
		}
	}
	for i := range applied {
		names = append(names, applied[i].Group)
	}
	for i := range peers {
		names = append(names, peers[i].Group)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// same reports whether a policy in the Kubernetes API is as it ought to be, apart from what admission fills in: a missing tier and missing names of
// rules.
func same(have, want any) bool {
	h, err := read("spec", have)
	if err != nil {
		return false
	}
	w, err := read("spec", want)
	if err != nil {
		return false
	}
	h.Tier, w.Tier = policycheck.ResolvedTier(h.Tier), policycheck.ResolvedTier(w.Tier)
	nameRules(w.Ingress, h.Ingress)
	nameRules(w.Egress, h.Egress)
	return equality.Semantic.DeepEqual(h, w)
}

// nameRules gives rules without a name the names of others in their places.
func nameRules(rules, others []v1beta1.Rule) {
	for i := range min(len(rules), len(others)) {
		rules[i].Name = cmp.Or(rules[i].Name, others[i].Name)
	}
}
