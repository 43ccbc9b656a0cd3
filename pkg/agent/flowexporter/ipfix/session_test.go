// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/go-ipfix/pkg/collector"
	"github.com/vmware/go-ipfix/pkg/entities"

	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
)

// patience bounds the wait for a collector on this machine.
const patience = 20 * time.Second

// sink is a collector of go-ipfix.
type sink struct {
	process *collector.CollectingProcess
	address string
}

// listen starts a collector at the address, which may end with port 0. It stops at the end of the test, or before.
func listen(t *testing.T, protocol, address string) (s *sink, stop func()) {
	t.Helper()
	loadRegistry()
	process, err := collector.InitCollectingProcess(collector.CollectorInput{Address: address, Protocol: protocol, MaxBufferSize: 65535, TemplateTTL: 3600})
	require.NoError(t, err)
	go process.Start()
	require.Eventually(t, func() bool { return process.GetAddress() != nil }, patience, time.Millisecond, "the collector listens")
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			process.Stop()
		}
	}
	t.Cleanup(stop)
	return &sink{process, process.GetAddress().String()}, stop
}

// next returns the next message.
func (s *sink) next(t *testing.T) *entities.Message {
	t.Helper()
	select {
	case m, ok := <-s.process.GetMsgChan():
		require.True(t, ok, "the collector continues")
		return m
	case <-time.After(patience):
		require.FailNow(t, "no message")
		return nil
	}
}

// templates reads the messages with the two templates.
func (s *sink) templates(t *testing.T) {
	t.Helper()
	for range 2 {
		require.Equal(t, entities.Template, s.next(t).GetSet().GetSetType())
	}
}

// records reads n data records, as maps of their elements.
func (s *sink) records(t *testing.T, n int) (all []map[string]any) {
	t.Helper()
	for len(all) < n {
		set := s.next(t).GetSet()
		require.Equal(t, entities.Data, set.GetSetType())
		for _, r := range set.GetRecords() {
			all = append(all, r.GetElementMap())
		}
	}
	return all
}

func dial(t *testing.T, s *sink, protocol string, refresh time.Duration) *Session {
	t.Helper()
	session, err := Dial(t.Context(), Options{Address: s.address, Protocol: protocol, NodeName: "node-1", TemplateRefresh: refresh})
	require.NoError(t, err)
	t.Cleanup(session.Close)
	return session
}

func record(ipv6 bool, packets uint64) *flows.Record {
	client, dialed, server := "10.0.1.2:4000", "10.96.0.1:80", "10.0.2.2:8080"
	if ipv6 {
		client, dialed, server = "[fd00:1::2]:4000", "[fd00:2::2]:8080", "[fd00:2::2]:8080"
	}
	return &flows.Record{
		Info: flows.Info{
			Source: flows.Pod{Namespace: "shop", Name: "cart"}, SourceNode: "node-1", FlowType: 2, ServicePortName: "shop/db:sql",
			SNAT: flows.Egress{Name: "shop", IP: "192.0.2.9", Node: "node-2"}, Egress: flows.Policy{Type: 1, Action: 1, Namespace: "shop", Name: "to-db", UID: "u-1"},
		},
		Protocol: 6, Client: netip.MustParseAddrPort(client), Dialed: netip.MustParseAddrPort(dialed), Server: netip.MustParseAddrPort(server),
		Start: time.Unix(1000, 5), End: time.Unix(1010, 0), Reason: flows.ReasonActive, TCPState: "ESTABLISHED",
		Total: flows.Counts{{Packets: 100, Bytes: 1000}, {Packets: 200, Bytes: 2000}},
		Delta: flows.Counts{{Packets: packets, Bytes: 10}, {Packets: 2, Bytes: 20}},
	}
}

// want is record(false, 1) as a collector decodes it.
var want = map[string]any{
	"flowStartSeconds": uint32(1000), "flowEndSeconds": uint32(1010), "flowEndReason": uint8(2), "protocolIdentifier": uint8(6),
	"sourceIPv4Address": net.ParseIP("10.0.1.2").To4(), "destinationIPv4Address": net.ParseIP("10.0.2.2").To4(),
	"sourceTransportPort": uint16(4000), "destinationTransportPort": uint16(8080),
	"destinationClusterIPv4": net.ParseIP("10.96.0.1").To4(), "destinationServicePort": uint16(80), "destinationServicePortName": "shop/db:sql",
	"packetTotalCount": uint64(100), "octetTotalCount": uint64(1000), "packetDeltaCount": uint64(1), "octetDeltaCount": uint64(10),
	"reversePacketTotalCount": uint64(200), "reverseOctetTotalCount": uint64(2000), "reversePacketDeltaCount": uint64(2), "reverseOctetDeltaCount": uint64(20),
	"sourcePodName": "cart", "sourcePodNamespace": "shop", "sourceNodeName": "node-1",
	"destinationPodName": "", "destinationPodNamespace": "", "destinationNodeName": "",
	"ingressNetworkPolicyName": "", "ingressNetworkPolicyNamespace": "", "ingressNetworkPolicyUID": "", "ingressNetworkPolicyType": uint8(0),
	"ingressNetworkPolicyRuleName": "", "ingressNetworkPolicyRuleAction": uint8(0),
	"egressNetworkPolicyName": "to-db", "egressNetworkPolicyNamespace": "shop", "egressNetworkPolicyUID": "u-1", "egressNetworkPolicyType": uint8(1),
	"egressNetworkPolicyRuleName": "", "egressNetworkPolicyRuleAction": uint8(1),
	"tcpState": "ESTABLISHED", "flowType": uint8(2),
	"egressName": "shop", "egressIP": "192.0.2.9", "egressNodeName": "node-2", "appProtocolName": "", "httpVals": "",
}

