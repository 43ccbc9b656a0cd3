// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// FuzzReport feeds arbitrary reports of Nodes, as JSON, to the aggregator. Counters never go back or become negative, what is refused changes
// nothing, and only Nodes that a policy concerns are remembered.
func FuzzReport(f *testing.F) {
	for _, report := range []*controlplane.NodeStatsSummary{
		reportOf("node-1", "s", "1", traffic("ns", "np", "u", 1, math.MaxInt64, 1)),
		reportOf("node-1", "", "", traffic("ns", "np", "u", 0, -1, 0), traffic("ns", "np", "u", 0, 2, 0), traffic("ns", "np", "u", 0, 2, 0)),
		reportOf("node-1", "s", "-1"), reportOf("", "s", "1"), reportOf("node-2", "s", "1", traffic("ns", "np", "u", 1, 1, 1)),
		{
			ObjectMeta:                   metav1.ObjectMeta{Name: "node-1"},
			AntreaClusterNetworkPolicies: []controlplane.NetworkPolicyStats{ofRules(acnp, "", "np", "u", rule("r", math.MaxInt64/100), rule("q", 1))},
		},
	} {
		text, err := json.Marshal(report)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var report controlplane.NodeStatsSummary
		if json.Unmarshal(text, &report) != nil {
			return
		}
		a := New(onNode{"u": {"node-1"}})
		a.set(k8s, policy("ns", "np", "u"))
		a.set(acnp, policy("", "np", "u"))
		var former, formerOfRules v1alpha1.TrafficStats
		for range 3 {
			err := a.Report(&report)
			stats, ok := a.Get(k8s, types.NamespacedName{Namespace: "ns", Name: "np"})
			require.True(t, ok)
			now := stats.Traffic
			if err != nil || report.Name != "node-1" {
				require.Equal(t, former, now)
			}
			require.True(t, now.Packets >= former.Packets && now.Bytes >= former.Bytes && now.Sessions >= former.Sessions, "%+v after %+v", now, former)
			former = now
			sum, _ := a.Get(acnp, types.NamespacedName{Name: "np"})
			now = sum.Traffic
			require.True(t, now.Packets >= formerOfRules.Packets && now.Bytes >= formerOfRules.Bytes && now.Sessions >= formerOfRules.Sessions, "%+v after %+v", now, formerOfRules)
			formerOfRules = now
			for _, r := range sum.Rules {
				require.True(t, r.TrafficStats.Packets >= 0 && r.TrafficStats.Packets <= now.Packets, "%+v of %+v", r, now)
			}
		}
		require.LessOrEqual(t, len(a.last), 1)
		require.Len(t, a.List(k8s, ""), 1)
	})
}
