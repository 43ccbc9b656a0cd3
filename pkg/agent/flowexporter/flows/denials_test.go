// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

func denialFrom(port uint16) Denial {
	return Denial{
		Sent: conntrack.Tuple{Protocol: 6, Source: netip.MustParseAddr("10.0.1.2"), SourcePort: port, Destination: netip.MustParseAddr("10.0.1.3"), DestinationPort: 80},
		Rule: 7, Action: 3,
	}
}

// Each packet is in one record: the first one at once, later ones after the active timeout, and then the connection is forgotten.
func TestDenials(t *testing.T) {
	d, now, described := NewDenials(Timeouts{Active: 60 * time.Second, Idle: 15 * time.Second}), time.Unix(1000, 0), 0
	due := func() []*Record {
		return d.Due(now, func(denial Denial) Info {
			described++
			return Info{FlowType: 1, Egress: Policy{Name: "p", Action: denial.Action}}
		})
	}
	d.Add(denialFrom(1), 60, now)
	d.Add(denialFrom(1), 60, now)
	records := due()
	require.Len(t, records, 1)
	r := *records[0]
	require.Equal(t, []any{ReasonActive, Count{Packets: 2, Bytes: 120}, Count{}, "10.0.1.2:1", "10.0.1.3:80", uint8(3)},
		[]any{r.Reason, r.Delta[0], r.Delta[1], r.Client.String(), r.Server.String(), r.Egress.Action})
	require.Len(t, due(), 1, "it stays due until it is sent")
	d.Sent(records, now)
	require.Empty(t, due())

	for range 59 {
		now = now.Add(time.Second)
		d.Add(denialFrom(1), 60, now)
		require.Empty(t, due(), "the active timeout")
	}
	now = now.Add(time.Second)
	records = due()
	require.Len(t, records, 1)
	require.Equal(t, []any{Count{Packets: 59, Bytes: 59 * 60}, Count{Packets: 61, Bytes: 61 * 60}}, []any{records[0].Delta[0], records[0].Total[0]})
	d.Sent(records, now)

	d.Add(denialFrom(1), 60, now)
	now = now.Add(15 * time.Second)
	records = due()
	require.Len(t, records, 1)
	require.Equal(t, ReasonIdle, records[0].Reason)
	d.Sent(records, now)
	require.Equal(t, 1, d.Len())
	require.Empty(t, due())
	require.Zero(t, d.Len())
	require.Equal(t, 1, described)
}

func TestDenialsAreBounded(t *testing.T) {
	d, now := NewDenials(Timeouts{Active: time.Minute, Idle: time.Second}), time.Unix(1000, 0)
	for port := range maxDenials + 10 {
		d.Add(denialFrom(uint16(port)), 60, now)
	}
	require.Equal(t, []int{maxDenials, 10}, []int{d.Len(), d.Lost()})
	now = now.Add(time.Second)
	d.Sent(d.Due(now, func(Denial) Info { return Info{} }), now)
	require.Empty(t, d.Due(now, nil))
	d.Add(denialFrom(1), 60, now)
	require.Equal(t, 1, d.Len())
}
