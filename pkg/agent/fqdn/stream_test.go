// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

var key = streamKey{1, netip.MustParseAddrPort("198.51.100.1:53"), netip.MustParseAddrPort("10.0.0.1:4000")}

func segment(seq uint32, flags byte, data ...byte) []byte {
	tcp := make([]byte, 20, 20+len(data))
	binary.BigEndian.PutUint32(tcp[4:], seq)
	tcp[12], tcp[13] = 5<<4, flags
	return append(tcp, data...)
}

// A server that sends single bytes behind a gap cannot make the agent keep very many of them: that costs memory, and time when the gap is
// filled, in which no Pod gets an answer. Full segments still have room.
func TestSegmentsBehindAGap(t *testing.T) {
	for _, size := range []int{1, 1400} {
		s := newStreams()
		st, _, err := s.segment(key, segment(99, flagSYN))
		require.NoError(t, err)
		seq, kept := uint32(101), 0
		for ; kept <= maxEarly && err == nil; kept++ { // The byte 100 is missing.
			_, _, err = s.segment(key, segment(seq, 0, make([]byte, size)...))
			seq += uint32(size)
		}
		require.ErrorContains(t, err, "behind a gap")
		require.Less(t, len(st.early), 600)
		require.GreaterOrEqual(t, len(st.early)*(size+segmentCost), maxEarly-size-segmentCost)
		_, _, again := s.segment(key, segment(100, 0, 0))
		require.Equal(t, err, again, "the stream is broken")
	}
}

// A segment behind a gap that is sent again with more data takes the place of the former one, also in what is counted.
func TestLongerSegmentBehindAGap(t *testing.T) {
	s := newStreams()
	_, _, err := s.segment(key, segment(99, flagSYN))
	require.NoError(t, err)
	for size := 1; size < 1400; size++ { // The byte 100 is missing.
		st, _, err := s.segment(key, segment(101, 0, make([]byte, size)...))
		require.NoError(t, err, size)
		require.Equal(t, size+segmentCost, st.kept)
	}
	st, _, err := s.segment(key, segment(100, 0, 0x20))
	require.NoError(t, err)
	require.Zero(t, st.kept)
	require.Empty(t, st.early)
}
