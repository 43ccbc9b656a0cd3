// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

func podRouteOf(cidr, gateway string) podRoute {
	return podRoute{cidr: netip.MustParsePrefix(cidr), gateway: netip.MustParseAddr(gateway)}
}

func TestMissingRoutes(t *testing.T) {
	a, b := podRouteOf("10.10.1.0/24", "10.10.1.1"), podRouteOf("10.10.2.0/24", "10.10.2.1")
	own := netlink.Route{Protocol: config.RouteProtocol}
	otherGateway := gatewayRoute{podRoute: podRouteOf("10.10.2.0/24", "10.10.2.9"), onlink: true, raw: own}
	for name, tc := range map[string]struct {
		have []gatewayRoute
		want []podRoute
	}{
		"nothing there":     {want: []podRoute{a, b}},
		"all there":         {have: []gatewayRoute{{podRoute: b, onlink: true, raw: own}, {podRoute: a, onlink: true, raw: own}}},
		"other gateway":     {have: []gatewayRoute{{podRoute: a, onlink: true, raw: own}, otherGateway}, want: []podRoute{b}},
		"not onlink":        {have: []gatewayRoute{{podRoute: a, raw: own}, {podRoute: b, onlink: true, raw: own}}, want: []podRoute{a}},
		"there once wrong":  {have: []gatewayRoute{{podRoute: a, onlink: true, raw: own}, {podRoute: b, onlink: true, raw: own}, {podRoute: b, raw: own}}},
		"of a former agent": {have: []gatewayRoute{{podRoute: a, onlink: true, raw: own}, {podRoute: b, onlink: true}}, want: []podRoute{b}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, missingRoutes([]podRoute{a, b}, tc.have))
		})
	}
}

func TestUnknownRoutes(t *testing.T) {
	known := gatewayRoute{podRoute: podRouteOf("10.10.1.0/24", "10.10.1.1")}
	unknown := gatewayRoute{podRoute: podRouteOf("10.10.2.0/24", "10.10.2.1")}
	longer := gatewayRoute{podRoute: podRouteOf("10.10.1.0/25", "10.10.1.1")}
	connected := gatewayRoute{podRoute: podRoute{cidr: netip.MustParsePrefix("10.9.0.0/24")}, raw: netlink.Route{Protocol: unix.RTPROT_KERNEL}}
	got := unknownRoutes([]gatewayRoute{known, unknown, connected, longer}, map[netip.Prefix]bool{known.cidr: true})
	var cidrs []string
	for _, g := range got {
		cidrs = append(cidrs, g.cidr.String())
	}
	require.Empty(t, cmp.Diff([]string{"10.10.2.0/24", "10.10.1.0/25"}, cidrs))
}

func TestPrefixConversion(t *testing.T) {
	for _, text := range []string{"10.10.1.0/24", "0.0.0.0/0", "10.1.2.3/32", "fd00:10::/64"} {
		prefix := netip.MustParsePrefix(text)
		require.Equal(t, prefix, fromIPNet(toIPNet(prefix)))
	}
	require.Equal(t, netip.MustParsePrefix("10.0.0.0/8"), fromIPNet(&net.IPNet{IP: net.IPv4(10, 0, 0, 0), Mask: net.CIDRMask(8, 32)}), "16-byte form")
	require.False(t, fromIPNet(&net.IPNet{IP: net.IPv4(10, 0, 0, 0), Mask: net.IPMask{255, 0, 255, 0}}).IsValid())
}

func TestExplainIPSet(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"set type module missing": {nl.IPSetError(nl.IPSET_ERR_FIND_TYPE), "ip_set_hash_net"},
		"ip_set missing":          {unix.EINVAL, "module ip_set)"},
		"nfnetlink missing":       {unix.EPROTONOSUPPORT, "nfnetlink"},
		"not privileged":          {unix.EPERM, "CAP_NET_ADMIN"},
		"anything else":           {unix.ENOMEM, "cannot allocate memory"},
	} {
		t.Run(name, func(t *testing.T) {
			err := explainIPSet(tc.err)
			require.ErrorIs(t, err, tc.err)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestIPSetCallSurvivesFailuresWithoutErrno(t *testing.T) {
	var failure error = os.NewSyscallError("socket", unix.EMFILE)
	err := ipsetCall(func() error { return fmt.Errorf("errno %w", failure.(unix.Errno)) })
	require.ErrorContains(t, err, "without an error number")
	require.Panics(t, func() { _ = ipsetCall(func() error { panic(errors.New("other")) }) })
}
