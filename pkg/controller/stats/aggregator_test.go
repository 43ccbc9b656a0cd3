// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

const k8s = controlplane.K8sNetworkPolicy

// onNode has the Nodes of policies, by UID.
type onNode map[types.UID][]string

func (o onNode) PolicyConcerns(policy controlplane.NetworkPolicyReference, node string) bool {
	return slices.Contains(o[policy.UID], node)
}

func policy(namespace, name string, uid types.UID) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
}

func traffic(namespace, name string, uid types.UID, sessions, packets, bytes int64) controlplane.NetworkPolicyStats {
	return controlplane.NetworkPolicyStats{
		NetworkPolicy: controlplane.NetworkPolicyReference{Type: controlplane.K8sNetworkPolicy, Namespace: namespace, Name: name, UID: uid},
		TrafficStats:  v1alpha1.TrafficStats{Sessions: sessions, Packets: packets, Bytes: bytes},
	}
}

func reportOf(node, session, sequence string, policies ...controlplane.NetworkPolicyStats) *controlplane.NodeStatsSummary {
	report := &controlplane.NodeStatsSummary{ObjectMeta: metav1.ObjectMeta{Name: node}, NetworkPolicies: policies}
	if session+sequence != "" {
		report.Annotations = map[string]string{v1beta2.StatsSessionAnnotation: session, v1beta2.StatsSequenceAnnotation: sequence}
	}
	return report
}

// sums are the statistics by Namespace and name.
func sums(a *Aggregator) map[string]v1alpha1.TrafficStats {
	sums := map[string]v1alpha1.TrafficStats{}
	for _, s := range a.List(k8s, "") {
		sums[s.Namespace+"/"+s.Name] = s.Traffic
	}
	return sums
}

func TestReports(t *testing.T) {
	a := New(onNode{"1": {"n1", "n2"}, "2": {"n2"}})
	h := a.Handler(k8s)
	h.OnAdd(policy("a", "web", "1"), true)
	h.OnAdd(policy("b", "web", "2"), true)
	for _, step := range []struct {
		name     string
		report   *controlplane.NodeStatsSummary
		web, db  int64 // packets of a/web and b/web
		sessions int64 // of a/web
	}{
		{"of one Node", reportOf("n1", "x", "1", traffic("a", "web", "1", 1, 10, 1000)), 10, 0, 1},
		{"again", reportOf("n1", "x", "1", traffic("a", "web", "1", 1, 10, 1000)), 10, 0, 1},
		{"of another Node, with the same number", reportOf("n2", "x", "1", traffic("a", "web", "1", 2, 20, 2000), traffic("b", "web", "2", 1, 5, 50)), 30, 5, 3},
		{"the next one", reportOf("n1", "x", "2", traffic("a", "web", "1", 0, 1, 100)), 31, 5, 3},
		{"an earlier one, late", reportOf("n1", "x", "1", traffic("a", "web", "1", 1, 10, 1000)), 31, 5, 3},
		{"with a gap", reportOf("n1", "x", "7", traffic("a", "web", "1", 0, 1, 100)), 32, 5, 3},
		{"of a new session", reportOf("n1", "y", "1", traffic("a", "web", "1", 0, 1, 100)), 33, 5, 3},
		{"without a session", reportOf("n1", "", "", traffic("a", "web", "1", 0, 1, 100)), 34, 5, 3},
		{"without a session, again", reportOf("n1", "", "", traffic("a", "web", "1", 0, 1, 100)), 35, 5, 3},
		{"of a policy that does not concern the Node", reportOf("n1", "y", "2", traffic("b", "web", "2", 0, 1, 100)), 35, 5, 3},
		{"of a Node without policies", reportOf("n3", "y", "2", traffic("a", "web", "1", 0, 1, 100)), 35, 5, 3},
		{"of an unknown policy", reportOf("n1", "y", "3", traffic("a", "other", "1", 0, 1, 100)), 35, 5, 3},
		{"of an earlier policy with the name", reportOf("n1", "y", "3", traffic("a", "web", "0", 0, 1, 100)), 35, 5, 3},
		{"that does not concern it, with one that does", reportOf("n1", "y", "3", traffic("b", "web", "2", 0, 1, 1), traffic("a", "web", "1", 0, 1, 1)), 36, 5, 3},
		{"of nothing", reportOf("n1", "y", "4"), 36, 5, 3},
	} {
		require.NoError(t, a.Report(step.report), step.name)
		got := sums(a)
		require.Equal(t, step.web, got["a/web"].Packets, step.name)
		require.Equal(t, step.db, got["b/web"].Packets, step.name)
		require.Equal(t, step.sessions, got["a/web"].Sessions, step.name)
	}
	require.Len(t, a.last, 2, "only Nodes that a policy concerns are remembered")
}

