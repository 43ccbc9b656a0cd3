// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// Antrea's policies are reported rule by rule, each kind in a list of its own. Rules that share a name are one.
func TestRulesByName(t *testing.T) {
	kind := func(kind v1beta2.NetworkPolicyType) v1beta2.NetworkPolicyReference {
		owner := ref("web")
		owner.Type = kind
		return owner
	}
	owners := Owners{
		1: ref("web"), 2: kind(v1beta2.AntreaNetworkPolicy), 3: kind(v1beta2.AntreaClusterNetworkPolicy), 4: kind(v1beta2.AntreaClusterNetworkPolicy),
		5: kind(v1beta2.AntreaClusterNetworkPolicy), 6: kind(v1beta2.AdminNetworkPolicy),
	}
	names := map[uint32]string{2: "allow", 3: "drop", 4: "allow", 5: "allow", 6: "admin"}
	l := newLedger()
	counts := ruleCounts{}
	for id := range owners {
		counts[id] = counted(uint64(id), 10*uint64(id), 100*uint64(id), 0, 0)
	}
	require.True(t, l.next(read(counts), owners, names))
	traffic := func(n int64) v1alpha1.TrafficStats {
		return v1alpha1.TrafficStats{Sessions: n, Packets: 10 * n, Bytes: 100 * n}
	}
	report := l.report("node")
	require.Equal(t, []v1beta2.NetworkPolicyStats{{NetworkPolicy: owners[1], TrafficStats: traffic(1)}}, report.NetworkPolicies)
	require.Equal(t, []v1beta2.NetworkPolicyStats{{NetworkPolicy: owners[2], RuleTrafficStats: []v1alpha1.RuleTrafficStats{{Name: "allow", TrafficStats: traffic(2)}}}}, report.AntreaNetworkPolicies)
	require.Equal(t, []v1beta2.NetworkPolicyStats{{NetworkPolicy: owners[3], RuleTrafficStats: []v1alpha1.RuleTrafficStats{
		{Name: "drop", TrafficStats: traffic(3)}, {Name: "allow", TrafficStats: traffic(9)},
	}}}, report.AntreaClusterNetworkPolicies)
	l.Pending = nil

	// A rule that was removed keeps its name for what was counted until then.
	counts[3] = counted(4, 40, 400, 10, 100)
	require.True(t, l.next(read(counts), nil, nil))
	require.Equal(t, "drop", l.Pending[0].RuleTrafficStats[0].Name)
	l.Pending = nil
	require.False(t, l.next(read(ruleCounts{}), nil, nil))
	require.Empty(t, l.Names)
}

// A policy with very many rules needs several reports, each of which antrea-controller accepts, and none of the traffic is lost.
func TestManyRulesOfOnePolicy(t *testing.T) {
	const rules = 10*maxRules + 1
	owner := ref(strings.Repeat("p", 253))
	owner.Type = v1beta2.AntreaClusterNetworkPolicy
	owners, names, counts := Owners{}, map[uint32]string{}, ruleCounts{}
	for id := uint32(1); id <= rules; id++ {
		owners[id], names[id], counts[id] = owner, fmt.Sprintf("%063d", id), counted(1<<50, 1<<60, 1<<62, 0, 0)
	}
	l := newLedger()
	seen := map[string]bool{}
	for l.next(read(counts), owners, names) {
		text, err := json.Marshal(l.report("node"))
		require.NoError(t, err)
		require.Less(t, len(text), 16<<10)
		for _, r := range l.Pending[0].RuleTrafficStats {
			require.False(t, seen[r.Name])
			seen[r.Name] = true
		}
		l.Pending = nil
	}
	require.Len(t, seen, rules)
}
