// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nlattr

import (
	"encoding/binary"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

func attribute(length, typ uint16, rest ...byte) []byte {
	return append(binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, length), typ), rest...)
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes []byte
		want  []syscall.NetlinkRouteAttr
		err   string
	}{
		{name: "none"},
		{name: "two", bytes: append(attribute(5, 1, 9, 0, 0, 0), attribute(4, 2)...), want: []syscall.NetlinkRouteAttr{
			{Attr: syscall.RtAttr{Len: 5, Type: 1}, Value: []byte{9}}, {Attr: syscall.RtAttr{Len: 4, Type: 2}, Value: []byte{}},
		}},
		// On this the library panics.
		{name: "the last one without its padding", bytes: attribute(5, 1, 9), want: []syscall.NetlinkRouteAttr{{Attr: syscall.RtAttr{Len: 5, Type: 1}, Value: []byte{9}}}},
		{name: "less than a header behind it", bytes: append(attribute(4, 1), 1, 2), want: []syscall.NetlinkRouteAttr{{Attr: syscall.RtAttr{Len: 4, Type: 1}, Value: []byte{}}}},
		{name: "longer than the message", bytes: attribute(9, 7, 1, 2, 3, 4), err: "attribute 7 has a length of 9 bytes; want 4 to 8"},
		{name: "shorter than its header", bytes: attribute(0, 7), err: "attribute 7 has a length of 0 bytes; want 4 to 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.bytes)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestUint32(t *testing.T) {
	n, err := Uint32(syscall.NetlinkRouteAttr{Value: binary.NativeEndian.AppendUint32(nil, 77)})
	require.NoError(t, err)
	require.EqualValues(t, 77, n)
	_, err = Uint32(syscall.NetlinkRouteAttr{Attr: syscall.RtAttr{Type: 31}, Value: []byte{1, 2, 3}})
	require.EqualError(t, err, "attribute 31 has a value of 3 bytes; want 4")
}

// FuzzAttributes compares the parser with the library's, unless the latter panics.
func FuzzAttributes(f *testing.F) {
	f.Add(attribute(5, 1, 9))
	f.Add(append(attribute(8, 1, 1, 2, 3, 4), attribute(12, 2|unix.NLA_F_NESTED, attribute(8, 3, 0, 0, 0, 1)...)...))
	f.Fuzz(func(t *testing.T, message []byte) {
		var got []syscall.NetlinkRouteAttr
		var err error
		appetite.Bounded(t, len(message), 64, func() { got, err = Parse(message) })
		size := 0
		for _, a := range got {
			require.Len(t, a.Value, int(a.Attr.Len)-headerSize)
			size += int(a.Attr.Len)
		}
		require.LessOrEqual(t, size, len(message), "attributes do not overlap")
		if len(message)%alignment != 0 {
			return
		}
		want, wrong := nl.ParseRouteAttr(message)
		require.Equal(t, wrong == nil, err == nil, "%v, %v", wrong, err)
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i].Attr, got[i].Attr)
			require.Equal(t, []byte(want[i].Value), []byte(got[i].Value))
		}
	})
}
