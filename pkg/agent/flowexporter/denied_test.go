// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	policyrules "github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// keeper is a session that keeps records.
type keeper struct{ records []*flows.Record }

func (k *keeper) Send(records []*flows.Record) (int, error) {
	k.records = append(k.records, records...)
	return len(records), nil
}

func (*keeper) Close() {}

// Connections that policies deny have records with policy, rule and action of the direction, also if no rule but isolation denies them. A packet
// that is only logged, or that is none, has no record.
func TestDeniedConnectionsHaveRecords(t *testing.T) {
	fake := of.NewFake()
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	frame, err := ippacket.Build(ippacket.Outline{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, Src: netip.MustParseAddr("10.0.1.2"), Dst: netip.MustParseAddr("10.0.1.3"),
		TTL: 64, Protocol: ippacket.TCP, SrcPort: 4000, DstPort: 80,
	})
	require.NoError(t, err)
	d := describer()
	decisions := map[string]openflow.PolicyPacket{
		"logged":   {Operations: openflow.OperationLog, Direction: policyrules.Egress, Action: policyrules.Drop, FlowID: 8},
		"garbage":  {Operations: openflow.OperationStore, Frame: frame[:20]},
		"rejected": {Operations: openflow.OperationStore | openflow.OperationReject, Direction: policyrules.Egress, Action: policyrules.Reject, FlowID: 8, Rule: &policyrules.Rule{Name: "to-db"}, Frame: frame},
		"isolated": {Operations: openflow.OperationStore, Direction: policyrules.Ingress, Action: policyrules.Drop, Frame: frame},
	}
	e := &Exporter{
		Timeouts: flows.Timeouts{Active: time.Hour, Idle: time.Hour}, Begun: time.Now(), StateFile: t.TempDir() + "/none", Describer: d.Begin, Rule: d.Rule,
		Denied: &Denied{PacketIns: fake.PacketIns, ParsePolicyPacket: func(p *of.PacketIn) (openflow.PolicyPacket, error) {
			decision, known := decisions[string(p.UserData)]
			if !known {
				return decision, errors.New("unknown")
			}
			return decision, nil
		}},
	}
	e.restore()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.watchDenied(ctx) }()
	for _, what := range []string{"foreign", "logged", "garbage", "rejected", "rejected", "isolated"} {
		require.Eventually(t, func() bool {
			return fake.SendPacketIn(openflow.PolicyLogController, of.PacketIn{UserData: []byte(what)}) == 1
		}, patience, time.Millisecond)
	}
	require.Eventually(t, func() bool { return e.denied() == 2 }, patience, time.Millisecond)
	require.NoError(t, testutil.CollectAndCompare(e, strings.NewReader("# HELP antrea_agent_denied_connection_count Connections that policies deny and that flow records are about.\n"+
		"# TYPE antrea_agent_denied_connection_count gauge\nantrea_agent_denied_connection_count 2\n"), "antrea_agent_denied_connection_count"))
	cancel()
	<-done
	session := &keeper{}
	require.NoError(t, e.sendDue(t.Context(), session))
	require.Len(t, session.records, 2)
	byDirection := map[bool]*flows.Record{}
	for _, r := range session.records {
		byDirection[r.Ingress.Action != 0] = r
		require.Equal(t, []any{flows.Pod{Namespace: "shop", Name: "web"}, flows.Pod{Namespace: "shop", Name: "db"}, "10.0.1.2:4000", "10.0.1.3:80", uint8(intraNode)},
			[]any{r.Source, r.Destination, r.Client.String(), r.Server.String(), r.FlowType})
	}
	require.Equal(t, flows.Policy{Type: 3, Action: 3, Name: "out", UID: "u-out", Rule: "to-db"}, byDirection[false].Egress)
	require.Equal(t, flows.Count{Packets: 2, Bytes: 80}, byDirection[false].Delta[0])
	require.Equal(t, flows.Policy{Action: 2}, byDirection[true].Ingress)
	require.NoError(t, e.sendDue(t.Context(), session))
	require.Len(t, session.records, 2, "each packet is in one record")
}