func TestRecords(t *testing.T) {
	for _, protocol := range []string{TCP, UDP} {
		t.Run(protocol, func(t *testing.T) {
			s, _ := listen(t, protocol, "127.0.0.1:0")
			session := dial(t, s, protocol, time.Hour)
			s.templates(t)
			sent, err := session.Send([]*flows.Record{record(false, 1), record(true, 2), record(true, 3)})
			require.NoError(t, err)
			require.Equal(t, 3, sent)
			got := s.records(t, 3)
			require.Equal(t, want, got[0])
			for i, r := range got[1:] {
				require.Equal(t, net.ParseIP("fd00:1::2"), r["sourceIPv6Address"])
				require.Equal(t, net.ParseIP("fd00:2::2"), r["destinationIPv6Address"])
				require.Equal(t, net.IPv6unspecified, r["destinationClusterIPv6"], "no Service")
				require.Equal(t, uint16(0), r["destinationServicePort"])
				require.Equal(t, uint64(i+2), r["packetDeltaCount"])
			}
		})
	}
}

// Messages over UDP are as long as every path carries, unless one record is longer. No text makes a record longer than a message can be.
func TestMessages(t *testing.T) {
	s, _ := listen(t, UDP, "127.0.0.1:0")
	session := dial(t, s, UDP, time.Hour)
	s.templates(t)
	var records []*flows.Record
	for i := range 50 {
		records = append(records, record(false, uint64(i)))
	}
	records[20].Source.Name, records[20].Ingress.Name = strings.Repeat("a", 1000), strings.Repeat("b", 1000)
	records[30].Egress.Rule = strings.Repeat("r", 1<<17) // A user chooses it.
	go func() { _, _ = session.Send(records) }()
	next, messages := uint64(0), 0
	for next < uint64(len(records)) {
		m := s.next(t)
		require.Equal(t, ObservationDomain("node-1"), m.GetObsDomainID())
		require.EqualValues(t, next, m.GetSequenceNum(), "the records before")
		inMessage := m.GetSet().GetRecords()
		require.True(t, m.GetMessageLen() <= udpMessage || len(inMessage) == 1, "a message of %d bytes with %d records", m.GetMessageLen(), len(inMessage))
		for _, r := range inMessage {
			require.Equal(t, next, r.GetElementMap()["packetDeltaCount"])
			if next == 30 {
				require.Equal(t, strings.Repeat("r", maxText), r.GetElementMap()["egressNetworkPolicyRuleName"])
			}
			next++
		}
		messages++
	}
	require.Less(t, messages, 25, "messages have several records")
}

// A collector over UDP forgets templates, and begins without any.
func TestTemplatesAreSentAgain(t *testing.T) {
	s, stop := listen(t, UDP, "127.0.0.1:0")
	session := dial(t, s, UDP, time.Nanosecond)
	s.templates(t)
	stop()
	another, _ := listen(t, UDP, s.address)
	var err error
	for range 3 { // the kernel may report that there was no collector
		if _, err = session.Send([]*flows.Record{record(false, 1)}); err == nil {
			break
		}
	}
	require.NoError(t, err)
	another.templates(t)
	require.Equal(t, want, another.records(t, 1)[0])
}

// A collector over TCP that is gone is noticed without traffic, and a new session has its own templates.
func TestCollectorRestarts(t *testing.T) {
	s, stop := listen(t, TCP, "127.0.0.1:0")
	session := dial(t, s, TCP, 0)
	s.templates(t)
	stop()
	require.Eventually(t, func() bool {
		_, err := session.Send([]*flows.Record{record(false, 1)})
		return err != nil
	}, patience, 100*time.Millisecond, "the end of the connection is noticed")
	_, err := Dial(t.Context(), Options{Address: s.address, Protocol: TCP})
	require.ErrorContains(t, err, "connect to the flow collector "+s.address+" over tcp: ")
	again, _ := listen(t, TCP, s.address)
	session = dial(t, again, TCP, 0)
	again.templates(t)
	_, err = session.Send([]*flows.Record{record(false, 1)})
	require.NoError(t, err)
	require.Equal(t, want, again.records(t, 1)[0])
}

func TestDialRefuses(t *testing.T) {
	_, err := Dial(t.Context(), Options{Address: "127.0.0.1:1", Protocol: TLS})
	require.ErrorContains(t, err, "TLS without credentials")
	_, err = Dial(t.Context(), Options{Address: "127.0.0.1:1", Protocol: "sctp"})
	require.ErrorContains(t, err, "sctp")
	_, err = Dial(t.Context(), Options{Address: "127.0.0.1:1", Protocol: TLS, Credentials: &Credentials{CA: []byte("no PEM")}})
	require.ErrorContains(t, err, "its CA has no certificate")
}

// Names and numbers match the registry; no element is there twice.
func TestElements(t *testing.T) {
	for _, version := range []string{"v4", "v6"} {
		seen := map[string]bool{}
		template, err := newTemplate(256, append(append([]element{}, common...), addresses(version)...))
		require.NoError(t, err)
		for _, e := range template.elements {
			require.False(t, seen[e.name], e.name)
			seen[e.name] = true
		}
		require.Len(t, template.library, 44)
	}
	_, err := newTemplate(256, []element{{"noSuchElement", antrea, nil}})
	require.ErrorContains(t, err, fmt.Sprintf("information element noSuchElement of enterprise %d", antrea))
}
