// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchpair

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

func TestParseConnection(t *testing.T) {
	a, service, b := netip.MustParseAddr("10.10.1.11"), netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("10.10.2.12")
	for line, want := range map[string]*conntrack.Connection{
		"udp,orig=(src=10.10.1.11,dst=10.96.0.10,sport=1000,dport=53),reply=(src=10.10.2.12,dst=10.10.1.11,sport=5353,dport=1000),zone=65520,mark=19\n": {
			Original: conntrack.Tuple{Source: a, Destination: service, Protocol: unix.IPPROTO_UDP, SourcePort: 1000, DestinationPort: 53},
			Reply:    conntrack.Tuple{Source: b, Destination: a, Protocol: unix.IPPROTO_UDP, SourcePort: 5353, DestinationPort: 1000}, Zone: 65520, Mark: 19,
		},
		"tcp,orig=(src=10.10.1.11,dst=10.10.2.12,sport=1,dport=2),reply=(src=10.10.2.12,dst=10.10.1.11,sport=2,dport=1),zone=65520,mark=0x103,labels=0x2,protoinfo=(state=ESTABLISHED)\n": {
			Original: conntrack.Tuple{Source: a, Destination: b, Protocol: unix.IPPROTO_TCP, SourcePort: 1, DestinationPort: 2},
			Reply:    conntrack.Tuple{Source: b, Destination: a, Protocol: unix.IPPROTO_TCP, SourcePort: 2, DestinationPort: 1}, Zone: 65520, Mark: 0x103,
		},
		"icmp,orig=(src=10.10.1.11,dst=10.10.2.12,id=7,type=8,code=0),reply=(src=10.10.2.12,dst=10.10.1.11,id=7,type=0,code=0),zone=65520\n": nil,
		"sctp,orig=(src=10.10.1.11,dst=10.10.2.12,sport=1,dport=2),reply=(src=10.10.2.12,dst=10.10.1.11,sport=2,dport=1),zone=65520\n":       nil,
	} {
		c, err := parseConnection(line)
		require.NoError(t, err)
		require.Equal(t, want, c, line)
	}
	for _, wrong := range []string{"udp,orig=(something else)", "udp,orig=(src=x),reply=(src=10.0.0.1)", "tcp,orig=(src=10.0.0.1,sport=99999),reply=(src=10.0.0.1)"} {
		_, err := parseConnection(wrong)
		require.Error(t, err, wrong)
	}
}
