// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Joined segments are one network, also if they are joined twice.
func TestJoin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	var segments []*Segment
	for _, address := range []string{"172.18.0.1/16", "172.18.1.1/16"} {
		s, err := NewSegment(netip.MustParsePrefix(address))
		require.NoError(t, err)
		defer s.Close()
		segments = append(segments, s)
	}
	var listener net.Listener
	require.NoError(t, segments[1].Thread().Do(func() (err error) {
		listener, err = net.Listen("tcp", "172.18.1.1:0")
		return err
	}))
	defer listener.Close()
	_, err := segments[0].Dial(listener.Addr().String())
	require.Error(t, err, "two networks")
	require.NoError(t, Join(segments[0].NetNS(), segments[1].NetNS()))
	require.NoError(t, Join(segments[0].NetNS(), segments[1].NetNS()))
	conn, err := segments[0].Dial(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.ErrorContains(t, Join(segments[0].NetNS(), "/nonexistent"), "opening the network segment /nonexistent")
}
