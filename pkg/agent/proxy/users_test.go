// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// users have a UDP connection to each Endpoint of each frontend that they ever saw, until it is ended.
type users struct {
	config      Config
	bench       *bench
	connections *fakeConnections
	cleaner     *cleaner
	open        map[use]*conntrack.Connection
}

type use struct{ frontend, endpoint netip.AddrPort }

func newUsers(b *bench, config Config) *users {
	u := &users{config: config, bench: b, connections: &fakeConnections{}, open: map[use]*conntrack.Connection{}}
	u.cleaner = newCleaner(u.connections, u.connections, b.state.allowance)
	u.cleaner.host = config.ProxyAll
	b.settled = u.cleaner.after
	// The cleaner may look at any moment.
	b.after = func() {
		u.cleaner.everything()
		require.NoError(b.t, u.cleaner.clean(b.t.Context()))
	}
	return u
}

// check ends connections, and compares those that are left with what the documentation says. Then the users open those that are
// possible.
func (u *users) check(t *testing.T, w *world) {
	t.Helper()
	if !u.config.EndUDP {
		return
	}
	require.NoError(t, u.cleaner.clean(t.Context()))
	left := map[*conntrack.Connection]bool{}
	for _, c := range u.connections.table {
		left[c] = true
	}
	possible := w.uses(u.config)
	for to, c := range u.open {
		require.Equal(t, possible[to], left[c], "a connection to %v by %v", to.endpoint, to.frontend)
		if !left[c] {
			delete(u.open, to)
		}
	}
	for _, p := range u.bench.flows.ports {
		if p.Protocol != corev1.ProtocolUDP {
			continue
		}
		for _, f := range p.Frontends {
			for _, list := range [][]openflow.Endpoint{p.Cluster, p.Local} {
				for _, e := range list {
					u.connect(use{f.Address, e.Address})
				}
			}
		}
	}
}

func (u *users) connect(to use) {
	if u.open[to] != nil {
		return
	}
	zone := openflow.ConntrackZoneIPv4
	if to.frontend.Addr().Is6() {
		zone = openflow.ConntrackZoneIPv6
	}
	frontend := to.frontend
	if frontend.Addr().IsUnspecified() { // a NodePort: the host has translated it before
		frontend = netip.AddrPortFrom(virtualNodePorts[familyOf(frontend.Addr())], frontend.Port())
	}
	u.open[to] = connection(zone, unix.IPPROTO_UDP, frontend.String(), to.endpoint.String(), serviceMark)
	u.connections.table = append(u.connections.table, u.open[to])
}

// uses are the UDP connections that can be open: to all Endpoints that are used or at least serve.
func (w *world) uses(config Config) map[use]bool {
	possible := map[use]bool{}
	ports := w.expected(config)
	for _, s := range w.services {
		if !w.isHandled(s, config) {
			continue
		}
		for _, p := range w.validPorts(s) {
			for _, f := range w.wishes(s, p, config) {
				if p.Protocol != corev1.ProtocolUDP || w.winner(f.Address, p.Protocol, config) != s {
					continue
				}
				for _, b := range w.endpointsOf(s, p, f.Address.Addr().Is6(), config) {
					if b.serving {
						possible[use{f.Address, b.address}] = true
					}
				}
			}
		}
	}
	for _, port := range ports {
		for _, f := range port.Frontends {
			for _, list := range [][]openflow.Endpoint{port.Cluster, port.Local} {
				for _, e := range list {
					possible[use{f.Address, e.Address}] = possible[use{f.Address, e.Address}] || port.Protocol == corev1.ProtocolUDP
				}
			}
		}
	}
	return possible
}
