// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// policyMessage is the kernel's message about an IPsec policy.
func policyMessage(family uint16, bits uint8, attributes ...*nl.RtAttr) []byte {
	info := nl.XfrmUserpolicyInfo{Sel: nl.XfrmSelector{Family: family, PrefixlenS: bits, PrefixlenD: bits}}
	message := info.Serialize()
	for _, a := range attributes {
		message = append(message, a.Serialize()...)
	}
	return message
}

func TestIPsecPolicyWithShortAttributes(t *testing.T) {
	for typ, want := range map[int]string{
		nl.XFRMA_MARK:        "the mark of the IPsec policy src 0.0.0.0/24 dst 0.0.0.0/24 dir in priority 0 has 2 bytes, want 8",
		nl.XFRMA_POLICY_TYPE: "the type of the IPsec policy src 0.0.0.0/24 dst 0.0.0.0/24 dir in priority 0 has no bytes, want at least 1",
		nl.XFRMA_IF_ID:       "the interface id of the IPsec policy src 0.0.0.0/24 dst 0.0.0.0/24 dir in priority 0: attribute 31 has a value of 2 bytes; want 4",
	} {
		t.Run(fmt.Sprint(typ), func(t *testing.T) {
			value := []byte{0, 1}
			if typ == nl.XFRMA_POLICY_TYPE {
				value = nil
			}
			_, err := parseIPsecPolicy(policyMessage(unix.AF_INET, 24, nl.NewRtAttr(typ, value)))
			require.EqualError(t, err, want)
		})
	}
}

// FuzzIPsecPolicy feeds arbitrary messages to the parser of IPsec policies. It must not overlook that a policy is there: a message is an
// error or a policy with prefixes.
func FuzzIPsecPolicy(f *testing.F) {
	f.Add(policyMessage(unix.AF_INET, 24))
	f.Add(policyMessage(unix.AF_INET6, 64, nl.NewRtAttr(nl.XFRMA_TMPL, make([]byte, 64)), nl.NewRtAttr(nl.XFRMA_MARK, make([]byte, 8)),
		nl.NewRtAttr(nl.XFRMA_POLICY_TYPE, []byte{1, 0, 0, 0, 0, 0}), nl.NewRtAttr(nl.XFRMA_IF_ID, []byte{1, 0, 0, 0})))
	packets := tunnel()
	f.Fuzz(func(t *testing.T, message []byte) {
		var p ipsecPolicy
		var err error
		appetite.Bounded(t, len(message), 64, func() { p, err = parseIPsecPolicy(message) })
		if err != nil {
			return
		}
		require.True(t, p.src.IsValid() && p.dst.IsValid(), "%s", &p)
		require.Equal(t, p.src.Addr().BitLen(), p.dst.Addr().BitLen())
		_ = packets.coveredBy([]ipsecPolicy{p})
	})
}

// FuzzPacketSockets feeds arbitrary text to the parser of /proc/net/packet. Lines that it understands are understood again.
func FuzzPacketSockets(f *testing.F) {
	const names = "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n"
	f.Add(names)
	f.Add(names + "ffff8880 3      3    0003   2     1 0      0      17\nffff8881 3      2    88cc   3     1 0      0      18\n")
	f.Add(names + "x")
	f.Fuzz(func(t *testing.T, text string) {
		var found map[int]bool
		var err error
		appetite.Bounded(t, len(text), 64, func() { found, err = parsePacketSockets(strings.NewReader(text)) })
		if err != nil {
			return
		}
		again := names
		for ifIndex := range found {
			again += fmt.Sprintf("ffff 3 3 0003 %d 1 0 0 17\n", ifIndex)
		}
		parsed, err := parsePacketSockets(strings.NewReader(again))
		require.NoError(t, err)
		require.Equal(t, found, parsed)
	})
}
