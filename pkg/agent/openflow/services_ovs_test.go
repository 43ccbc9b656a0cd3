// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// someServices are ports of all kinds.
func someServices() []openflow.ServicePort {
	return []openflow.ServicePort{
		oftest.With(oftest.ExternalLocal(), oftest.WithAffinity(time.Hour)),
		oftest.With(oftest.ClusterPort(), oftest.Named("none"), oftest.Over(corev1.ProtocolUDP)),
		oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("sctp"), oftest.Over(corev1.ProtocolSCTP)),
		oftest.With(oftest.ClusterPort6(oftest.LocalEndpoint6, oftest.RemoteEndpoint6), oftest.WithAffinity(time.Hour)),
	}
}

func installServices(t testing.TB, c openflow.Client) {
	t.Helper()
	for _, p := range someServices() {
		require.NoError(t, c.InstallService(p))
	}
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
}

// switchClient is a client and its switch.
type switchClient struct {
	openflow.Client
	sw of.Switch
}

func (c switchClient) Current() *pipeline.Generator { return oftest.GeneratorOf(c.Client) }

// onOVS is a client of a bridge in an Open vSwitch that others have used before.
func onOVS(t *testing.T, socket string, round openflow.RoundInfo) (switchClient, <-chan struct{}) {
	t.Helper()
	sw := of.NewSwitch(socket)
	c := openflow.NewClient(sw, oftest.NoTableNames, oftest.ProxyAllFeatures)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reconnected, err := c.Initialize(ctx, round, oftest.DualStackNode, oftest.TestNetwork)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Disconnect() })
	return switchClient{c, sw}, reconnected
}

// contents returns the flows and groups on the switch, in the syntax of ovs-ofctl.
func contents(t *testing.T, o *ovstest.OVS, c switchClient) []string {
	t.Helper()
	all := append(oftest.DumpFlows(o), strings.Split(oftest.RenderGroups(t, oftest.TableNames(c), c.sw), "\n")...)
	meters, err := c.sw.DumpMeters(t.Context())
	require.NoError(t, err)
	for _, m := range meters {
		all = append(all, m.String())
	}
	return all
}

// The switch has the flows and groups that the golden files show.
func TestSwitchAgreesWithTheFakeOnServices(t *testing.T) {
	o := ovstest.Start(t)
	c, _ := onOVS(t, o.AddBridge(oftest.BridgeName), openflow.RoundInfo{RoundNum: oftest.TestRound})
	installServices(t, c)
	inMemory, fake := oftest.NewTestClientOf(t, oftest.ProxyAllFeatures, oftest.DualStackNode)
	installServices(t, inMemory)
	flows := oftest.FlowStrings(fake.Flows())
	slices.Sort(flows)
	require.Equal(t, flows, oftest.DumpFlows(o))
	require.Equal(t, oftest.RenderGroups(t, oftest.TableNames(inMemory), fake), oftest.RenderGroups(t, oftest.TableNames(c), c.sw))
	meters, err := c.sw.DumpMeters(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []of.MeterEntry{{ID: 256, Rate: 5000, Burst: 10000}, {ID: 257, Rate: 5000, Burst: 10000}, {ID: 258, Rate: 5000, Burst: 10000}, {ID: 259, Rate: 5000, Burst: 10000},
		{ID: 16384, Rate: 500, Burst: 1000}, {ID: 32768, Rate: 500, Burst: 1000}}, meters)

	oftest.RequireNoneMissing(t, c)
	want := contents(t, o, c)
	installServices(t, c)
	require.Equal(t, want, contents(t, o, c), "installing again changes nothing")
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, contents(t, o, c), "replay in place")
	for _, p := range someServices() {
		require.NoError(t, c.UninstallService(p.Name))
	}
	require.NoError(t, c.SetNodePortAddresses(nil))
	_, fake = oftest.NewTestClientOf(t, oftest.ProxyAllFeatures, oftest.DualStackNode)
	base := oftest.FlowStrings(fake.Flows())
	slices.Sort(base)
	require.Equal(t, base, oftest.DumpFlows(o))
	require.Empty(t, oftest.RenderGroups(t, oftest.TableNames(c), c.sw))
	oftest.RequireNoneMissing(t, c)
}

