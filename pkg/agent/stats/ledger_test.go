// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

func ref(name string) v1beta2.NetworkPolicyReference {
	return v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}
}

func counted(sessions, packets, bytes, fastPackets, fastBytes uint64) apis.RuleStats {
	return apis.RuleStats{Sessions: sessions, Packets: packets, Bytes: bytes, FastPackets: fastPackets, FastBytes: fastBytes}
}

// confirmed returns what next has put into a report, by name, and confirms it.
func (l *ledger) confirmed() map[string]v1alpha1.TrafficStats {
	policies := map[string]v1alpha1.TrafficStats{}
	for _, p := range l.Pending {
		policies[p.NetworkPolicy.Name] = p.TrafficStats
	}
	l.Pending = nil
	return policies
}

func TestLedger(t *testing.T) {
	type traffic = map[string]v1alpha1.TrafficStats
	owners := Owners{1: ref("web"), 2: ref("web"), 3: ref("db"), 9: {Type: "AntreaNetworkPolicy", Name: "other"}}
	l := newLedger()
	for _, step := range []struct {
		name   string
		counts Counts
		want   traffic
	}{
		{"nothing", Counts{}, traffic{}},
		{
			"the rules of a policy together", Counts{1: counted(1, 5, 50, 0, 0), 2: counted(2, 7, 70, 0, 0), 3: counted(0, 0, 0, 0, 0)},
			traffic{"web": {Sessions: 3, Packets: 12, Bytes: 120}},
		},
		{"unchanged", Counts{1: counted(1, 5, 50, 0, 0), 2: counted(2, 7, 70, 0, 0)}, traffic{}},
		{
			"both paths", Counts{1: counted(1, 105, 1050, 99, 990), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Packets: 100, Bytes: 1000}},
		},
		{
			"the switch's counters have begun anew, those of the fast path go on", Counts{1: counted(1, 104, 1040, 103, 1030), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Sessions: 1, Packets: 5, Bytes: 50}},
		},
		{
			"the counters of the fast path have begun anew", Counts{1: counted(1, 12, 120, 10, 100), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Packets: 11, Bytes: 110}},
		},
		{"counters that have begun anew, without traffic", Counts{1: counted(0, 10, 100, 10, 100), 2: counted(2, 7, 70, 0, 0)}, traffic{}},
		{
			"traffic after that", Counts{1: counted(1, 11, 110, 10, 100), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Sessions: 1, Packets: 1, Bytes: 10}},
		},
		{"a rule is gone", Counts{2: counted(2, 8, 80, 0, 0)}, traffic{"web": {Packets: 1, Bytes: 10}}},
		{
			"and comes again", Counts{1: counted(1, 1, 10, 0, 0), 2: counted(2, 8, 80, 0, 0)},
			traffic{"web": {Sessions: 1, Packets: 1, Bytes: 10}},
		},
		{"a rule without owner, and one of another kind of policy", Counts{1: counted(1, 1, 10, 0, 0), 2: counted(2, 8, 80, 0, 0), 8: counted(1, 1, 1, 0, 0), 9: counted(1, 1, 1, 0, 0)}, traffic{}},
	} {
		require.Equal(t, len(step.want) > 0, l.next(step.counts, owners), step.name)
		require.Equal(t, step.want, l.confirmed(), step.name)
		require.False(t, l.next(step.counts, owners), "%s: reported once", step.name)
	}
	owners[8] = ref("late")
	require.True(t, l.next(Counts{8: counted(2, 2, 2, 0, 0)}, owners))
	require.Equal(t, traffic{"late": {Sessions: 2, Packets: 2, Bytes: 2}}, l.confirmed(), "what was counted while the rule had no owner is reported later")
}

func TestAdopt(t *testing.T) {
	l := newLedger()
	l.Adopt = true
	owners := Owners{1: ref("web")}
	require.False(t, l.next(Counts{1: counted(1, 5, 50, 0, 0)}, owners))
	require.True(t, l.next(Counts{1: counted(1, 6, 60, 0, 0)}, owners))
	require.Equal(t, map[string]v1alpha1.TrafficStats{"web": {Packets: 1, Bytes: 10}}, l.confirmed())
}

// A report stays below what antrea-controller accepts, with the longest names; the rest follows in the next one.
func TestReportsAreBounded(t *testing.T) {
	counts, owners := Counts{}, Owners{}
	for i := range uint32(500) {
		owner := ref(fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 240)))
		owner.UID, owner.Namespace = "6e4d9c2e-2c4c-4b1c-9a5a-0d6b1d7f3b60", strings.Repeat("n", 63)
		counts[i+2], owners[i+2] = counted(1, 1<<62, 1<<62, 0, 0), owner
	}
	l := newLedger()
	reports, seen := 0, map[string]v1alpha1.TrafficStats{}
	for l.next(counts, owners) {
		reports++
		require.Equal(t, fmt.Sprint(reports), l.report("node").Annotations[v1beta2.StatsSequenceAnnotation])
		text, err := json.Marshal(l.report(strings.Repeat("n", 253)))
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 15<<10)
		for name, traffic := range l.confirmed() {
			require.NotContains(t, seen, name)
			seen[name] = traffic
		}
	}
	require.Len(t, seen, 500)
	require.Less(t, reports, 40)
}
