// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

const (
	acnp = controlplane.AntreaClusterNetworkPolicy
	annp = controlplane.AntreaNetworkPolicy
)

// rule counts n sessions, 10n packets and 100n bytes.
func rule(name string, n int64) v1alpha1.RuleTrafficStats {
	return v1alpha1.RuleTrafficStats{Name: name, TrafficStats: traffic10(n)}
}

func traffic10(n int64) v1alpha1.TrafficStats {
	return v1alpha1.TrafficStats{Sessions: n, Packets: 10 * n, Bytes: 100 * n}
}

func ofRules(kind controlplane.NetworkPolicyType, namespace, name string, uid types.UID, rules ...v1alpha1.RuleTrafficStats) controlplane.NetworkPolicyStats {
	return controlplane.NetworkPolicyStats{
		NetworkPolicy:    controlplane.NetworkPolicyReference{Type: kind, Namespace: namespace, Name: name, UID: uid},
		RuleTrafficStats: rules,
	}
}

// reportOfAll is a report with an entry of each kind.
func reportOfAll(sequence string, k, c, n controlplane.NetworkPolicyStats) *controlplane.NodeStatsSummary {
	report := reportOf("n1", "x", sequence, k)
	report.AntreaClusterNetworkPolicies = []controlplane.NetworkPolicyStats{c}
	report.AntreaNetworkPolicies = []controlplane.NetworkPolicyStats{n}
	return report
}

// Policies of three kinds with one name are three policies.
func TestRules(t *testing.T) {
	a := New(onNode{"1": {"n1"}, "2": {"n1"}, "3": {"n1"}})
	a.Handler(k8s).OnAdd(policy("a", "web", "1"), true)
	cluster := &v1beta1.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "2", Labels: map[string]string{"team": "red"}}}
	a.Handler(acnp).OnAdd(cluster, true)
	a.Handler(annp).OnAdd(&v1beta1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "3"}}, true)
	inNamespace, global := types.NamespacedName{Namespace: "a", Name: "web"}, types.NamespacedName{Name: "web"}
	compare := func(k, c, n int64, rulesOfC, rulesOfN []v1alpha1.RuleTrafficStats) {
		t.Helper()
		for _, want := range []struct {
			kind  controlplane.NetworkPolicyType
			name  types.NamespacedName
			uid   types.UID
			n     int64
			rules []v1alpha1.RuleTrafficStats
		}{{k8s, inNamespace, "1", k, nil}, {acnp, global, "2", c, rulesOfC}, {annp, inNamespace, "3", n, rulesOfN}} {
			got, ok := a.Get(want.kind, want.name)
			require.True(t, ok, want.kind)
			require.Equal(t, want.uid, got.UID)
			require.Equal(t, traffic10(want.n), got.Traffic, want.kind)
			require.Equal(t, want.rules, got.Rules, want.kind)
			require.Equal(t, []Sum{got}, a.List(want.kind, ""))
		}
	}
	compare(0, 0, 0, nil, nil)
	require.NoError(t, a.Report(reportOfAll("1", traffic("a", "web", "1", 1, 10, 100),
		ofRules(acnp, "", "web", "2", rule("r2", 2), rule("r1", 3)), ofRules(annp, "a", "web", "3", rule("r1", 7)))))
	compare(1, 5, 7, []v1alpha1.RuleTrafficStats{rule("r2", 2), rule("r1", 3)}, []v1alpha1.RuleTrafficStats{rule("r1", 7)})
	former, _ := a.Get(acnp, global)
	require.NoError(t, a.Report(reportOfAll("2", traffic("a", "web", "1", 1, 10, 100),
		ofRules(acnp, "", "web", "2", rule("r1", 1), rule("", 1)), ofRules(annp, "a", "web", "other"))))
	compare(2, 7, 7, []v1alpha1.RuleTrafficStats{rule("r2", 2), rule("r1", 4), rule("", 1)}, []v1alpha1.RuleTrafficStats{rule("r1", 7)})
	require.Equal(t, []v1alpha1.RuleTrafficStats{rule("r2", 2), rule("r1", 3)}, former.Rules, "an answer does not change")
	require.Equal(t, map[string]string{"team": "red"}, former.Labels)

	cluster = &v1beta1.ClusterNetworkPolicy{ObjectMeta: *cluster.ObjectMeta.DeepCopy()}
	cluster.Labels["team"] = "blue"
	a.Handler(acnp).OnUpdate(nil, cluster)
	now, _ := a.Get(acnp, global)
	require.Equal(t, "blue", now.Labels["team"], "an edit of labels keeps the sum")
	require.Equal(t, "red", former.Labels["team"])
	require.Equal(t, traffic10(7), now.Traffic)

	a.Reset()
	compare(0, 0, 0, nil, nil)
	a.Handler(acnp).OnDelete(cluster)
	require.Empty(t, a.List(acnp, ""))
	require.Len(t, a.List(annp, ""), 1)
	require.NoError(t, a.Report(reportOfAll("3", traffic("a", "web", "0", 1, 1, 1), ofRules(acnp, "", "web", "2", rule("r1", 1)), ofRules(annp, "a", "web", "0"))))
	require.Empty(t, a.List(acnp, ""), "a late report makes no policy")
}