// A killed vswitchd gets everything again, under the same ids.
func TestServicesAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	c, reconnected := onOVS(t, o.AddBridge(oftest.BridgeName), openflow.RoundInfo{RoundNum: oftest.TestRound})
	installServices(t, c)
	want := contents(t, o, c)
	o.KillVswitchd()
	o.StartVswitchd()
	select {
	case <-reconnected:
	case <-time.After(20 * time.Second):
		t.Fatal("no reconnection")
	}
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, contents(t, o, c))
}

// A bundle that the switch refuses leaves flows, groups and the client's records as they are.
func TestRefusedServiceBundle(t *testing.T) {
	o := ovstest.Start(t)
	c, _ := onOVS(t, o.AddBridge(oftest.BridgeName), openflow.RoundInfo{RoundNum: oftest.TestRound})
	installServices(t, c)
	want, keys := contents(t, o, c), c.GetServiceFlowKeys(oftest.ExternalLocal().Name)
	count := 0
	table := oftest.GeneratorOf(c).ID(pipeline.TableEndpointDNAT)
	for _, line := range want {
		if strings.Contains(line, fmt.Sprintf("table=%d,", table)) && strings.HasPrefix(line, "cookie") {
			count++
		}
	}
	o.Vsctl("--id=@t", "create", "flow_table", fmt.Sprintf("flow_limit=%d", count), "overflow_policy=refuse",
		"--", "set", "bridge", oftest.BridgeName, fmt.Sprintf("flow_tables:%d=@t", table))
	more := oftest.With(oftest.ExternalLocal(), func(p *openflow.ServicePort) { p.Cluster = append(p.Cluster, oftest.LocalEndpointB) }, oftest.ServedLocally())
	added := oftest.With(oftest.ClusterPort(oftest.LocalEndpointB), oftest.Named("added"), oftest.At(openflow.Frontend{Address: netip.MustParseAddrPort("10.96.9.9:80")}))
	for _, p := range []openflow.ServicePort{more, added} {
		require.ErrorContains(t, c.InstallService(p), "install the Service port "+p.Name)
		require.Equal(t, want, contents(t, o, c))
		require.Equal(t, keys, c.GetServiceFlowKeys(oftest.ExternalLocal().Name))
		require.Nil(t, c.GetServiceFlowKeys("added"))
	}
	o.Vsctl("clear", "bridge", oftest.BridgeName, "flow_tables")
	require.NoError(t, c.InstallService(more))
	require.NoError(t, c.InstallService(added))
	require.NoError(t, c.UninstallService("added"))
	require.NoError(t, c.InstallService(someServices()[0]))
	require.Equal(t, want, contents(t, o, c))
}

// An agent that is killed between bundles leaves working Services behind: each port has its former or its new state. The next agent
// replaces them under other group ids, and removes the rest.
func TestAgentKilledBetweenServices(t *testing.T) {
	o := ovstest.Start(t)
	socket := o.AddBridge(oftest.BridgeName)
	first, _ := onOVS(t, socket, openflow.RoundInfo{RoundNum: oftest.TestRound})
	installServices(t, first)
	require.NoError(t, first.Disconnect())

	round := uint16(oftest.TestRound)
	second, _ := onOVS(t, socket, openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &round})
	require.NoError(t, second.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpointB), oftest.Named("none"), oftest.Over(corev1.ProtocolUDP))))
	require.NoError(t, second.Disconnect()) // killed: stale objects stay
	flows := strings.Join(oftest.DumpFlows(o), "\n")
	require.Contains(t, flows, "nat(dst=10.10.0.12:8080)", "the new state of one port")
	require.Contains(t, flows, "nat(dst=10.10.1.20:8080)", "the former state of the others")

	third, _ := onOVS(t, socket, openflow.RoundInfo{RoundNum: oftest.TestRound + 2, PrevRoundNum: &round})
	installServices(t, third)
	require.NoError(t, third.DeleteStaleFlows())
	expected, fake := oftest.NewTestClientOf(t, oftest.ProxyAllFeatures, oftest.DualStackNode)
	installServices(t, expected)
	groups, err := third.sw.DumpGroups(t.Context())
	require.NoError(t, err)
	wanted, err := fake.DumpGroups(t.Context())
	require.NoError(t, err)
	require.Len(t, groups, len(wanted))
	require.Len(t, oftest.DumpFlows(o), len(fake.Flows()))
	for _, flow := range oftest.DumpFlows(o) {
		require.Contains(t, flow, fmt.Sprintf("cookie=0x%x0", oftest.TestRound+2))
	}
	require.NoError(t, third.UninstallService(oftest.ExternalLocal().Name))
	installServices(t, third)
	require.Len(t, oftest.DumpFlows(o), len(fake.Flows()))
}

