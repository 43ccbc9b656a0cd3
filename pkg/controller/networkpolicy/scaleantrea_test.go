// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// The limits for one change among 1,000 policies with 10 rules and groups of 10,000 Pods.
const (
	maxAntreaPod       = 20 * time.Millisecond
	maxAntreaNamespace = 50 * time.Millisecond
	maxAntreaAllocated = 16 << 20
)

// antreaStore has 10,000 Pods in 100 Namespaces on 100 Nodes, in ten ClusterGroups of all Pods, and 1,000 ClusterNetworkPolicies with ten
// rules that name these groups, each applied to the Pods of one Namespace. Ten more have rules for each Namespace.
func antreaStore(t testing.TB) *Store {
	store := NewStore()
	apply := func(event func(*core) ([]change, error)) { require.NoError(t, store.apply(event)) }
	for i := range 100 {
		apply(func(c *core) ([]change, error) {
			return c.SetNamespace(makeNamespace(fmt.Sprint("ns", i), fmt.Sprintf("n=%d,team=t%d", i, i/10))), nil
		})
	}
	for i := range 10000 {
		apply(func(c *core) ([]change, error) { return c.SetPod(antreaPod(i)), nil })
	}
	var rules []string
	for i := range 10 {
		apply(func(c *core) ([]change, error) {
			return setGroupText(t, c, fmt.Sprint("g", i), "{namespaceSelector: {}}"), nil
		})
		rules = append(rules, fmt.Sprintf("{action: Drop, name: r%d, from: [{group: g%d}], ports: [{port: %d}]}", i, i, 80+i))
	}
	var spec v1beta1.NetworkPolicySpec
	require.NoError(t, yaml.UnmarshalStrict([]byte("{priority: 1, ingress: ["+strings.Join(rules, ", ")+"]}"), &spec))
	for i := range 1000 {
		policy := &v1beta1.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("uid-p", i))}, Spec: spec}
		policy.Spec.AppliedTo = []v1beta1.AppliedTo{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"n": fmt.Sprint(i % 100)}}}}
		apply(func(c *core) ([]change, error) { return c.SetClusterNetworkPolicy(policy, nil) })
	}
	for i := range 10 {
		apply(func(c *core) ([]change, error) {
			return nil, must(setAntreaText(t, c, fmt.Sprint("q", i), `{priority: 1, appliedTo: [{namespaceSelector: {}}], ingress: [{action: Allow, name: r, from: [{namespaces: {match: Self}}, {namespaces: {sameLabels: [team]}}]}]}`, nil))
		})
	}
	return store
}

func must(_ *policy, err error) error { return err }

func antreaPod(i int) *corev1.Pod {
	return makePod(fmt.Sprintf("ns%d/p%d", i%100, i), "app=a", fmt.Sprint("node", i%100), fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255))
}

// TestCostAmongAntreaPolicies: one Pod, or one label of a Namespace, costs by whom it concerns.
func TestCostAmongAntreaPolicies(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	store := antreaStore(t)
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("1,000 policies with 10 rules, 10 groups of 10,000 Pods: %v, %d MiB", took, (after.HeapAlloc-before.HeapAlloc)>>20)
	for _, tc := range []struct {
		name   string
		limit  time.Duration
		change func(c *core, i int) []change
	}{
		{"a Pod more", maxAntreaPod, func(c *core, i int) []change {
			if i%2 == 1 {
				return c.DeletePod(types.NamespacedName{Namespace: "ns7", Name: "new"})
			}
			return c.SetPod(makePod("ns7/new", "app=a", "node7", "10.9.9.9"))
		}},
		{"a label that no policy reads", maxAntreaPod, func(c *core, i int) []change {
			return c.SetNamespace(makeNamespace("ns7", fmt.Sprintf("n=7,team=t0,x=%d", i)))
		}},
		{"a label that policies compare", maxAntreaNamespace, func(c *core, i int) []change {
			return c.SetNamespace(makeNamespace("ns7", fmt.Sprintf("n=7,team=s%d", i)))
		}},
		{"a tier that no policy is in", maxAntreaPod, func(c *core, i int) []change {
			return c.SetTier(&v1beta1.Tier{ObjectMeta: metav1.ObjectMeta{Name: "t"}, Spec: v1beta1.TierSpec{Priority: int32(i)}})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cpu, allocated := cost.Cheapest(t, 6, func(i int) {
				require.NoError(t, store.apply(func(c *core) ([]change, error) { return tc.change(c, i), nil }))
			})
			t.Logf("%v of processor time, %d bytes allocated", cpu, allocated)
			require.Less(t, cpu, cost.Factor*tc.limit)
			require.Less(t, allocated, uint64(maxAntreaAllocated))
		})
	}
}

// TestManyChildren: a group with 10,000 children, one of which changes.
func TestManyChildren(t *testing.T) {
	c := antreaWorld(t)
	var names []string
	many := &v1beta1.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Name: "many"}}
	for i := range 10000 {
		names = append(names, fmt.Sprint("c", i))
		many.Spec.ChildGroups = append(many.Spec.ChildGroups, v1beta1.ClusterGroupReference(names[i]))
		c.SetClusterGroup(&v1beta1.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Name: names[i]}, Spec: v1beta1.GroupSpec{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"child": fmt.Sprint(i)}},
		}}, nil)
	}
	c.SetClusterGroup(many, nil)
	p, err := setAntreaText(t, c, "p", `{priority: 1, appliedTo: [{group: many}]}`, nil)
	require.NoError(t, err)
	c.SetPod(makePod("x/child", "child=77", "node-child", "10.3.3.3"))
	require.Equal(t, span{"node-child": 1}, p.span)
	began := time.Now()
	setGroupText(t, c, "c77", "{podSelector: {matchLabels: {child: none}}}")
	t.Logf("one of %d children changes: %v", len(names), time.Since(began))
	require.Empty(t, p.span)
}
