// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
)

// FlowDumper reads flows from the bridge; filter is in the syntax of ovs-ofctl(8).
type FlowDumper interface {
	DumpFlowsWithCookies(ctx context.Context, filter string) ([]string, error)
}

var (
	flowCookie   = regexp.MustCompile(`\bcookie=0x([0-9a-f]+)\b`)
	flowCounters = regexp.MustCompile(`n_packets=(\d+), n_bytes=(\d+)`)
	// openingFlow counts opening packets, which a rule has allowed (reg5, reg6) or denied (reg3).
	openingFlow  = regexp.MustCompile(`\breg[356]=0x([0-9a-f]+)\b`)
	ingressLabel = regexp.MustCompile(`\bct_label=0x([0-9a-f]+)/0xffffffff\b`)
	egressLabel  = regexp.MustCompile(`\bct_label=0x([0-9a-f]+)00000000/0xffffffff00000000\b`)
)

// ReadPolicyStats reads the traffic that each rule has allowed or denied in Open vSwitch, by flow id. It returns all of it or an error.
func ReadPolicyStats(ctx context.Context, tables []pipeline.TableStatus, dumper FlowDumper) (map[uint32]PolicyRuleStats, error) {
	stats := map[uint32]PolicyRuleStats{}
	for _, table := range tables {
		if table.Name != pipeline.TableEgressMetric && table.Name != pipeline.TableIngressMetric {
			continue
		}
		flows, err := dumper.DumpFlowsWithCookies(ctx, fmt.Sprintf("table=%d", table.ID))
		if err != nil {
			return nil, err
		}
		for _, flow := range flows {
			addFlowStats(stats, flow)
		}
	}
	return stats, nil
}

// addFlowStats adds the counters of a metric flow. Other flows, such as the flow of lowest priority, belong to no rule.
func addFlowStats(stats map[uint32]PolicyRuleStats, flow string) {
	counters := flowCounters.FindStringSubmatch(flow)
	if counters == nil {
		return
	}
	packets, _ := strconv.ParseUint(counters[1], 10, 64)
	bytes, _ := strconv.ParseUint(counters[2], 10, 64)
	for i, expression := range []*regexp.Regexp{openingFlow, egressLabel, ingressLabel} {
		found := expression.FindStringSubmatch(flow)
		if found == nil {
			continue
		}
		id, err := strconv.ParseUint(found[1], 16, 32)
		if err != nil {
			return
		}
		s, counter := stats[uint32(id)], counterOf(flow)
		// The dump can contain flows from before and after a rule is removed and installed again.
		if counter.Replaced(s.Counter) {
			if counter < s.Counter {
				return
			}
			s = PolicyRuleStats{}
		}
		s.Counter = max(s.Counter, counter)
		if i == 0 {
			s.Sessions += packets
		}
		s.Packets += packets
		s.Bytes += bytes
		stats[uint32(id)] = s
		return
	}
}

// counterOf returns the cookie of a flow that counts.
func counterOf(flow string) CounterID {
	found := flowCookie.FindStringSubmatch(flow)
	if found == nil {
		return 0
	}
	cookie, _ := strconv.ParseUint(found[1], 16, 64)
	return CounterID(cookie)
}

// PolicyRuleStats is the traffic that a rule has allowed or denied since it was installed, as far as Open vSwitch saw it. A rule that passes
// connections on has none.
type PolicyRuleStats struct {
	// Sessions counts connections. Every packet counts until the connection is established, so a retransmitted opening packet
	// counts again.
	Sessions       uint64
	Packets, Bytes uint64
	// Counter identifies the counters of these numbers.
	Counter CounterID
}

// CounterID identifies the counters of a rule. It is the cookie of its flows that count.
type CounterID uint64

// Replaced reports whether a rule's counters were reset since former. Counters of an earlier round continue: Open vSwitch keeps the
// counters of a flow that is replaced by one with the same match.
func (c CounterID) Replaced(former CounterID) bool { return c != former && c.sameRound(former) }

func (c CounterID) sameRound(other CounterID) bool {
	return (uint64(c)^uint64(other))&pipeline.CookieRoundMask == 0
}