// Without AntreaProxy nothing of it is in the pipeline, whatever else is on, but what continues its connections.
func TestNoServicesWithoutAntreaProxy(t *testing.T) {
	for bits := range 32 {
		features := openflow.Features{AntreaPolicy: bits&1 != 0, Egress: bits&2 != 0, TrafficControl: bits&4 != 0, ONCache: bits&8 != 0, CutConnections: bits&16 != 0, PacketInRate: 5000}
		for _, node := range []*config.NodeConfig{oftest.TestNode, oftest.DualStackNode, oftest.Ipv6Node} {
			plain, fake := oftest.NewTestClientOf(t, features, node)
			text := oftest.Render(oftest.TableNames(plain), fake.Flows())
			continues := false
			for _, flow := range fake.Flows() {
				ofServices := flow.Cookie == pipeline.Cookie(oftest.TestRound, pipeline.CookieService)
				require.True(t, !ofServices || strings.Contains(flow.String(), "ct_mark=0x10/"), flow)
				continues = continues || ofServices
			}
			require.True(t, continues)
			for _, table := range []string{pipeline.TableUnSNAT, pipeline.TablePreRoutingClassifier, pipeline.TableNodePortMark, pipeline.TableSessionAffinity, pipeline.TableServiceLB, pipeline.TableEndpointDNAT, pipeline.TableSNATMark, pipeline.TableSNAT + ","} {
				require.NotContains(t, text, "table="+table)
			}
			features.ProxyAll = true
			_, other := oftest.NewTestClientOf(t, features, node)
			require.Equal(t, fake.Flows(), other.Flows(), "proxyAll alone changes nothing")
			features.ProxyAll = false
			require.Equal(t, uint32(259), uint32(pipeline.MeterServiceReject))
		}
	}
}

// SCTP in the walk of a packet: the userspace datapath of the tests does not translate it. The hash stands for what chooses one of several buckets.
func TestServiceWalks(t *testing.T) {
	b := oftest.NewBridge6(t, oftest.DualStackNode)
	for _, p := range []openflow.ServicePort{
		oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint, oftest.ElsewhereEndpoint), oftest.Over(corev1.ProtocolSCTP)),
		oftest.With(oftest.ClusterPort6(oftest.RemoteEndpoint6), oftest.Over(corev1.ProtocolSCTP)),
		oftest.With(oftest.ClusterPort(), oftest.Over(corev1.ProtocolSCTP), oftest.Named("none"), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP})),
	} {
		require.NoError(t, b.C.InstallService(p))
	}
	for _, test := range []struct {
		name, packet string
		ct           []string
		contains     []string
		outputs      []int
	}{
		{"SCTP", fmt.Sprintf("sctp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=10.96.0.10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=80", oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodAIP),
			[]string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, []string{"nat(dst=10.10.1.20:8080)"}, nil},
		{"SCTP over IPv6", fmt.Sprintf("sctp6,in_port=%d,dl_src=%v,dl_dst=%v,ipv6_src=%v,ipv6_dst=fd00:96::10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=80", oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodA6IP),
			[]string{oftest.CTNew, oftest.CTNew, oftest.CTNew}, []string{"nat(dst=[fd00:10:0:b::20]:8080)"}, nil},
		{"SCTP without Endpoint", fmt.Sprintf("sctp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=203.0.113.10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=80", oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodAIP),
			[]string{oftest.CTNew}, []string{"userdata=04"}, nil},
		{"another port of the address", fmt.Sprintf("sctp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=10.96.0.10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=81", oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodAIP),
			[]string{oftest.CTNew, oftest.CTNew}, []string{"EndpointDNAT"}, []int{oftest.GWPort}},
		{"a connection that policies have refused", oftest.PodAToRemote + ",ct_mark=0x10", []string{oftest.CTReply}, []string{"drop"}, nil},
		{"an established one", oftest.PodAToRemote + ",ct_mark=0x13", []string{oftest.CTEstablished}, []string{"ct_mark=0x13"}, []int{oftest.TunnelPort}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			for _, part := range test.contains {
				require.Contains(t, strings.Join(w.Tables, " ")+w.Text, part, w.Text)
			}
			if test.outputs != nil {
				require.Equal(t, test.outputs, w.Outputs, w.Text)
			}
		})
	}
}
