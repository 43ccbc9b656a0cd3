// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

const bridge = "br-int"

// onOVS is the pipeline's client on a bridge of a real Open vSwitch.
func onOVS(t testing.TB, o *ovstest.OVS) openflow.Client {
	t.Helper()
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	client := openflow.NewClient(of.NewSwitch(o.AddBridge(bridge)), func(map[uint8]string) error { return nil }, openflow.Features{AntreaProxy: true, IPv6: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := client.Initialize(ctx, openflow.RoundInfo{RoundNum: 1}, &config.NodeConfig{
		Name: thisNode, PodIPv4CIDR: testConfig.PodNetworks[0], PodIPv6CIDR: testConfig.PodNetworks[1], TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: mac, OFPort: config.GatewayOFPort, IPv4: netip.MustParseAddr("10.0.1.1"), IPv6: netip.MustParseAddr("fd00:1::1")},
	}, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true, IPv6Enabled: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect() })
	return client
}

// contents are the number of flows and the groups of the bridge.
func contents(o *ovstest.OVS) string {
	return fmt.Sprint(len(o.DumpFlows(bridge)), " flows, ", o.Ofctl("-O", "OpenFlow15", "dump-groups", bridge))
}

// Open vSwitch accepts whatever the controller asks for, and has nothing left when all objects are gone.
func TestRandomClusterOnOVS(t *testing.T) {
	o := ovstest.Start(t)
	client := onOVS(t, o)
	empty := contents(o)
	for n := range uint64(3) {
		c := chance{rand.New(rand.NewPCG(*seed+n, 1))}
		config := testConfig
		config.NodeHints = n == 1
		b := newBench(t, config)
		b.flows.real = client
		w := &world{map[string]*corev1.Service{}, map[string]*discoveryv1.EndpointSlice{}, map[string]*corev1.Node{}}
		b.remove(testNode(thisNode, ""), testNode(otherNode, ""))
		for range 100 {
			c.event(w, b)
			b.settle()
		}
		require.NotEmpty(t, b.flows.ports)
		for name := range b.flows.ports {
			require.NotEmpty(t, client.GetServiceFlowKeys(name), name)
		}
		for _, s := range w.services {
			b.remove(s)
		}
		b.settle()
		require.Empty(t, b.flows.ports)
		require.Equal(t, empty, contents(o))
	}
}

// BenchmarkOnOVS prints what Services with 50 Endpoints each cost with a real switch.
func BenchmarkOnOVS(b *testing.B) {
	for _, services := range []int{500, 5000} {
		b.Run(fmt.Sprint("services=", services), func(b *testing.B) {
			for range b.N {
				o := ovstest.Start(b)
				c := newScaleController(b, onOVS(b, o))
				l := newLarge(services)
				l.tell(c)
				began, cpu := time.Now(), cost.ProcessorTime(b)
				c.drain()
				b.ReportMetric(time.Since(began).Seconds(), "sync-s")
				b.ReportMetric((cost.ProcessorTime(b) - cpu).Seconds(), "sync-cpu-s")
				const changes = 100
				began = time.Now()
				for i := range changes {
					c.enqueue(c.core.setSlice(l.slices[i], l.slice(i, 251)))
					c.drain()
				}
				b.ReportMetric(float64(time.Since(began).Microseconds())/changes/1000, "change-ms")
			}
		})
	}
}
