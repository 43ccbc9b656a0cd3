// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

const endpointsOfAService = 50

// scaledService is the i-th of many Services. Their Endpoints are 10,000 Pods.
func scaledService(i int) openflow.ServicePort {
	const pods = 10_000
	endpoints := make([]openflow.Endpoint, endpointsOfAService)
	for n := range endpoints {
		endpoints[n] = openflow.Endpoint{Address: netip.AddrPortFrom(oftest.NthPeer(1<<20+(i*endpointsOfAService+n)%pods), 8080), PodNetwork: true}
	}
	return oftest.With(oftest.ClusterPort(endpoints...), oftest.Named(fmt.Sprint("service-", i)), oftest.At(openflow.Frontend{Address: netip.AddrPortFrom(oftest.NthPeer(i), 80)}))
}

// BenchmarkServiceScale measures many Services: the agent alone, and with a real Open vSwitch in user space.
func BenchmarkServiceScale(b *testing.B) {
	b.Run("agent/services=10000", func(b *testing.B) {
		for range b.N {
			sw := &oftest.AcceptingSwitch{Fake: of.NewFake()}
			c := openflow.NewClient(sw, oftest.NoTableNames, oftest.DefaultFeatures)
			_, err := c.Initialize(b.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
			require.NoError(b, err)
			heap := heapMiB()
			measureServices(b, c, 10_000)
			b.ReportMetric(heapMiB()-heap, "agent-MiB")
			runtime.KeepAlive(c)
			b.ReportMetric(float64(sw.Last), "mods-of-one-change")
		}
	})
	b.Run("ovs/services=5000", func(b *testing.B) {
		for range b.N {
			bridge := oftest.NewBridge(b, oftest.DefaultFeatures)
			resident, used := residentMiB(b, bridge.OVS), vswitchdTime(b, bridge.OVS)
			measureServices(b, bridge.C, 5000)
			b.ReportMetric(residentMiB(b, bridge.OVS)-resident, "vswitchd-MiB")
			b.ReportMetric(float64((vswitchdTime(b, bridge.OVS) - used).Milliseconds()), "vswitchd-cpu-ms")
			began := time.Now()
			require.NoError(b, bridge.C.ReplayFlows(func() {}))
			b.ReportMetric(float64(time.Since(began).Milliseconds()), "replay-ms")
		}
	})
}

// measureServices installs the Services one by one, and then changes an Endpoint of one.
func measureServices(b *testing.B, c openflow.Client, n int) {
	began, used := time.Now(), cost.ProcessorTime(b)
	for i := range n {
		require.NoError(b, c.InstallService(scaledService(i)))
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "install-ms")
	b.ReportMetric(float64((cost.ProcessorTime(b) - used).Milliseconds()), "install-agent-cpu-ms")
	changed := scaledService(n / 2)
	changed.Cluster[7] = oftest.LocalEndpoint
	began = time.Now()
	require.NoError(b, c.InstallService(changed))
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "one-change-ms")
}

// A change of one Service among many sends only what it changes.
func TestOneServiceAmongMany(t *testing.T) {
	sw := &oftest.AcceptingSwitch{Fake: of.NewFake()}
	c := openflow.NewClient(sw, oftest.NoTableNames, oftest.DefaultFeatures)
	_, err := c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	const services = 300
	for i := range services {
		require.NoError(t, c.InstallService(scaledService(i)))
	}
	changed := scaledService(20)
	changed.Cluster[7] = oftest.LocalEndpoint
	require.NoError(t, c.InstallService(changed))
	// The group; the flows to the new Endpoint, and of its connections to itself. Another Service has the former Endpoint.
	require.Equal(t, 3, sw.Last)
	require.NoError(t, c.UninstallService(changed.Name))
	require.Equal(t, 4, sw.Last)
}
