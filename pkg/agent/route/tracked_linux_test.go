// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// tracked returns the connections of the host, as "SOURCE > DESTINATION".
func tracked(t *testing.T) (found []string) {
	t.Helper()
	require.NoError(t, conntrack.List([]uint16{conntrack.HostZone}, func(c *conntrack.Connection) bool {
		found = append(found, fmt.Sprintf("%v > %v", c.Original.Source, c.Original.Destination))
		return true
	}))
	slices.Sort(found)
	return found
}

// TestForgetTracked: connections with Pods that have come behind the tunnel are forgotten, at the start and when a peer moves; the host's own, connections
// with other Pods or the world, and those that it translates stay.
func TestForgetTracked(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	table, err := conntrack.OpenTable()
	require.NoError(t, err)
	defer table.Close()
	port := uint16(1000)
	track := func(connections ...string) {
		for _, c := range connections {
			source, destination, _ := strings.Cut(c, " > ")
			port++
			require.NoError(t, table.Create(conntrack.Entry{
				Original: conntrack.Tuple{Source: netip.MustParseAddr(source), Destination: netip.MustParseAddr(destination), Protocol: unix.IPPROTO_TCP, SourcePort: port, DestinationPort: 80},
				State:    conntrack.StateEstablished, Timeout: time.Hour,
			}))
		}
	}
	pod6, peer6 := localCIDR6.Addr().Next().Next().String(), peerCIDR6.Addr().Next().Next().String()
	stay := []string{"10.10.0.1 > 10.10.1.5", "10.10.0.5 > 10.10.0.6", "10.10.0.5 > 10.10.2.5", "10.10.0.5 > 203.0.113.9", "10.10.1.5 > 10.10.2.5", "192.168.77.12 > 10.10.0.5"}
	gone := []string{"10.10.0.5 > 10.10.1.5", "10.10.1.5 > 10.10.0.5", pod6 + " > " + peer6, peer6 + " > " + pod6}
	track(append(slices.Clone(stay), gone...)...)
	run(t, "conntrack", "-I", "-s", "10.10.1.5", "-d", "192.168.77.11", "-p", "tcp", "--sport", "999", "--dport", "80", "--state", "ESTABLISHED", "--timeout", "3600", "--dst-nat", "10.10.0.5")
	stay = append(stay, "10.10.1.5 > 192.168.77.11")
	slices.Sort(stay)

	c := newTestClient6(t, true)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	require.NoError(t, c.AddRoutes(peerCIDR6, "node2", byTunnel, peerGateway6))
	require.NoError(t, c.AddRoutes(otherCIDR, "node3", directTo("192.168.77.13"), otherGW))
	require.NoError(t, c.Reconcile([]netip.Prefix{peerCIDR, peerCIDR6, otherCIDR}))
	require.Equal(t, stay, tracked(t))

	require.NoError(t, c.AddRoutes(otherCIDR, "node3", byTunnel, otherGW))
	stay = slices.DeleteFunc(stay, func(c string) bool { return c == "10.10.0.5 > 10.10.2.5" })
	require.Equal(t, stay, tracked(t), "another Node has moved")
	track(gone...)
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	require.Len(t, tracked(t), len(stay)+len(gone), "nothing has changed")
}