func TestRefusedReports(t *testing.T) {
	a := New(onNode{"1": {"n1"}})
	a.Handler(k8s).OnAdd(policy("a", "web", "1"), true)
	good := traffic("a", "web", "1", 1, 1, 1)
	for _, tc := range []struct {
		report *controlplane.NodeStatsSummary
		err    string
	}{
		{reportOf("", "x", "1", good), "metadata.name is empty"},
		{reportOf("n1", "x", "", good), `annotation stats.antrea.io/sequence is ""; want a number, 1 or more`},
		{reportOf("n1", "x", "0", good), `is "0"`},
		{reportOf("n1", "x", "-1", good), `is "-1"`},
		{reportOf("n1", strings.Repeat("x", 65), "1", good), "stats.antrea.io/session has 65 bytes; allowed: 64"},
	} {
		require.ErrorContains(t, a.Report(tc.report), tc.err)
		require.Equal(t, map[string]v1alpha1.TrafficStats{"a/web": {}}, sums(a), "%s: nothing of it is counted", tc.err)
	}
	require.NoError(t, a.Report(reportOf("n1", "x", "1", good)))
	require.NoError(t, a.Report(reportOf("n1", "x", "2", traffic("a", "web", "1", math.MaxInt64, math.MaxInt64, math.MaxInt64))))
	most := v1alpha1.TrafficStats{Sessions: math.MaxInt64, Packets: math.MaxInt64, Bytes: math.MaxInt64}
	require.Equal(t, most, sums(a)["a/web"], "sums do not wrap around")
}

// A bad entry does not cost the others.
func TestBadEntries(t *testing.T) {
	good := traffic("a", "web", "1", 1, 1, 1)
	other := traffic("a", "db", "2", 1, 1, 1)
	other.NetworkPolicy.Type = "AntreaNetworkPolicy"
	for _, tc := range []struct {
		name    string
		entries []controlplane.NetworkPolicyStats
		err     string // of the bad entry
	}{
		{"twice", []controlplane.NetworkPolicyStats{good, good}, "K8sNetworkPolicy a/web (1) is there twice; allowed: once"},
		{"negative", []controlplane.NetworkPolicyStats{traffic("a", "db", "2", 0, -1, 0), good}, "K8sNetworkPolicy a/db (2) has packets=-1 bytes=0 sessions=0; allowed: 0 or more"},
		{"type", []controlplane.NetworkPolicyStats{other, good}, `K8sNetworkPolicy a/db (2) has type "AntreaNetworkPolicy"; allowed: K8sNetworkPolicy`},
		{"a policy that was made again", []controlplane.NetworkPolicyStats{traffic("a", "web", "0", 9, 9, 9), good}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(onNode{"0": {"n1"}, "1": {"n1"}, "2": {"n1"}})
			a.Handler(k8s).OnAdd(policy("a", "web", "1"), true)
			a.Handler(k8s).OnAdd(policy("a", "db", "2"), true)
			require.NoError(t, a.Report(reportOf("n1", "x", "1", tc.entries...)))
			require.Equal(t, map[string]v1alpha1.TrafficStats{"a/web": {Sessions: 1, Packets: 1, Bytes: 1}, "a/db": {}}, sums(a))
			var errs []string
			_, bad := read(reportOf("n1", "x", "1", tc.entries...))
			for _, err := range bad {
				errs = append(errs, err.Error())
			}
			require.Equal(t, tc.err, strings.Join(errs, ", "))
		})
	}
}

func TestPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(onNode{"1": {"n1"}, "2": {"n1"}})
		h := a.Handler(k8s)
		h.OnAdd(policy("b", "web", "1"), true)
		h.OnAdd(policy("a", "web", "2"), true)
		created := time.Now().UTC()
		count := func(sequence string) {
			t.Helper()
			require.NoError(t, a.Report(reportOf("n1", "x", sequence, traffic("b", "web", "1", 1, 1, 1))))
		}
		count("1")
		time.Sleep(time.Hour)
		h.OnUpdate(policy("b", "web", "1"), policy("b", "web", "1"))
		got, ok := a.Get(k8s, types.NamespacedName{Namespace: "b", Name: "web"})
		require.True(t, ok)
		require.Equal(t, int64(1), got.Traffic.Packets, "an edited policy keeps its statistics")
		require.Equal(t, created, got.CreationTimestamp.UTC())
		require.Equal(t, types.UID("1"), got.UID)
		require.Equal(t, []string{"a", "b"}, []string{a.List(k8s, "")[0].Namespace, a.List(k8s, "")[1].Namespace})
		require.Len(t, a.List(k8s, "b"), 1)

		h.OnUpdate(policy("b", "web", "1"), policy("b", "web", "3"))
		got, _ = a.Get(k8s, types.NamespacedName{Namespace: "b", Name: "web"})
		require.Zero(t, got.Traffic, "a policy that was created again starts at zero")
		require.Equal(t, time.Now().UTC(), got.CreationTimestamp.UTC())
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: "b/web", Obj: policy("b", "web", "1")})
		h.OnDelete(policy("a", "web", "2"))
		require.Empty(t, a.List(k8s, ""))
		_, ok = a.Get(k8s, types.NamespacedName{Namespace: "b", Name: "web"})
		require.False(t, ok)

		h.OnAdd(policy("b", "web", "1"), false)
		count("2")
		time.Sleep(time.Hour)
		a.Reset()
		require.Equal(t, map[string]v1alpha1.TrafficStats{"b/web": {}}, sums(a))
		got, _ = a.Get(k8s, types.NamespacedName{Namespace: "b", Name: "web"})
		require.Equal(t, time.Now().UTC(), got.CreationTimestamp.UTC(), "it says since when it counts")
		count("2")
		require.Equal(t, int64(1), sums(a)["b/web"].Packets, "a report that another controller has not counted")
	})
}

// Deleted Nodes are forgotten once their agents can no longer repeat a report. Their counts stay in the sums.
func TestNodesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 100
		var names []string
		for i := range count {
			names = append(names, fmt.Sprint("n", i))
		}
		a := New(onNode{"1": append(names, "stays")})
		a.Handler(k8s).OnAdd(policy("a", "web", "1"), true)
		report := func(node, sequence string) {
			t.Helper()
			require.NoError(t, a.Report(reportOf(node, "x", sequence, traffic("a", "web", "1", 1, 1, 1))))
		}
		for _, name := range append(names, "stays") {
			a.SetNode(name, true)
			report(name, "1")
		}
		for _, name := range names {
			a.SetNode(name, false)
		}
		report("n0", "1")
		require.Equal(t, int64(count+1), sums(a)["a/web"].Packets, "a report that is repeated after the Node's deletion is not counted again")
		time.Sleep(2 * remembered)
		report("stays", "2")
		require.Len(t, a.last, 1)
		require.Equal(t, int64(count+2), sums(a)["a/web"].Packets)
		time.Sleep(2 * remembered)
		report("stays", "2")
		require.Equal(t, int64(count+2), sums(a)["a/web"].Packets, "a Node that exists is not forgotten")
	})
}
