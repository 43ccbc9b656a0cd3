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

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

func ref(name string) v1beta2.NetworkPolicyReference {
	return v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}
}

func counted(sessions, packets, bytes, fastPackets, fastBytes uint64) Count {
	return Count{Sessions: sessions, Packets: packets, Bytes: bytes, FastPackets: fastPackets, FastBytes: fastBytes}
}

type ruleCounts = map[uint32]Count

// read is a reading of the first run of Open vSwitch.
func read(rules ruleCounts) Counts { return Counts{Instance: "1", Rules: rules} }

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
	owners := Owners{1: ref("web"), 2: ref("web"), 3: ref("db"), 9: {Type: "AdminNetworkPolicy", Name: "other"}}
	l := newLedger()
	for _, step := range []struct {
		name   string
		counts ruleCounts
		want   traffic
	}{
		{"nothing", ruleCounts{}, traffic{}},
		{
			"the rules of a policy together", ruleCounts{1: counted(1, 5, 50, 0, 0), 2: counted(2, 7, 70, 0, 0), 3: counted(0, 0, 0, 0, 0)},
			traffic{"web": {Sessions: 3, Packets: 12, Bytes: 120}},
		},
		{"unchanged", ruleCounts{1: counted(1, 5, 50, 0, 0), 2: counted(2, 7, 70, 0, 0)}, traffic{}},
		{
			"both paths", ruleCounts{1: counted(1, 105, 1050, 99, 990), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Packets: 100, Bytes: 1000}},
		},
		{
			"the switch's counters have restarted, the fast path's continue", ruleCounts{1: counted(1, 104, 1040, 103, 1030), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Sessions: 1, Packets: 5, Bytes: 50}},
		},
		{
			"the counters of the fast path have restarted", ruleCounts{1: counted(1, 12, 120, 10, 100), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Packets: 11, Bytes: 110}},
		},
		{"restarted counters, without traffic", ruleCounts{1: counted(0, 10, 100, 10, 100), 2: counted(2, 7, 70, 0, 0)}, traffic{}},
		{
			"traffic after that", ruleCounts{1: counted(1, 11, 110, 10, 100), 2: counted(2, 7, 70, 0, 0)},
			traffic{"web": {Sessions: 1, Packets: 1, Bytes: 10}},
		},
		{"a rule is gone", ruleCounts{2: counted(2, 8, 80, 0, 0)}, traffic{"web": {Packets: 1, Bytes: 10}}},
		{
			"and comes again", ruleCounts{1: counted(1, 1, 10, 0, 0), 2: counted(2, 8, 80, 0, 0)},
			traffic{"web": {Sessions: 1, Packets: 1, Bytes: 10}},
		},
		{"a rule without owner, and one of another kind of policy", ruleCounts{1: counted(1, 1, 10, 0, 0), 2: counted(2, 8, 80, 0, 0), 8: counted(1, 1, 1, 0, 0), 9: counted(1, 1, 1, 0, 0)}, traffic{}},
	} {
		require.Equal(t, len(step.want) > 0, l.next(read(step.counts), owners, nil), step.name)
		require.Equal(t, step.want, l.confirmed(), step.name)
		require.False(t, l.next(read(step.counts), owners, nil), "%s: reported once", step.name)
	}
	owners[8] = ref("late")
	require.True(t, l.next(read(ruleCounts{8: counted(2, 2, 2, 0, 0)}), owners, nil))
	require.Equal(t, traffic{"late": {Sessions: 2, Packets: 2, Bytes: 2}}, l.confirmed(), "what was counted while the rule had no owner is reported later")
}

