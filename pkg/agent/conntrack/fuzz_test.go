// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// connectionMessage is the kernel's message about a connection with that tuple, in zone 7.
func connectionMessage(tuple Tuple, more ...*nl.RtAttr) []byte {
	message := []byte{tuple.family(), nl.NFNETLINK_V0, 0, 0}
	for _, a := range append([]*nl.RtAttr{tuple.attribute(nl.CTA_TUPLE_ORIG), nl.NewRtAttr(nl.CTA_ZONE, nl.BEUint16Attr(7))}, more...) {
		message = append(message, a.Serialize()...)
	}
	return message
}

func someTuples() []Tuple {
	return []Tuple{
		{Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), Protocol: unix.IPPROTO_TCP, SourcePort: 4711, DestinationPort: 80},
		{Source: netip.MustParseAddr("fd00::1"), Destination: netip.MustParseAddr("fd00::2"), Protocol: unix.IPPROTO_UDP, SourcePort: 4711, DestinationPort: 53},
	}
}

// An attribute without the padding behind it ends with the message; netlink's parser would read beyond it.
func TestMessageWithoutPadding(t *testing.T) {
	message := append(connectionMessage(someTuples()[0]), 5, 0, nl.CTA_USE, 0, 1)
	c, err := parse(message, map[uint16]bool{7: true})
	require.NoError(t, err)
	require.EqualValues(t, 7, c.Zone)
}

// FuzzMessage feeds arbitrary messages to the parser of connections. Each parsed connection makes the same attribute
// again.
func FuzzMessage(f *testing.F) {
	for _, tuple := range someTuples() {
		f.Add(connectionMessage(tuple))
		f.Add(connectionMessage(tuple, tuple.attribute(nl.CTA_TUPLE_REPLY), nl.NewRtAttr(nl.CTA_MARK, nl.BEUint32Attr(5)),
			nl.NewRtAttr(nl.CTA_STATUS, nl.BEUint32Attr(statusSeenReply)), nl.NewRtAttr(nl.CTA_TIMEOUT, nl.BEUint32Attr(30)), nl.NewRtAttr(ctaID, nl.BEUint32Attr(1)),
			nested(nl.CTA_COUNTERS_ORIG, nl.NewRtAttr(nl.CTA_COUNTERS_PACKETS, nl.BEUint64Attr(3)), nl.NewRtAttr(nl.CTA_COUNTERS_BYTES, nl.BEUint64Attr(300))),
			nested(nl.CTA_TIMESTAMP, nl.NewRtAttr(nl.CTA_TIMESTAMP_START, nl.BEUint64Attr(1e18))),
			nested(nl.CTA_PROTOINFO, nested(protoInfoTCP, nl.NewRtAttr(protoInfoState, []byte{3}), nl.NewRtAttr(protoInfoFlagsOriginal, []byte{8, 8}))),
			nl.NewRtAttr(nl.CTA_LABELS, make([]byte, 16))))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var c *Connection
		var err error
		appetite.Bounded(t, len(message), 64, func() { c, err = parse(message, map[uint16]bool{0: true, 7: true}) })
		if err != nil || c == nil {
			return
		}
		_, _, _ = c.Ends()
		_ = c.ID()
		if c.TCP != nil {
			_ = c.TCP.State.String()
		}
		// A whole tuple: both addresses, of one IP version.
		if o := c.Original; o.Source.IsValid() && o.Destination.IsValid() && o.Source.BitLen() == o.Destination.BitLen() {
			again, err := parse(connectionMessage(o), map[uint16]bool{7: true})
			require.NoError(t, err)
			require.Equal(t, o, again.Original)
		}
	})
}
