// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneldp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// The library panics at a name without the zero at its end.
func TestNameWithoutZero(t *testing.T) {
	answer := append(make([]byte, nl.SizeofGenlmsg+ovsHeaderLength), nl.NewRtAttr(vportAttributeName, []byte("eth0")).Serialize()...)
	name, err := portName(answer)
	require.NoError(t, err)
	require.Equal(t, "eth0", name)
}

// FuzzPortName feeds arbitrary answers to the parser of the datapath's ports.
func FuzzPortName(f *testing.F) {
	answer := func(attributes ...*nl.RtAttr) []byte {
		b := make([]byte, nl.SizeofGenlmsg+ovsHeaderLength)
		for _, a := range attributes {
			b = append(b, a.Serialize()...)
		}
		return b
	}
	f.Add(answer())
	f.Add(answer(nl.NewRtAttr(1, make([]byte, 4)), nl.NewRtAttr(vportAttributeName, nl.ZeroTerminated("antrea-gw0"))))
	f.Add(answer(nl.NewRtAttr(vportAttributeName, []byte("no zero"))))
	f.Fuzz(func(t *testing.T, message []byte) {
		var name string
		var err error
		appetite.Bounded(t, len(message), 64, func() { name, err = portName(message) })
		if err != nil {
			require.ErrorContains(t, err, Name)
			return
		}
		require.Contains(t, string(message), name)
		require.False(t, strings.ContainsRune(name, 0), "%q", name)
		again, err := portName(answer(nl.NewRtAttr(vportAttributeName, nl.ZeroTerminated(name))))
		require.NoError(t, err)
		require.Equal(t, name, again)
	})
}
