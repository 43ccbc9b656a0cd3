// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/policycheck"
)

// Reader reads each version of an object once: policies may be large, and plans are frequent. It keeps verdicts, not policies, whose Go form may be
// fifty times as large as the JSON. The zero value keeps nothing before the first round, a nil Reader never. It is for one goroutine.
type Reader struct {
	// former has the verdicts of the round before, present the ones of this round, by versions of objects.
	former, present map[string]verdict
}

// verdict is the result of reading a version of an object, or of comparing two.
type verdict struct {
	needs Needs
	same  bool
	err   error
}

// Needs are the names of the objects that a policy refers to.
type Needs struct {
	Tier string
	// ClusterGroups are in the order of their names.
	ClusterGroups []string
}

// Begin begins a round: what is not asked for in it is forgotten.
func (r *Reader) Begin() { r.former, r.present = r.present, map[string]verdict{} }

// once returns what derive says about these versions of objects.
func (r *Reader) once(derive func() verdict, objects ...metav1.Object) verdict {
	if r == nil || r.present == nil {
		return derive()
	}
	var versions strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&versions, "%s %s ", o.GetUID(), o.GetResourceVersion())
	}
	version := versions.String()
	v, known := r.present[version]
	if !known {
		v, known = r.former[version]
	}
	if !known {
		v = derive()
	}
	r.present[version] = v
	return v
}

// CheckExport refuses a ResourceExport of which no policy can be made.
func (r *Reader) CheckExport(e *v1alpha1.ResourceExport) error {
	return r.once(func() verdict { return verdict{err: CheckExport(&e.Spec)} }, e).err
}

// CheckImport returns what the policy of a ResourceImport refers to, or why it is refused.
func (r *Reader) CheckImport(i *v1alpha1.ResourceImport) (Needs, error) {
	v := r.once(func() verdict { return readImport(i) }, i)
	return v.needs, v.err
}

func readImport(i *v1alpha1.ResourceImport) verdict {
	spec, err := checkImport(i)
	if err != nil {
		return verdict{err: err}
	}
	groups := groupsOf(spec)
	slices.Sort(groups)
	return verdict{needs: Needs{Tier: policycheck.ResolvedTier(spec.Tier), ClusterGroups: slices.Compact(groups)}}
}

// Same reports whether a policy in the Kubernetes API, with this spec, is as a ResourceImport wants it.
func (r *Reader) Same(have metav1.Object, spec any, want *v1alpha1.ResourceImport) bool {
	return r.once(func() verdict { return verdict{same: same(spec, want.Spec.ClusterNetworkPolicy)} }, have, want).same
}
