// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
	"github.com/antrea-oncache/antrea/multicluster/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

var (
	tierObjects  = change.Type{Resource: crd.Tiers, Kind: v1beta1.TierKind}
	groupObjects = change.Type{Resource: crd.ClusterGroups, Kind: v1beta1.ClusterGroupKind}
)

// policies returns the policies of an API, in which the default Tiers exist.
func (w *world) policies(local *changetest.API) policies {
	p := policies{
		unread: w.unreadPolicies, refused: w.refusedPolicies, all: changetest.List[Policy](local, clusterPolicies),
		tiers: map[string]bool{"application": true, "securityops": true}, groups: map[string]bool{},
	}
	for _, o := range changetest.List[metav1.PartialObjectMetadata](local, tierObjects) {
		p.tiers[o.Name] = true
	}
	for _, o := range changetest.List[metav1.PartialObjectMetadata](local, groupObjects) {
		p.groups[o.Name] = true
	}
	return p
}

func named(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// policyOf is a policy with a priority.
func policyOf(priority int) map[string]any {
	return map[string]any{
		"priority": float64(priority), "appliedTo": []any{map[string]any{"namespaceSelector": map[string]any{}}},
		"ingress": []any{map[string]any{"action": "Drop", "from": []any{map[string]any{"podSelector": map[string]any{}}}}},
	}
}

// withField is policyOf(5) with another value of a field.
func withField(name string, value any) map[string]any {
	p := policyOf(5)
	p[name] = value
	return p
}

func (w *world) importPolicy(name string, content any) {
	w.far.Put(resourceImports, &v1alpha1.ResourceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: v1alpha1.PolicyImportName(name)},
		Spec:       v1alpha1.ResourceImportSpec{Kind: v1alpha1.ClusterNetworkPolicyKind, Name: name, ClusterNetworkPolicy: content},
	}, nil)
}

// copied is the policy with the name of a copy; nil if there is none.
func (w *world) copied(name string) *Policy {
	for _, p := range changetest.List[Policy](w.local, clusterPolicies) {
		if p.Name == v1alpha1.ImportedName(name) {
			return p
		}
	}
	return nil
}

// failures returns the messages for the leader.
func (w *world) failures() map[string]string {
	_, refusals := w.shown(w.local, w.far).localChanges()
	return policyFailures(refusals)
}

// changePolicies makes one of the changes of others: the import goes, or a user changes or deletes the copy.
func (w *world) changePolicies(r *rand.Rand, name string, want map[string]any) {
	p := w.copied(name)
	switch n := r.IntN(3); {
	case n == 0:
		w.far.Remove(resourceImports, area, v1alpha1.PolicyImportName(name))
		delete(want, name)
	case p == nil:
	case n == 1:
		p.Spec = policyOf(9)
		w.local.Put(clusterPolicies, p, nil)
	default:
		w.local.Remove(clusterPolicies, "", p.Name)
	}
}

// requirePolicies checks that the copies are these, by the leader's names.
func (w *world) requirePolicies(want map[string]any) {
	w.t.Helper()
	require.Equal(w.t, len(want), w.local.Len(clusterPolicies))
	for name, content := range want {
		require.Equal(w.t, content, w.copied(name).Spec)
	}
}

func TestPolicyCopy(t *testing.T) {
	w := newWorld(t)
	w.importPolicy("isolation", policyOf(5))
	w.settle()
	p := w.copied("isolation")
	require.Equal(t, "antrea-mc-isolation", p.Name)
	require.Equal(t, map[string]string{"multicluster.antrea.io/imported-acnp": "true"}, p.Annotations)
	w.requirePolicies(map[string]any{"isolation": policyOf(5)})

	// Fields that admission fills in stay, changes of a user do not.
	filled := withField("tier", "application")
	filled["ingress"].([]any)[0].(map[string]any)["name"] = "ingress-drop-1"
	p.Spec = filled
	w.local.Put(clusterPolicies, p, nil)
	w.settle()
	w.requirePolicies(map[string]any{"isolation": filled})
	p.Spec = withField("ingress", []any{})
	w.local.Put(clusterPolicies, p, nil)
	w.settle()
	w.requirePolicies(map[string]any{"isolation": policyOf(5)})
	p.Spec = withField("unknown", "x")
	w.local.Put(clusterPolicies, p, nil)
	w.settle()
	w.requirePolicies(map[string]any{"isolation": policyOf(5)})
	w.local.Remove(clusterPolicies, "", p.Name)
	w.importPolicy("isolation", policyOf(6))
	w.settle()
	w.requirePolicies(map[string]any{"isolation": policyOf(6)})
	require.Empty(t, w.failures())

	w.far.Remove(resourceImports, area, v1alpha1.PolicyImportName("isolation"))
	w.settle()
	w.requirePolicies(nil)
}

