// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The bound of all ports follows the number of ports, and what was learned stays.
func TestAffinityLimitIsShared(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
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
		require.NoError(t, c.InstallService(oftest.ManyServices(i, oftest.LocalEndpoint)))
	}
	require.Equal(t, map[uint32]int{4096: 5}, limits())
	for i := range 3 {
		require.NoError(t, c.UninstallService(oftest.ManyServices(i).Name))
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
		sw := &oftest.AcceptingSwitch{Fake: of.NewFake()}
		c := openflow.NewClient(sw, oftest.NoTableNames, oftest.DefaultFeatures)
		_, err := c.Initialize(t.Context(), pipeline.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
		require.NoError(t, err)
		version := func(i, version int) service.ServicePort {
			return oftest.ManyServices(i, service.Endpoint{Address: netip.AddrPortFrom(oftest.NthPeer(1<<20+i+version*100_000), 8080), PodNetwork: true})
		}
		for v := range 2 {
			for i := range services {
				require.NoError(t, c.InstallService(version(i, v)))
			}
		}
		require.Equal(t, services, service.LostEndpoints(c))
		return testing.AllocsPerRun(10, service.PlanChange(c, version(1, 2)))
	}
	require.Equal(t, cost(20), cost(5000), "allocations of a change")
}

// Affinities that no longer hold are not restored.
func TestAffinitiesThatNoLongerHold(t *testing.T) {
	port := oftest.With(oftest.ExternalLocal(), oftest.ServedLocally(oftest.LocalEndpoint), oftest.WithAffinity(time.Hour))
	for _, test := range []struct {
		name string
		now  service.ServicePort
		age  time.Duration
		want int
	}{
		{"nothing has changed", port, 0, 2},
		{"their time has passed", port, 61 * time.Minute, 0},
		{"another Endpoint", oftest.With(port, oftest.ServedLocally(oftest.LocalEndpointB)), 0, 0},
		{"the Endpoint serves another list", oftest.With(port, oftest.ServedLocally(oftest.LocalEndpointB), func(p *service.ServicePort) { p.Cluster = []service.Endpoint{oftest.LocalEndpoint} }), 0, 0},
		{"no Endpoint", oftest.With(port, oftest.ServedLocally()), 0, 0},
		{"no affinity", oftest.With(port, oftest.WithAffinity(0)), 0, 0},
		{"another protocol", oftest.With(port, oftest.Over(corev1.ProtocolUDP)), 0, 0},
		{"another address", oftest.With(port, oftest.At(service.Frontend{Address: oftest.ClusterIP})), 0, 0},
		{"only one client is admitted", oftest.With(oftest.Restricted("198.51.100.2/32"), oftest.ServedLocally(oftest.LocalEndpoint), oftest.WithAffinity(time.Hour)), 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
			affinities := []service.Affinity{
				{Protocol: of.IPProtoTCP, Client: netip.MustParseAddr("198.51.100.1"), Frontend: oftest.LoadBalancerIP, Endpoint: oftest.LocalEndpoint.Address},
				{Protocol: of.IPProtoTCP, Client: netip.MustParseAddr("198.51.100.2"), Frontend: oftest.LoadBalancerIP, Endpoint: oftest.LocalEndpoint.Address},
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
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	var affinities []service.Affinity
	for i := range service.MaxAffinitiesOfList + 5 {
		affinities = append(affinities, service.Affinity{Protocol: of.IPProtoTCP, Client: oftest.NthPeer(i), Frontend: oftest.ClusterIP, Endpoint: oftest.LocalEndpoint.Address})
	}
	require.NoError(t, c.RestoreAffinities(affinities, time.Now()))
	require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.WithAffinity(time.Hour))))
	require.Equal(t, service.MaxAffinitiesOfList, affinityFlows(fake))
	require.NoError(t, c.DeleteStaleFlows())
	require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("other"), oftest.At(service.Frontend{Address: oftest.LoadBalancerIP}), oftest.WithAffinity(time.Hour))))
	require.Equal(t, service.MaxAffinitiesOfList, affinityFlows(fake))
}
