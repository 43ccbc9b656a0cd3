// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// maxDenials is the number of connections in Denials. Each Pod has a share of the packets that are added, so only many Pods reach it.
const maxDenials = 1 << 13

// Denial is a packet that policies of one direction have denied.
type Denial struct {
	Sent conntrack.Tuple
	// Ingress is set for the direction to the Pod that the policies are applied to. Rule is the flow id of the rule that denies, 0 for
	// isolation by all policies together, and Name the name of this rule. Action is a value of the element ingressNetworkPolicyRuleAction.
	Ingress bool
	Rule    uint32
	Name    string
	Action  uint8
}

// Denials are connections that policies deny. Only the packets that open them are counted: there are no others.
type Denials struct {
	timeouts Timeouts
	denied   map[Denial]*denied
	lost     int
}

// denied is the state of a connection. exported is the part of total that is in records.
type denied struct {
	total, exported   Count
	first, last, sent time.Time
	info              *Info
}

// NewDenials returns no connections. The timeouts are the same as for connections that are allowed.
func NewDenials(timeouts Timeouts) *Denials {
	return &Denials{timeouts: timeouts, denied: map[Denial]*denied{}}
}

// Len returns the number of connections.
func (d *Denials) Len() int { return len(d.denied) }

// Lost returns the number of packets for whose connections there was no room.
func (d *Denials) Lost() int { return d.lost }

// Add counts a packet, with its bytes from the IP header on.
func (d *Denials) Add(packet Denial, bytes int, now time.Time) {
	state := d.denied[packet]
	if state == nil {
		if len(d.denied) == maxDenials {
			d.lost++
			return
		}
		state = &denied{first: now}
		d.denied[packet] = state
	}
	state.total.Packets++
	state.total.Bytes += uint64(bytes)
	state.last = now
}

// Due returns the records that are due: the first one of a connection at once, another one after the active timeout if there were more packets.
// Connections without packets for the idle timeout are forgotten when all packets are in records. describe is called once for each connection.
func (d *Denials) Due(now time.Time, describe func(Denial) Info) []*Record {
	var records []*Record
	for packet, state := range d.denied {
		fresh, idle := state.total != state.exported, now.Sub(state.last) >= d.timeouts.Idle
		if !fresh && idle {
			delete(d.denied, packet)
		}
		if !fresh || !state.sent.IsZero() && !idle && now.Sub(state.sent) < d.timeouts.Active {
			continue
		}
		if state.info == nil {
			info := describe(packet)
			state.info = &info
		}
		records = append(records, state.record(packet, idle))
	}
	slices.SortFunc(records, func(a, b *Record) int {
		return cmp.Or(a.Start.Compare(b.Start), a.Client.Compare(b.Client), a.Server.Compare(b.Server))
	})
	return records
}

func (s *denied) record(packet Denial, idle bool) *Record {
	server := netip.AddrPortFrom(packet.Sent.Destination, packet.Sent.DestinationPort)
	r := &Record{
		Info: *s.info, Protocol: packet.Sent.Protocol, Client: netip.AddrPortFrom(packet.Sent.Source, packet.Sent.SourcePort), Dialed: server, Server: server,
		Start: s.first, End: s.last, Reason: ReasonActive, Total: Counts{s.total}, Delta: Counts{since(s.total, s.exported)}, denied: s,
	}
	if idle {
		r.Reason = ReasonIdle
	}
	return r
}

// Sent notes that records have been sent.
func (*Denials) Sent(records []*Record, now time.Time) {
	for _, r := range records {
		r.denied.exported, r.denied.sent = r.Total[0], now
	}
}