// TestPolicyOfAUser: a policy that was not made by an import stays as it is, and the leader is told.
func TestPolicyOfAUser(t *testing.T) {
	w := newWorld(t)
	w.local.Put(clusterPolicies, &Policy{ObjectMeta: metav1.ObjectMeta{Name: "antrea-mc-isolation"}, Spec: policyOf(1)}, nil)
	w.local.Put(clusterPolicies, &Policy{ObjectMeta: metav1.ObjectMeta{Name: "antrea-mc-mine"}, Spec: policyOf(2)}, nil)
	w.importPolicy("isolation", policyOf(5))
	w.importPolicy("other", policyOf(6))
	w.settle()
	w.requirePolicies(map[string]any{"isolation": policyOf(1), "mine": policyOf(2), "other": policyOf(6)})
	const why = "ClusterNetworkPolicy antrea-mc-isolation: it exists and was not made by an import; delete it, or rename it"
	require.Equal(t, map[string]string{"isolation-antreaclusternetworkpolicy": why}, w.failures())
	require.Equal(t, "ResourceImport isolation-antreaclusternetworkpolicy: "+why, w.message())
	w.local.Remove(clusterSets, system, "set")
	w.settle()
	w.requirePolicies(map[string]any{"isolation": policyOf(1), "mine": policyOf(2)})
}

// TestPolicyThatCannotBeInstalled: no part of it is, a former copy stays as it is, nothing else is harmed, and it is installed when it can be.
func TestPolicyThatCannotBeInstalled(t *testing.T) {
	rule := func(field string, value any) any {
		return withField("ingress", []any{map[string]any{"action": "Allow", field: value}})
	}
	const at = "spec.clusternetworkpolicy: "
	for want, content := range map[string]any{
		"ACNP Tier emergency does not exist":                              withField("tier", "Emergency"),
		"ACNP Tier own does not exist":                                    withField("tier", "own"),
		"ClusterGroup clients does not exist":                             rule("from", []any{map[string]any{"group": "clients"}}),
		at + `strict decoding error: unknown field "ingress[0].newField"`: rule("newField", "x"),
		at + `strict decoding error: unknown field "newField"`:            withField("newField", "x"),
		at + "priority is 0; allowed: 1 to 10000":                         policyOf(0),
		at + "it has 65":                                        withField("tier", strings.Repeat("x", 64<<10)),
		"spec.clusternetworkpolicy is missing":                  nil,
		"spec.clusternetworkpolicy is a string; want an object": "x",
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			w.importPolicy("former", policyOf(5))
			w.settle()
			w.importPolicy("former", content)
			w.importPolicy("isolation", content)
			w.importPolicy("other", policyOf(6))
			w.importService("default", "nginx", 80, "10.200.0.7")
			w.settle()
			w.requirePolicies(map[string]any{"former": policyOf(5), "other": policyOf(6)})
			require.Equal(t, []string{"10.200.0.7"}, w.derivedAddresses("default", "antrea-mc-nginx"))
			require.Len(t, w.failures(), 2)
			require.Contains(t, w.failures()["isolation-antreaclusternetworkpolicy"], want)
			require.Contains(t, w.message(), "ResourceImport isolation-antreaclusternetworkpolicy: "+want)
			if strings.HasSuffix(want, "own does not exist") || strings.HasPrefix(want, "ClusterGroup") {
				w.local.Put(tierObjects, named("own"), nil)
				w.local.Put(groupObjects, named("clients"), nil)
				w.settle()
				w.requirePolicies(map[string]any{"former": content, "isolation": content, "other": policyOf(6)})
				require.Empty(t, w.failures())
			}
		})
	}
}

