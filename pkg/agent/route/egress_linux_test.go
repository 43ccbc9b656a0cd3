// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// TestEgressMarks: a mark has its source before the rules that masquerade, a new agent keeps what it finds until it knows better, other Nodes may
// send to the addresses, marks without a source are dropped, and without the feature all is gone.
func TestEgressMarks(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			require.NoError(t, newTestClient(t, Options{}).Initialize())
			without := savedRules(t)

			c := newTestClient(t, Options{Egress: true, EgressRandomFully: true})
			require.NoError(t, c.Initialize())
			require.Empty(t, c.FormerEgressMarks())
			marks := map[uint8]config.EgressMark{1: {Addr: netip.MustParseAddr("192.168.77.200")}, 254: {Addr: netip.MustParseAddr("192.168.77.201")}}
			setMarks(t, c, marks)
			once := savedRules(t)
			text := strings.Join(once, "\n")
			for _, want := range []string{
				`! -o antrea-gw0 -m comment --comment "Antrea: SNAT Pod to external packets" -m mark --mark 0x1/0xff -j SNAT --to-source 192.168.77.200 --random-fully`,
				"--mark 0xfe/0xff -j SNAT --to-source 192.168.77.201", "-i antrea-gw0 -m mark ! --mark 0x0/0xff -j ANTREA-FORWARD",
				`-m comment --comment "Antrea: drop packets without the source of their Egress" -m mark ! --mark 0x0/0xff -j DROP`,
			} {
				require.Contains(t, text, want)
			}
			require.Less(t, strings.Index(text, "SNAT Pod to external"), strings.Index(text, "masquerade Pod to external"))
			setMarks(t, c, marks)
			require.NoError(t, c.sync(t.Context()))
			require.Equal(t, once, savedRules(t), "setting and syncing again change nothing")
			require.True(t, c.stacks[0].nodes.known()[netip.MustParsePrefix("192.168.77.200/32")])

			next := newTestClient(t, Options{Egress: true, EgressRandomFully: true})
			require.NoError(t, next.Initialize())
			require.Equal(t, once, savedRules(t), "a new agent keeps them")
			require.Equal(t, marks, next.FormerEgressMarks())
			require.True(t, next.stacks[0].nodes.known()[netip.MustParsePrefix("192.168.77.201/32")])
			delete(marks, 1)
			setMarks(t, next, marks)
			require.NotContains(t, strings.Join(savedRules(t), "\n"), "192.168.77.200")
			require.False(t, next.stacks[0].nodes.known()[netip.MustParsePrefix("192.168.77.200/32")])

			for mark := range 254 {
				marks[uint8(mark+1)] = config.EgressMark{Addr: netip.AddrFrom4([4]byte{192, 168, 78, byte(mark)})}
			}
			setMarks(t, next, marks)
			full := savedRules(t)
			require.Equal(t, 254, strings.Count(strings.Join(full, "\n"), "-j SNAT --to-source 192.168.78."))
			require.NoError(t, next.sync(t.Context()))
			require.Equal(t, full, savedRules(t))
			setMarks(t, next, map[uint8]config.EgressMark{7: marks[7]})
			require.Equal(t, 1, strings.Count(strings.Join(savedRules(t), "\n"), "-j SNAT --to-source"))

			_, err := next.SetEgressMarks(t.Context(), map[uint8]config.EgressMark{255: {Addr: netip.MustParseAddr("192.168.77.200")}})
			require.ErrorContains(t, err, "must be 1 to 254")
			off := newTestClient(t, Options{})
			require.NoError(t, off.Initialize())
			require.Equal(t, without, savedRules(t))
			_, err = off.SetEgressMarks(t.Context(), marks)
			require.ErrorContains(t, err, "feature gate Egress")
		})
	}
}

func setMarks(t *testing.T, c *Client, marks map[uint8]config.EgressMark) {
	t.Helper()
	unreached, err := c.SetEgressMarks(t.Context(), marks)
	require.NoError(t, err)
	require.Empty(t, unreached)
}