func TestBadRules(t *testing.T) {
	both := ofRules(acnp, "", "web", "2", rule("r", 1))
	both.TrafficStats.Packets = 1
	rulesOfK8s := ofRules(k8s, "a", "web", "1", rule("r", 1))
	for _, tc := range []struct {
		err     string
		k, c, n controlplane.NetworkPolicyStats
	}{
		{
			`AntreaClusterNetworkPolicy /web (2) has rule "r" twice; allowed: once`,
			traffic("a", "web", "1", 1, 1, 1), ofRules(acnp, "", "web", "2", rule("r", 1), rule("r", 1)), ofRules(annp, "a", "web", "3"),
		},
		{
			`AntreaNetworkPolicy a/web (3) has rule "r", which has packets=-10 bytes=-100 sessions=-1; allowed: 0 or more`,
			traffic("a", "web", "1", 1, 1, 1), ofRules(acnp, "", "web", "2"), ofRules(annp, "a", "web", "3", rule("q", 1), rule("r", -1)),
		},
		{"AntreaClusterNetworkPolicy /web (2) has counts of the policy; allowed: of rules", traffic("a", "web", "1", 1, 1, 1), both, ofRules(annp, "a", "web", "3")},
		{
			`AntreaNetworkPolicy a/web (3) has type "AntreaClusterNetworkPolicy"; allowed: AntreaNetworkPolicy`,
			traffic("a", "web", "1", 1, 1, 1), ofRules(acnp, "", "web", "2"), ofRules(acnp, "a", "web", "3", rule("r", 1)),
		},
		{"K8sNetworkPolicy a/web (1) has counts of rules; allowed: of the policy", rulesOfK8s, ofRules(acnp, "", "web", "2"), ofRules(annp, "a", "web", "3")},
	} {
		t.Run(tc.err, func(t *testing.T) {
			entries, bad := read(reportOfAll("1", tc.k, tc.c, tc.n))
			require.Len(t, entries, 2, "the other entries are counted")
			require.Len(t, bad, 1)
			require.EqualError(t, bad[0], tc.err)
		})
	}
}

// A Node that invents names costs bounded memory, and the sum is right.
func TestManyRules(t *testing.T) {
	a := New(onNode{"2": {"n1"}})
	a.Handler(acnp).OnAdd(&v1beta1.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "2"}}, true)
	for i := range 2 * maxRules {
		report := reportOf("n1", "x", fmt.Sprint(i+1))
		name := fmt.Sprint("r", i)
		if i == 3 {
			name = strings.Repeat("r", maxRuleName+1)
		}
		report.AntreaClusterNetworkPolicies = []controlplane.NetworkPolicyStats{ofRules(acnp, "", "web", "2", rule(name, 1))}
		require.NoError(t, a.Report(report))
	}
	got, _ := a.Get(acnp, types.NamespacedName{Name: "web"})
	require.Len(t, got.Rules, maxRules)
	require.Equal(t, "r4", got.Rules[3].Name, "the rule with a long name is in the sum only")
	require.Equal(t, traffic10(2*maxRules), got.Traffic)
	report := reportOf("n1", "x", fmt.Sprint(2*maxRules+1))
	most := v1alpha1.RuleTrafficStats{Name: "r0", TrafficStats: v1alpha1.TrafficStats{Sessions: math.MaxInt64, Packets: math.MaxInt64, Bytes: math.MaxInt64}}
	report.AntreaClusterNetworkPolicies = []controlplane.NetworkPolicyStats{ofRules(acnp, "", "web", "2", most)}
	require.NoError(t, a.Report(report))
	got, _ = a.Get(acnp, types.NamespacedName{Name: "web"})
	require.Equal(t, most.TrafficStats, got.Traffic)
	require.Equal(t, most, got.Rules[0])
}
