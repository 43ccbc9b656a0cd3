// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// bridge has three connections of rule 7 on the slow path: 3 packets opened them, 40 followed.
type bridge struct {
	tables, dump error
	replaying    bool
}

func (b bridge) GetFlowTableStatus(context.Context) ([]openflow.TableStatus, error) {
	return []openflow.TableStatus{{ID: 60, Name: "EgressMetric"}, {ID: 61, Name: "Output"}}, b.tables
}

func (b bridge) Replays() (n uint64, done bool) { return 1, !b.replaying }

func (b bridge) DumpFlowsWithCookies(_ context.Context, filter string) ([]string, error) {
	if filter != "table=60" {
		return nil, errors.New("unexpected filter " + filter)
	}
	return []string{
		"cookie=0x1, table=60, n_packets=3, n_bytes=300, priority=200,ct_state=+new,ip,reg5=0x7 actions=goto_table:61",
		"cookie=0x1, table=60, n_packets=40, n_bytes=4000, priority=200,ct_state=-new,ct_label=0x700000000/0xffffffff00000000,ip actions=goto_table:61",
	}, b.dump
}

type fastPath struct {
	counts map[uint32]networkpolicy.FastCount
	err    error
}

func (f fastPath) Read() (map[uint32]networkpolicy.FastCount, error) { return f.counts, f.err }

func TestRead(t *testing.T) {
	failed := errors.New("no answer")
	slow := apis.RuleStats{Sessions: 3, Packets: 43, Bytes: 4300}
	for _, tc := range []struct {
		name   string
		bridge bridge
		fast   FastPath
		want   map[uint32]apis.RuleStats
		err    error
	}{
		{name: "without ONCache", want: map[uint32]apis.RuleStats{7: slow}},
		{
			name: "both paths, and a rule that Open vSwitch has not counted yet",
			fast: fastPath{counts: map[uint32]networkpolicy.FastCount{7: {Packets: 100, Bytes: 10000}, 8: {Packets: 1, Bytes: 60}}},
			want: map[uint32]apis.RuleStats{
				7: {Sessions: 3, Packets: 143, Bytes: 14300, FastPackets: 100, FastBytes: 10000},
				8: {Packets: 1, Bytes: 60, FastPackets: 1, FastBytes: 60},
			},
		},
		{name: "the fast path cannot be read", fast: fastPath{err: failed}, want: map[uint32]apis.RuleStats{7: slow}, err: failed},
		{name: "the switch does not answer", bridge: bridge{tables: failed}, err: failed},
		{name: "the flows cannot be read", bridge: bridge{dump: failed}, err: failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &Reader{Tables: tc.bridge, Dumper: tc.bridge, FastPath: tc.fast}
			got, err := r.Read(t.Context())
			require.ErrorIs(t, err, tc.err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestCounts(t *testing.T) {
	instances, failed := []string{"1", "1"}, error(nil)
	r := &Reader{Tables: bridge{}, Dumper: bridge{}, Instance: func() (instance string, err error) {
		instance, instances = instances[0], instances[1:]
		return instance, failed
	}}
	got, err := r.Counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, Counts{Instance: "1", Replays: 1, Rules: map[uint32]Count{7: {Sessions: 3, Packets: 43, Bytes: 4300, Counter: 1}}}, got)
	instances = []string{"1", "2"}
	_, err = r.Counts(t.Context())
	require.ErrorContains(t, err, "again during the reading")
	instances, failed = []string{""}, errors.New("no pid file")
	_, err = r.Counts(t.Context())
	require.ErrorIs(t, err, failed)
	instances, failed = []string{"1", "1"}, nil
	r.FastPath = fastPath{err: errors.New("no map")}
	_, err = r.Counts(t.Context())
	require.ErrorContains(t, err, "no map")
	instances, r.FastPath, r.Tables = []string{"1", "1"}, nil, bridge{replaying: true}
	_, err = r.Counts(t.Context())
	require.ErrorContains(t, err, "is getting all flows again")
}

type flows []datapath.Flow

func (f flows) EachFlow(yield func(datapath.Flow) bool) error {
	for _, flow := range f {
		if !yield(flow) {
			break
		}
	}
	return nil
}

func (f flows) WatchRetired(_ context.Context, drained func(), yield func(datapath.Retired)) error {
	pod, peer := netip.MustParseAddrPort("10.10.1.2:40000"), netip.MustParseAddrPort("10.10.2.2:80")
	yield(datapath.Retired{Direction: datapath.DirectionEgress, Protocol: 6, Source: pod, Destination: peer, Packets: 5, Bytes: 500, Created: 7})
	drained()
	yield(datapath.Retired{Direction: datapath.DirectionIngress, Protocol: 6, Source: pod, Destination: peer, Packets: 4, Bytes: 400, Created: 8})
	return nil
}

func TestFlowCounters(t *testing.T) {
	pod, peer := netip.MustParseAddrPort("10.10.1.2:40000"), netip.MustParseAddrPort("10.10.2.2:80")
	counters := FlowCounters{Flows: flows{
		{Direction: datapath.DirectionEgress, Protocol: 6, Source: pod, Destination: peer, Translated: pod, Packets: 5, Bytes: 500},
		{Direction: datapath.DirectionIngress, Protocol: 6, Source: peer, Destination: pod, Translated: peer, SourceTranslated: true, Packets: 4, Bytes: 400},
	}}
	want := []networkpolicy.CachedFlow{
		{Egress: true, Protocol: 6, Source: pod, Destination: peer, Translated: pod, Packets: 5, Bytes: 500},
		{Protocol: 6, Source: peer, Destination: pod, Translated: peer, SourceTranslated: true, Packets: 4, Bytes: 400},
	}
	for _, limit := range []int{1, 2} {
		var got []networkpolicy.CachedFlow
		require.NoError(t, counters.EachFlow(func(f networkpolicy.CachedFlow) bool {
			got = append(got, f)
			return len(got) < limit
		}))
		require.Equal(t, want[:limit], got)
	}
}

func TestRetiredFlowCounters(t *testing.T) {
	pod, peer := netip.MustParseAddrPort("10.10.1.2:40000"), netip.MustParseAddrPort("10.10.2.2:80")
	var early, late []networkpolicy.CachedFlow
	require.NoError(t, FlowCounters{Flows: flows{}}.WatchRetired(t.Context(), func(f networkpolicy.CachedFlow, gone bool) {
		if gone {
			early = append(early, f)
		} else {
			late = append(late, f)
		}
	}))
	require.Equal(t, []networkpolicy.CachedFlow{{Egress: true, Protocol: 6, Source: pod, Destination: peer, Created: 7, Packets: 5, Bytes: 500}}, early)
	require.Equal(t, []networkpolicy.CachedFlow{{Protocol: 6, Source: pod, Destination: peer, Created: 8, Packets: 4, Bytes: 400}}, late)
}
