// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// maxReportBytes bounds the part of a report's JSON text that has the policies. antrea-controller refuses requests of more than
// 16 KiB from anyone.
const maxReportBytes = 12 << 10

// Counts is traffic by flow id, as Reader has it.
type Counts = map[uint32]apis.RuleStats

// Owners are the sources of the policies that own the rules on the switch, by flow id.
type Owners = map[uint32]v1beta2.NetworkPolicyReference

// ledger knows what has been reported and what is being reported. It does no I/O: its fields are stored as they are.
type ledger struct {
	Session  string
	Sequence uint64
	// Pending has the policies of the latest report while antrea-controller has not confirmed it. They are sent again unchanged.
	Pending []v1beta2.NetworkPolicyStats
	// Reported is the traffic that reports contain, including Pending.
	Reported Counts
	// Adopt is set when it is not known what an earlier agent has reported: what is counted by then is taken for reported.
	Adopt bool
}

func newLedger() *ledger { return &ledger{Session: uuid.NewString(), Reported: Counts{}} }

// next makes the report of what has been counted since the previous one, which is confirmed. It returns false if there is nothing to report. What does
// not fit in one report is left for the one after it. Traffic of rules without owner stays unreported until they have one.
func (l *ledger) next(counts Counts, owners Owners) bool {
	if l.Adopt {
		l.Reported, l.Adopt = maps.Clone(counts), false
		return false
	}
	maps.DeleteFunc(l.Reported, func(id uint32, _ apis.RuleStats) bool { _, counted := counts[id]; return !counted })
	size := 0
	for _, p := range l.byPolicy(counts, owners) {
		if size += p.size(); size > maxReportBytes && len(l.Pending) > 0 {
			break
		}
		l.Pending = append(l.Pending, p.stats)
		for _, id := range p.rules {
			l.Reported[id] = counts[id]
		}
	}
	if len(l.Pending) == 0 {
		return false
	}
	l.Sequence++
	return true
}

// report returns the report of a Node that is pending.
func (l *ledger) report(node string) *v1beta2.NodeStatsSummary {
	return &v1beta2.NodeStatsSummary{
		ObjectMeta: metav1.ObjectMeta{Name: node, Annotations: map[string]string{
			v1beta2.StatsSessionAnnotation: l.Session, v1beta2.StatsSequenceAnnotation: strconv.FormatUint(l.Sequence, 10),
		}},
		NetworkPolicies: l.Pending,
	}
}

// policyDelta is what the rules of a policy have counted since the last report.
type policyDelta struct {
	stats v1beta2.NetworkPolicyStats
	rules []uint32
}

// size is the length of the delta's JSON text.
func (d *policyDelta) size() int {
	text, err := json.Marshal(&d.stats)
	if err != nil {
		return maxReportBytes // strings and numbers always have a JSON text
	}
	return len(text)
}

// byPolicy returns the policies with unreported traffic, by Namespace and name.
func (l *ledger) byPolicy(counts Counts, owners Owners) []*policyDelta {
	policies := map[v1beta2.NetworkPolicyReference]*policyDelta{}
	for id, now := range counts {
		owner, ok := owners[id]
		delta := since(now, l.Reported[id])
		if !ok || owner.Type != v1beta2.K8sNetworkPolicy {
			continue
		}
		if delta == (v1alpha1.TrafficStats{}) {
			l.Reported[id] = now // the base of a rule whose counters have begun anew
			continue
		}
		p := policies[owner]
		if p == nil {
			p = &policyDelta{stats: v1beta2.NetworkPolicyStats{NetworkPolicy: owner}}
			policies[owner] = p
		}
		sum := &p.stats.TrafficStats
		sum.Sessions, sum.Packets, sum.Bytes = sum.Sessions+delta.Sessions, sum.Packets+delta.Packets, sum.Bytes+delta.Bytes
		p.rules = append(p.rules, id)
	}
	return slices.SortedFunc(maps.Values(policies), func(a, b *policyDelta) int {
		x, y := a.stats.NetworkPolicy, b.stats.NetworkPolicy
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
}

// since returns what was counted after before. Both paths have their own counters, which begin anew on their own: those of Open
// vSwitch when its flows are replaced, those of the fast path when the agent has lost its state.
func since(now, before apis.RuleStats) v1alpha1.TrafficStats {
	slow := func(s apis.RuleStats) [3]uint64 {
		return [3]uint64{s.Sessions, s.Packets - s.FastPackets, s.Bytes - s.FastBytes}
	}
	fast := func(s apis.RuleStats) [3]uint64 { return [3]uint64{0, s.FastPackets, s.FastBytes} }
	var sum [3]uint64
	for _, path := range []func(apis.RuleStats) [3]uint64{slow, fast} {
		n, b := path(now), path(before)
		if n[0] < b[0] || n[1] < b[1] || n[2] < b[2] {
			b = [3]uint64{}
		}
		for i := range sum {
			sum[i] += n[i] - b[i]
		}
	}
	return v1alpha1.TrafficStats{Sessions: int64(sum[0]), Packets: int64(sum[1]), Bytes: int64(sum[2])}
}
