// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/policy"
)

// Policy is a ClusterNetworkPolicy of Antrea, in whatever form the API has it.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec any `json:"spec,omitempty"`
}

// policies contains the policies of this cluster, and the names of objects that policies refer to.
type policies struct {
	// unread says why the rest is not known; nil if it is.
	unread error
	// all are ClusterNetworkPolicies; tiers and groups are the names of Tiers and ClusterGroups.
	all           []*Policy
	tiers, groups map[string]bool
	// refused says why this cluster's API does not take copies, by name.
	refused map[string]string
	// reader knows versions of policies that were judged before; nil without a memory.
	reader *policy.Reader
}

// isCopy reports whether a policy was derived from an import.
func isCopy(p *Policy) bool { return p.Annotations[v1alpha1.ImportedPolicyAnnotation] == "true" }

// acceptPolicies accepts the policies that this cluster can have as a whole. Of too many the leader has had the accepted ones for longer.
func (s *snapshot) acceptPolicies(a *accepted, imports []*v1alpha1.ResourceImport) {
	slices.SortStableFunc(imports, byAge)
	for i, r := range imports {
		err := fmt.Errorf("the leader has more than %d policies", policy.Most)
		if i < policy.Most {
			err = s.judgePolicy(r)
		}
		if a.refusePolicy(r.Name, err) {
			a.policies[r.Spec.Name] = r
		} else {
			a.kept[r.Name] = true
		}
	}
}

// judgePolicy says why this cluster cannot have a policy. One that refers to what is not here would be another one.
func (s *snapshot) judgePolicy(r *v1alpha1.ResourceImport) error {
	needs, err := s.policies.reader.CheckImport(r)
	if err != nil {
		return err
	}
	if s.policies.unread != nil {
		return s.policies.unread
	}
	if !s.policies.tiers[needs.Tier] {
		return fmt.Errorf("ACNP Tier %s does not exist", needs.Tier)
	}
	for _, group := range needs.ClusterGroups {
		if !s.policies.groups[group] {
			return fmt.Errorf("ClusterGroup %.253s does not exist", group)
		}
	}
	return nil
}

// refusePolicy records why the policy of a ResourceImport is not as the leader has it, if that is so; it reports whether it is not so.
func (a *accepted) refusePolicy(name string, err error) bool {
	if err != nil {
		a.refusals = append(a.refusals, refusal{object: "ResourceImport " + name, policy: name, err: err})
	}
	return err == nil
}

// shortened keeps the beginning of a long text, and its end: there the Kubernetes API says what is wrong with an object that it quotes.
func shortened(text string) string {
	const head, tail = 200, 600
	if len(text) > head+tail {
		text = strings.ToValidUTF8(text[:head]+" ... "+text[len(text)-tail:], "?")
	}
	return text
}

// policyChanges copies policies, and restores copies that others have changed.
func (s *snapshot) policyChanges(a *accepted) (changes []change.Change) {
	existing := map[string]*Policy{}
	for _, p := range s.policies.all {
		existing[p.Name] = p
	}
	for _, name := range sortedKeys(a.policies) {
		copied, want := v1alpha1.ImportedName(name), a.policies[name]
		var err error
		switch p := existing[copied]; {
		case p == nil:
			changes = append(changes, change.ToCreate(clusterPolicies, &Policy{
				ObjectMeta: metav1.ObjectMeta{Name: copied, Annotations: map[string]string{v1alpha1.ImportedPolicyAnnotation: "true"}},
				Spec:       want.Spec.ClusterNetworkPolicy,
			}))
		case p.DeletionTimestamp != nil:
		case !isCopy(p):
			err = fmt.Errorf("ClusterNetworkPolicy %s: %w", copied, errForeign)
		case !s.policies.reader.Same(p, p.Spec, want):
			changed := *p
			changed.Spec = want.Spec.ClusterNetworkPolicy
			changes = append(changes, change.ToUpdate(clusterPolicies, p, &changed)...)
		}
		if why := s.policies.refused[copied]; why != "" {
			err = errors.New(shortened(why))
		}
		a.refusePolicy(v1alpha1.PolicyImportName(name), err)
	}
	for _, p := range s.policies.all {
		name, ok := strings.CutPrefix(p.Name, v1alpha1.ImportedPrefix)
		if _, wanted := a.policies[name]; ok && isCopy(p) && !wanted && !a.kept[v1alpha1.PolicyImportName(name)] && p.DeletionTimestamp == nil {
			changes = append(changes, change.ToDelete(clusterPolicies, p))
		}
	}
	return changes
}
