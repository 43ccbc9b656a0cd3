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
	// Owners are the last owners of the rules with counts, Names the last names of the rules in these policies. They own what the fast path
	// has carried of a rule until its removal.
	Owners Owners
	Names  map[uint32]string
	// Adopt is set when it is not known what an earlier agent has reported: what is counted by then is taken for reported.
	Adopt bool
}

func newLedger() *ledger {
	return &ledger{Session: uuid.NewString(), Reported: map[uint32]Count{}, Owners: Owners{}, Names: map[uint32]string{}}
}

// next makes the report of the traffic counted since the previous one, which is confirmed. It returns false if there is
// nothing to report. The rest goes into the next report. Traffic of rules that never had an owner stays unreported
// until they have one.
func (l *ledger) next(counts Counts, owners Owners, ruleNames map[uint32]string) bool {
	l.learn(counts, owners, ruleNames)
	if l.Adopt {
		l.Reported, l.Adopt = maps.Clone(counts.Rules), false
		return false
	}
	size, names := 0, map[v1beta2.NetworkPolicyReference]bool{}
	for _, p := range l.byPolicy(counts.Rules) {
		name := p.stats.NetworkPolicy
		name.UID = ""
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
func (l *ledger) learn(counts Counts, owners Owners, names map[uint32]string) {
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
	maps.DeleteFunc(l.Names, func(id uint32, _ string) bool { _, owned := l.Owners[id]; return !owned })
	l.own(maps.Keys(counts.Rules), owners, names)
}

// own records the owners of rules, and the names that the rules have there.
func (l *ledger) own(rules iter.Seq[uint32], owners Owners, names map[uint32]string) {
	for id := range rules {
		owner, ok := owners[id]
		if !ok {
			continue
		}
		l.Owners[id] = owner
		if name := names[id]; name != "" {
			l.Names[id] = name
		} else {
			delete(l.Names, id)
		}
	}
}

// isCounted reports whether antrea-controller has statistics of policies of this kind.
func isCounted(kind v1beta2.NetworkPolicyType) bool {
	return kind == v1beta2.K8sNetworkPolicy || kind == v1beta2.AntreaClusterNetworkPolicy || kind == v1beta2.AntreaNetworkPolicy
}

// reported reports whether reports contain all that the fast path has carried for a rule, or it will never have an
// owner.
func (l *ledger) reported(id uint32, fast networkpolicy.FastCount) bool {
	if owner, ok := l.Owners[id]; !ok || !isCounted(owner.Type) {
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
	report := &v1beta2.NodeStatsSummary{ObjectMeta: metav1.ObjectMeta{Name: node, Annotations: map[string]string{
		v1beta2.StatsSessionAnnotation: l.Session, v1beta2.StatsSequenceAnnotation: strconv.FormatUint(l.Sequence, 10),
	}}}
	for _, stats := range l.Pending {
		list := &report.NetworkPolicies
		switch stats.NetworkPolicy.Type {
		case v1beta2.AntreaClusterNetworkPolicy:
			list = &report.AntreaClusterNetworkPolicies
		case v1beta2.AntreaNetworkPolicy:
			list = &report.AntreaNetworkPolicies
		}
		*list = append(*list, stats)
	}
	return report
}

// maxRules is the number of rules of one policy in a report, so that every policy has room in one.
const maxRules = 40

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

// add adds traffic of a rule. It returns false if there are too many other rules.
func (d *policyDelta) add(rule string, delta v1alpha1.TrafficStats) bool {
	sum := &d.stats.TrafficStats
	if d.stats.NetworkPolicy.Type != v1beta2.K8sNetworkPolicy {
		rules := &d.stats.RuleTrafficStats
		i := slices.IndexFunc(*rules, func(r v1alpha1.RuleTrafficStats) bool { return r.Name == rule })
		if i < 0 && len(*rules) == maxRules {
			return false
		}
		if i < 0 {
			i = len(*rules)
			*rules = append(*rules, v1alpha1.RuleTrafficStats{Name: rule})
		}
		sum = &(*rules)[i].TrafficStats
	}
	sum.Sessions, sum.Packets, sum.Bytes = sum.Sessions+delta.Sessions, sum.Packets+delta.Packets, sum.Bytes+delta.Bytes
	return true
}

// byPolicy returns the policies with unreported traffic, by Namespace and name.
func (l *ledger) byPolicy(counts map[uint32]Count) []*policyDelta {
	policies := map[v1beta2.NetworkPolicyReference]*policyDelta{}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		now := counts[id]
		owner, ok := l.Owners[id]
		delta := since(now, l.Reported[id])
		if !ok || !isCounted(owner.Type) {
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
		if p.add(l.Names[id], delta) {
			p.rules = append(p.rules, id)
		}
	}
	return slices.SortedFunc(maps.Values(policies), func(a, b *policyDelta) int {
		x, y := a.stats.NetworkPolicy, b.stats.NetworkPolicy
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
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
