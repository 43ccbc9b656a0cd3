// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubtract(t *testing.T) {
	for _, test := range []struct {
		name, cidr string
		excepts    []string
		want       []string
	}{
		{"nothing", "10.0.0.0/8", nil, []string{"10.0.0.0/8"}},
		{"outside", "10.0.0.0/8", []string{"192.0.2.0/24"}, []string{"10.0.0.0/8"}},
		{"all", "10.0.0.0/8", []string{"10.0.0.0/8"}, nil},
		{"more than all", "10.0.0.0/8", []string{"0.0.0.0/0"}, nil},
		{"one half", "10.0.0.0/8", []string{"10.128.0.0/9"}, []string{"10.0.0.0/9"}},
		{"first address", "10.0.0.0/30", []string{"10.0.0.0/32"}, []string{"10.0.0.1/32", "10.0.0.2/31"}},
		{"last address", "10.0.0.0/30", []string{"10.0.0.3/32"}, []string{"10.0.0.0/31", "10.0.0.2/32"}},
		{"only address", "10.0.0.1/32", []string{"10.0.0.1/32"}, nil},
		{"overlapping", "10.0.0.0/29", []string{"10.0.0.0/30", "10.0.0.2/32", "10.0.0.6/31"}, []string{"10.0.0.4/31"}},
		{"IPv6", "2001:db8::/32", []string{"2001:db8:8000::/33"}, []string{"2001:db8::/33"}},
		{"other IP version", "2001:db8::/32", []string{"0.0.0.0/0"}, []string{"2001:db8::/32"}},
		{"everything but one network", "0.0.0.0/0", []string{"128.0.0.0/2"}, []string{"0.0.0.0/1", "192.0.0.0/2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var excepts []netip.Prefix
			for _, e := range test.excepts {
				excepts = append(excepts, netip.MustParsePrefix(e))
			}
			var got []string
			for _, p := range subtract(netip.MustParsePrefix(test.cidr), excepts) {
				got = append(got, p.String())
			}
			require.Equal(t, test.want, got)
		})
	}
}