// TestRefusedPolicyComesFirst: however many Services are refused, the ClusterSet names the policy.
func TestRefusedPolicyComesFirst(t *testing.T) {
	w := newWorld(t)
	for i := range mostRefusals + 1 {
		w.importService("default", fmt.Sprint("a", i), 0, "10.200.0.7")
	}
	w.importPolicy("isolation", policyOf(0))
	w.settle()
	require.Contains(t, w.message(), "ResourceImport isolation-antreaclusternetworkpolicy: ")
	require.Contains(t, w.message(), "ResourceImport default-a0-service: ")
	require.Contains(t, w.message(), " more")
}

// TestPolicyThatTheClusterRefuses: the leader is told what this cluster's API says.
func TestPolicyThatTheClusterRefuses(t *testing.T) {
	w := newWorld(t)
	w.refusedPolicies = map[string]string{"antrea-mc-isolation": "denied: L7NetworkPolicy is off"}
	w.importPolicy("isolation", policyOf(5))
	require.Equal(t, map[string]string{"isolation-antreaclusternetworkpolicy": "denied: L7NetworkPolicy is off"}, w.failures())

	w.refusedPolicies["antrea-mc-isolation"] = "patch antrea-mc-isolation: " + strings.Repeat("{é", 10_000) + `: unknown field "spec.new"`
	why := w.failures()["isolation-antreaclusternetworkpolicy"]
	require.Regexp(t, `^patch antrea-mc-isolation: .* \.\.\. .*: unknown field "spec\.new"$`, why)
	require.True(t, utf8.ValidString(why))
	require.Less(t, len(why), 1000)
}

// TestNoPoliciesHere: a cluster without the CRDs of policies has Services, and says why it has no policy.
func TestNoPoliciesHere(t *testing.T) {
	w := newWorld(t)
	w.unreadPolicies = errors.New("tiers are not read yet")
	w.importPolicy("isolation", policyOf(5))
	w.importService("default", "nginx", 80, "10.200.0.7")
	w.settle()
	require.Equal(t, []string{"10.200.0.7"}, w.derivedAddresses("default", "antrea-mc-nginx"))
	w.requirePolicies(nil)
	require.Contains(t, w.message(), "tiers are not read yet")
}

// TestCopyOutlivesTheLeader: copies stay while the leader is away, has lost what members export, or shows an import that has no form.
func TestCopyOutlivesTheLeader(t *testing.T) {
	w := newWorld(t)
	w.importPolicy("isolation", policyOf(5))
	w.settle()
	want, name := map[string]any{"isolation": policyOf(5)}, v1alpha1.PolicyImportName("isolation")
	w.unready = true
	w.far.Remove(resourceImports, area, name)
	w.settle()
	w.requirePolicies(want)
	w.unready, w.recovering = false, true
	w.settle()
	w.requirePolicies(want)
	w.recovering, w.unreadable = false, []string{name}
	w.settle()
	w.requirePolicies(want)
	w.unreadable = nil
	w.settle()
	w.requirePolicies(nil)
}

// TestMostPolicies: the older ones are copied, in whatever order they are.
func TestMostPolicies(t *testing.T) {
	w := newWorld(t)
	s := w.shown(w.local, w.far)
	for i := range policy.Most + 1 {
		w.far.Now = w.far.Now.Add(-time.Second)
		name := strings.Repeat("x", 1+i%20) + strings.Repeat("y", 1+i/20)
		w.importPolicy(name, policyOf(5))
	}
	s.leader.imports = changetest.List[v1alpha1.ResourceImport](w.far, resourceImports)
	a := s.accept()
	require.Len(t, a.policies, policy.Most)
	require.NotContains(t, a.policies, "xy", "the youngest")
	require.Len(t, a.refusals, 1)
	require.EqualError(t, a.refusals[0].err, "the leader has more than 500 policies")
}
