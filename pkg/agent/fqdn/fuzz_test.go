// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// FuzzAnswer reads any message, alone and as the segments of a stream.
func FuzzAnswer(f *testing.F) {
	good := message(f, "a.b.", dnsmessage.TypeA, record{"10.0.0.1", 5}, record{"fd00::1", 5})
	f.Add(good)
	f.Add(good[:30])
	f.Add(bindings(f, "a.b.", dnsmessage.TypeHTTPS, []byte{10, 0, 0, 1}))
	f.Add([]byte("\x00\x00\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, m []byte) {
		var a answer
		var err error
		appetite.Bounded(t, len(m), 64, func() { a, err = parseAnswer(m) })
		require.LessOrEqual(t, len(a.addresses), maxAddresses+1)
		if err != nil || len(m) == 0 || len(m) > 65535 {
			return
		}
		st := &stream{early: map[uint32][]byte{}}
		data := withLength(m)
		var messages [][]byte
		// The second half comes first.
		for _, part := range [][2]int{{len(data) / 2, len(data)}, {0, len(data) / 2}} {
			got, err := st.enter(uint32(part[0]), data[part[0]:part[1]])
			require.NoError(t, err)
			messages = append(messages, got...)
		}
		require.Equal(t, [][]byte{m}, messages)
	})
}
