// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The bound of all ports follows the number of ports, and what was learned stays.
func TestAffinityLimitIsShared(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	limits := func() map[uint32]int {
		found := map[uint32]int{}
		for _, f := range fake.Flows() {
			for _, a := range f.Actions {
				if learn, is := a.(of.Learn); is {
					found[learn.Limit]++
				}
			}
		}
		return found
	}
	for i := range 5 {
		require.NoError(t, c.InstallService(manyServices(i, localEndpoint)))
	}
	require.Equal(t, map[uint32]int{4096: 5}, limits())
	for i := range 3 {
		require.NoError(t, c.UninstallService(manyServices(i).Name))
	}
	require.Equal(t, map[uint32]int{8192: 2}, limits())
	for _, mods := range fake.History() {
		for _, m := range mods {
			require.False(t, m.Command == of.DeleteByCookie && m.CookieMask == ^uint64(0), "affinities are deleted")
		}
	}
}

// The cost of a change does not depend on how many other ports have lost Endpoints.
func TestCostOfLostAffinities(t *testing.T) {
	cost := func(services int) float64 {
		sw := &acceptingSwitch{Fake: of.NewFake()}
		c := NewClient(sw, noTableNames, defaultFeatures)
		_, err := c.Initialize(t.Context(), RoundInfo{RoundNum: testRound}, testNode, testNetwork)
		require.NoError(t, err)
		version := func(i, version int) ServicePort {
			return manyServices(i, Endpoint{Address: netip.AddrPortFrom(nthPeer(1<<20+i+version*100_000), 8080), PodNetwork: true})
		}
		for v := range 2 {
			for i := range services {
				require.NoError(t, c.InstallService(version(i, v)))
			}
		}
		require.Equal(t, services, lostEndpoints(c))
		return testing.AllocsPerRun(10, planChange(c, version(1, 2)))
	}
	require.Equal(t, cost(20), cost(5000), "allocations of a change")
}

// What does not hold any more is not restored.
func TestAffinitiesThatNoLongerHold(t *testing.T) {
	port := with(externalLocal(), servedLocally(localEndpoint), withAffinity(time.Hour))
	for _, test := range []struct {
		name string
		now  ServicePort
		age  time.Duration
		want int
	}{
		{"nothing has changed", port, 0, 2},
		{"their time has passed", port, 61 * time.Minute, 0},
		{"another Endpoint", with(port, servedLocally(localEndpointB)), 0, 0},
		{"the Endpoint serves another list", with(port, servedLocally(localEndpointB), func(p *ServicePort) { p.Cluster = []Endpoint{localEndpoint} }), 0, 0},
		{"no Endpoint", with(port, servedLocally()), 0, 0},
		{"no affinity", with(port, withAffinity(0)), 0, 0},
		{"another protocol", with(port, over(corev1.ProtocolUDP)), 0, 0},
		{"another address", with(port, at(Frontend{Address: clusterIP})), 0, 0},
		{"only one client is admitted", with(restricted("198.51.100.2/32"), servedLocally(localEndpoint), withAffinity(time.Hour)), 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, proxyAllFeatures)
			affinities := []Affinity{
				{Protocol: of.IPProtoTCP, Client: netip.MustParseAddr("198.51.100.1"), Frontend: loadBalancerIP, Endpoint: localEndpoint.Address},
				{Protocol: of.IPProtoTCP, Client: netip.MustParseAddr("198.51.100.2"), Frontend: loadBalancerIP, Endpoint: localEndpoint.Address},
			}
			require.NoError(t, c.RestoreAffinities(affinities, time.Now().Add(-test.age)))
			require.NoError(t, c.InstallService(test.now))
			read, err := c.ReadAffinities(t.Context())
			require.NoError(t, err)
			require.Len(t, read.Affinities, test.want)
			require.Subset(t, affinities, read.Affinities)
			require.NoError(t, c.UninstallService(test.now.Name))
			require.Equal(t, test.want, affinityFlows(fake), "the switch deletes them with the flow that teaches, this one does not")
		})
	}
}

func affinityFlows(fake *of.Fake) (n int) {
	for _, f := range fake.Flows() {
		if f.IdleTimeout > 0 {
			n++
		}
	}
	return n
}

// No more are restored than the switch may learn.
func TestRestoredAffinitiesAreBounded(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	var affinities []Affinity
	for i := range maxAffinitiesOfList + 5 {
		affinities = append(affinities, Affinity{Protocol: of.IPProtoTCP, Client: nthPeer(i), Frontend: clusterIP, Endpoint: localEndpoint.Address})
	}
	require.NoError(t, c.RestoreAffinities(affinities, time.Now()))
	require.NoError(t, c.InstallService(with(clusterPort(localEndpoint), withAffinity(time.Hour))))
	require.Equal(t, maxAffinitiesOfList, affinityFlows(fake))
	require.NoError(t, c.DeleteStaleFlows())
	require.NoError(t, c.InstallService(with(clusterPort(localEndpoint), named("other"), at(Frontend{Address: loadBalancerIP}), withAffinity(time.Hour))))
	require.Equal(t, maxAffinitiesOfList, affinityFlows(fake))
}