// Restarted counters are noticed even if they count more than before.
func TestCountersBegunAnew(t *testing.T) {
	const round1, round2 = openflow.CounterID(1) << 48, openflow.CounterID(2) << 48
	owners := Owners{1: ref("web")}
	l := newLedger()
	for _, step := range []struct {
		name     string
		instance string
		replays  uint64
		counter  openflow.CounterID
		packets  uint64
		fast     uint64
		want     int64
	}{
		{"the first reading", "1", 0, round1 + 1, 10, 0, 10},
		{"the same counters", "1", 0, round1 + 1, 11, 0, 1},
		{"the rule was removed and installed again", "1", 0, round1 + 2, 20, 0, 20},
		{"the flows are of another round, and have their counters", "1", 0, round2 + 1, 25, 0, 5},
		{"and again", "1", 0, round2 + 2, 30, 0, 30},
		{"Open vSwitch has restarted: the flows are the same", "2", 0, round2 + 2, 40, 7, 47},
		{"Open vSwitch has restarted: the fast path continues", "3", 0, round2 + 2, 50, 8, 51},
		{"with fewer packets", "4", 0, round2 + 2, 1, 8, 1},
		{"all flows were sent again", "4", 1, round2 + 2, 2, 8, 2},
	} {
		rule := Count{Sessions: 1, Packets: step.packets + step.fast, Bytes: 10 * (step.packets + step.fast), FastPackets: step.fast, FastBytes: 10 * step.fast, Counter: step.counter}
		require.True(t, l.next(Counts{Instance: step.instance, Replays: step.replays, Rules: ruleCounts{1: rule}}, owners, nil), step.name)
		got := l.confirmed()["web"]
		require.Equal(t, step.want, got.Packets, step.name)
		require.Equal(t, 10*step.want, got.Bytes, step.name)
	}
	l.replays = nil // another agent, whose first reading is of the same counters
	require.True(t, l.next(Counts{Instance: "4", Replays: 9, Rules: ruleCounts{1: counted(1, 11, 110, 8, 80)}}, owners, nil))
	require.Equal(t, int64(1), l.confirmed()["web"].Packets)
}

// Traffic that the fast path has carried until the removal of a rule belongs to its last owner.
func TestLastOwner(t *testing.T) {
	type traffic = map[string]v1alpha1.TrafficStats
	l := newLedger()
	require.True(t, l.next(read(ruleCounts{1: counted(1, 10, 100, 5, 50)}), Owners{1: ref("web")}, nil))
	l.confirmed()
	require.True(t, l.next(read(ruleCounts{1: counted(0, 8, 80, 8, 80)}), Owners{}, nil))
	require.Equal(t, traffic{"web": {Packets: 3, Bytes: 30}}, l.confirmed())
	require.False(t, l.next(read(ruleCounts{}), Owners{}, nil))
	require.Empty(t, l.Owners)
	require.Empty(t, l.Reported)
}

// A policy that was deleted and made again is in two reports: earlier versions of antrea-controller refuse one that has a name twice.
func TestPolicyMadeAgain(t *testing.T) {
	again := ref("web")
	again.UID = "uid-web-2"
	l, counts := newLedger(), read(ruleCounts{1: counted(1, 1, 10, 0, 0), 2: counted(2, 2, 20, 0, 0), 3: counted(3, 3, 30, 0, 0)})
	owners := Owners{1: ref("web"), 2: again, 3: ref("db")}
	var reports []string
	for l.next(counts, owners, nil) {
		text := ""
		for _, p := range l.Pending {
			text += fmt.Sprintf("%s=%d ", p.NetworkPolicy.UID, p.TrafficStats.Packets)
		}
		reports = append(reports, text)
		l.confirmed()
	}
	require.Equal(t, []string{"uid-db=3 uid-web=1 ", "uid-web-2=2 "}, reports)
}

func TestAdopt(t *testing.T) {
	l := newLedger()
	l.Adopt = true
	owners := Owners{1: ref("web")}
	require.False(t, l.next(read(ruleCounts{1: counted(1, 5, 50, 0, 0)}), owners, nil))
	require.True(t, l.next(read(ruleCounts{1: counted(1, 6, 60, 0, 0)}), owners, nil))
	require.Equal(t, map[string]v1alpha1.TrafficStats{"web": {Packets: 1, Bytes: 10}}, l.confirmed())
}

// A report stays below what antrea-controller accepts, with the longest names; the rest follows in the next one.
func TestReportsAreBounded(t *testing.T) {
	counts, owners := ruleCounts{}, Owners{}
	for i := range uint32(500) {
		owner := ref(fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 240)))
		owner.UID, owner.Namespace = "6e4d9c2e-2c4c-4b1c-9a5a-0d6b1d7f3b60", strings.Repeat("n", 63)
		counts[i+2], owners[i+2] = counted(1, 1<<62, 1<<62, 0, 0), owner
	}
	l := newLedger()
	reports, seen := 0, map[string]v1alpha1.TrafficStats{}
	for l.next(read(counts), owners, nil) {
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
