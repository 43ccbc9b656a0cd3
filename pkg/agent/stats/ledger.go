// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// maxReportBytes bounds the part of a report's JSON text that has the policies. antrea-controller refuses requests of more than
// 16 KiB from anyone.
const maxReportBytes = 12 << 10

// Owners are the sources of the policies that own the rules on the switch, by flow id.
type Owners = map[uint32]v1beta2.NetworkPolicyReference

// ledger knows what has been reported and what is being reported. It does no I/O: its fields are stored as they are.
type ledger struct {
	Session  string
	Sequence uint64
	// Pending has the policies of the latest report while antrea-controller has not confirmed it. They are sent again unchanged.
	Pending []v1beta2.NetworkPolicyStats
	// Reported is the traffic that reports contain, including Pending, by flow id. Instance and replays belong to the
	// last counts. The latter are this process's: a new process takes over the counters.
	Reported map[uint32]Count
	Instance string
	replays  *uint64
	// Owners are the last owners of the rules with counts. They own what the fast path has carried of a rule until its
	// removal.
	Owners Owners
	// Adopt is set when it is not known what an earlier agent has reported: what is counted by then is taken for reported.
	Adopt bool
}

func newLedger() *ledger {
	return &ledger{Session: uuid.NewString(), Reported: map[uint32]Count{}, Owners: Owners{}}
}

// next makes the report of the traffic counted since the previous one, which is confirmed. It returns false if there is
// nothing to report. The rest goes into the next report. Traffic of rules that never had an owner stays unreported
// until they have one.
func (l *ledger) next(counts Counts, owners Owners) bool {
	l.learn(counts, owners)
	if l.Adopt {
		l.Reported, l.Adopt = maps.Clone(counts.Rules), false
		return false
	}
	size, names := 0, map[types.NamespacedName]bool{}
	for _, p := range l.byPolicy(counts.Rules) {
		name := types.NamespacedName{Namespace: p.stats.NetworkPolicy.Namespace, Name: p.stats.NetworkPolicy.Name}
		if names[name] {
			continue // a policy that was deleted and made again: earlier versions of antrea-controller refuse a report that has a name twice
		}
		if size += p.size(); size > maxReportBytes && len(l.Pending) > 0 {
			break
		}
		names[name] = true
		l.Pending = append(l.Pending, p.stats)
		for _, id := range p.rules {
			l.Reported[id] = counts.Rules[id]
		}
	}
	if len(l.Pending) == 0 {
		return false
	}
	l.Sequence++
	return true
}

// learn forgets rules that no longer have counts, and counters that have all restarted, and records the owners.
func (l *ledger) learn(counts Counts, owners Owners) {
	if l.Instance != "" && counts.Instance != l.Instance || l.replays != nil && *l.replays != counts.Replays {
		for id, c := range l.Reported {
			l.Reported[id] = Count{Packets: c.FastPackets, Bytes: c.FastBytes, FastPackets: c.FastPackets, FastBytes: c.FastBytes}
		}
	}
	l.Instance, l.replays = counts.Instance, &counts.Replays
	maps.DeleteFunc(l.Reported, func(id uint32, _ Count) bool { _, counted := counts.Rules[id]; return !counted })
	maps.DeleteFunc(l.Owners, func(id uint32, _ v1beta2.NetworkPolicyReference) bool {
		_, counted := counts.Rules[id]
		return !counted
	})
	l.own(maps.Keys(counts.Rules), owners)
}

// own records the owners of rules.
func (l *ledger) own(rules iter.Seq[uint32], owners Owners) {
	for id := range rules {
		if owner, ok := owners[id]; ok {
			l.Owners[id] = owner
		}
	}
}

// reported reports whether reports contain all that the fast path has carried for a rule, or it will never have an
// owner.
func (l *ledger) reported(id uint32, fast networkpolicy.FastCount) bool {
	if owner, ok := l.Owners[id]; !ok || owner.Type != v1beta2.K8sNetworkPolicy {
		return true
	}
	c := l.Reported[id]
	return c.FastPackets == fast.Packets && c.FastBytes == fast.Bytes
}

// restartFast records that the fast path's counters of a rule restart.
func (l *ledger) restartFast(id uint32) {
	if c, ok := l.Reported[id]; ok {
		c.Packets, c.Bytes, c.FastPackets, c.FastBytes = c.Packets-c.FastPackets, c.Bytes-c.FastBytes, 0, 0
		l.Reported[id] = c
	}
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

// policyDelta is the traffic of the rules of a policy since the last report.
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
func (l *ledger) byPolicy(counts map[uint32]Count) []*policyDelta {
	policies := map[v1beta2.NetworkPolicyReference]*policyDelta{}
	for id, now := range counts {
		owner, ok := l.Owners[id]
		delta := since(now, l.Reported[id])
		if !ok || owner.Type != v1beta2.K8sNetworkPolicy {
			continue
		}
		if delta == (v1alpha1.TrafficStats{}) {
			l.Reported[id] = now // the base of a rule whose counters have restarted
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

// since returns the traffic counted after before. Both paths have their own counters. Open vSwitch's restart when a
// rule is removed and installed again.
func since(now, before Count) v1alpha1.TrafficStats {
	slow := func(c Count) [3]uint64 {
		return [3]uint64{c.Sessions, c.Packets - c.FastPackets, c.Bytes - c.FastBytes}
	}
	fast := func(c Count) [3]uint64 { return [3]uint64{0, c.FastPackets, c.FastBytes} }
	var sum [3]uint64
	for _, path := range []struct {
		numbers func(Count) [3]uint64
		anew    bool
	}{{slow, now.Counter.Replaced(before.Counter)}, {fast, false}} {
		n, b := path.numbers(now), path.numbers(before)
		if path.anew || n[0] < b[0] || n[1] < b[1] || n[2] < b[2] {
			b = [3]uint64{}
		}
		for i := range sum {
			sum[i] += n[i] - b[i]
		}
	}
	return v1alpha1.TrafficStats{Sessions: int64(sum[0]), Packets: int64(sum[1]), Bytes: int64(sum[2])}
}
