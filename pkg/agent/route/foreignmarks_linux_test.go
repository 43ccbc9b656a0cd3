// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkRules(t *testing.T) {
	const bits = 0x3fff3f00
	for _, test := range []struct {
		rule  string
		found bool
	}{
		{"-A OUTPUT -j MARK --set-xmark 0x1/0xffffffff", true},      // --set-mark 1
		{"-A OUTPUT -p udp -j MARK --set-xmark 0x100000/0x0", true}, // --or-mark
		{"-A OUTPUT -j MARK --set-xmark 0x0/0xf00000", true},        // --and-mark
		{"-A PREROUTING -j CONNMARK --restore-mark", true},          // of older programs
		{`-A X -m comment --comment "-j ACCEPT" -j MARK --set-xmark 256/256`, true},
		{`-A X -m comment --comment -j -j MARK --set-xmark 0x100/0x100`, true},
		{"-A PREROUTING -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff", true},
		{"-A PREROUTING -j CONNMARK --restore-mark --nfmask 0xff --ctmask 0xff", false},
		{"-A PREROUTING -j CONNMARK --save-mark --nfmask 0xffffffff --ctmask 0xffffffff", false},
		{"-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000", false},
		{`-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000`, false},
		{"-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0", false},
		{"-A ANTREA-OUTPUT -j MARK --set-xmark 0x1/0xffffffff", false},  // ours
		{"-A OUTPUT -m mark --mark 0x100000/0x100000 -j ACCEPT", false}, // reads it
		{"-A OUTPUT", false},
	} {
		var want []string
		if test.found {
			want = []string{"mangle " + test.rule}
		}
		require.Equal(t, want, markRules(map[string][]string{"mangle": {test.rule}, "filter": nil}, bits), test.rule)
	}
}
