// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

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
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// someServices are ports of all kinds.
func someServices() []ServicePort {
	return []ServicePort{
		with(externalLocal(), withAffinity(time.Hour)),
		with(clusterPort(), named("none"), over(corev1.ProtocolUDP)),
		with(clusterPort(localEndpoint), named("sctp"), over(corev1.ProtocolSCTP)),
		with(clusterPort6(localEndpoint6, remoteEndpoint6), withAffinity(time.Hour)),
	}
}

func installServices(t testing.TB, c Client) {
	t.Helper()
	for _, p := range someServices() {
		require.NoError(t, c.InstallService(p))
	}
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{nodeIP}))
}

// switchClient is a client and its switch.
type switchClient struct {
	Client
	sw of.Switch
}

func (c switchClient) current() *generator { return generatorOf(c.Client) }

// onOVS is a client of a bridge in an Open vSwitch that others have used before.
func onOVS(t *testing.T, socket string, round RoundInfo) (switchClient, <-chan struct{}) {
	t.Helper()
	sw := of.NewSwitch(socket)
	c := NewClient(sw, noTableNames, proxyAllFeatures)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reconnected, err := c.Initialize(ctx, round, dualStackNode, testNetwork)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Disconnect() })
	return switchClient{c, sw}, reconnected
}

// contents is what the switch has, in the syntax of ovs-ofctl.
func contents(t *testing.T, o *ovstest.OVS, c switchClient) []string {
	t.Helper()
	all := append(dumpFlows(o), strings.Split(renderGroups(t, tableNames(c), c.sw), "\n")...)
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
	c, _ := onOVS(t, o.AddBridge(bridgeName), RoundInfo{RoundNum: testRound})
	installServices(t, c)
	inMemory, fake := newTestClientOf(t, proxyAllFeatures, dualStackNode)
	installServices(t, inMemory)
	flows := flowStrings(fake.Flows())
	slices.Sort(flows)
	require.Equal(t, flows, dumpFlows(o))
	require.Equal(t, renderGroups(t, tableNames(inMemory), fake), renderGroups(t, tableNames(c), c.sw))
	meters, err := c.sw.DumpMeters(t.Context())
	require.NoError(t, err)
	require.Equal(t, []of.MeterEntry{{ID: 256, Rate: 5000, Burst: 10000}, {ID: 257, Rate: 5000, Burst: 10000}, {ID: 259, Rate: 5000, Burst: 10000}}, meters)

	requireNoneMissing(t, c)
	want := contents(t, o, c)
	installServices(t, c)
	require.Equal(t, want, contents(t, o, c), "installing again changes nothing")
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, contents(t, o, c), "replay in place")
	for _, p := range someServices() {
		require.NoError(t, c.UninstallService(p.Name))
	}
	require.NoError(t, c.SetNodePortAddresses(nil))
	_, fake = newTestClientOf(t, proxyAllFeatures, dualStackNode)
	base := flowStrings(fake.Flows())
	slices.Sort(base)
	require.Equal(t, base, dumpFlows(o))
	require.Empty(t, renderGroups(t, tableNames(c), c.sw))
	requireNoneMissing(t, c)
}

// A killed vswitchd gets everything again, under the same ids.
func TestServicesAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	c, reconnected := onOVS(t, o.AddBridge(bridgeName), RoundInfo{RoundNum: testRound})
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
	c, _ := onOVS(t, o.AddBridge(bridgeName), RoundInfo{RoundNum: testRound})
	installServices(t, c)
	want, keys := contents(t, o, c), c.GetServiceFlowKeys(externalLocal().Name)
	count := 0
	table := generatorOf(c).id(tableEndpointDNAT)
	for _, line := range want {
		if strings.Contains(line, fmt.Sprintf("table=%d,", table)) && strings.HasPrefix(line, "cookie") {
			count++
		}
	}
	o.Vsctl("--id=@t", "create", "flow_table", fmt.Sprintf("flow_limit=%d", count), "overflow_policy=refuse",
		"--", "set", "bridge", bridgeName, fmt.Sprintf("flow_tables:%d=@t", table))
	more := with(externalLocal(), func(p *ServicePort) { p.Cluster = append(p.Cluster, localEndpointB) }, servedLocally())
	added := with(clusterPort(localEndpointB), named("added"), at(Frontend{Address: netip.MustParseAddrPort("10.96.9.9:80")}))
	for _, p := range []ServicePort{more, added} {
		require.ErrorContains(t, c.InstallService(p), "install the Service port "+p.Name)
		require.Equal(t, want, contents(t, o, c))
		require.Equal(t, keys, c.GetServiceFlowKeys(externalLocal().Name))
		require.Nil(t, c.GetServiceFlowKeys("added"))
	}
	o.Vsctl("clear", "bridge", bridgeName, "flow_tables")
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
	socket := o.AddBridge(bridgeName)
	first, _ := onOVS(t, socket, RoundInfo{RoundNum: testRound})
	installServices(t, first)
	require.NoError(t, first.Disconnect())

	round := uint16(testRound)
	second, _ := onOVS(t, socket, RoundInfo{RoundNum: testRound + 1, PrevRoundNum: &round})
	require.NoError(t, second.InstallService(with(clusterPort(localEndpointB), named("none"), over(corev1.ProtocolUDP))))
	require.NoError(t, second.Disconnect()) // killed: nobody deletes what is stale
	flows := strings.Join(dumpFlows(o), "\n")
	require.Contains(t, flows, "nat(dst=10.10.0.12:8080)", "the new state of one port")
	require.Contains(t, flows, "nat(dst=10.10.1.20:8080)", "the former state of the others")

	third, _ := onOVS(t, socket, RoundInfo{RoundNum: testRound + 2, PrevRoundNum: &round})
	installServices(t, third)
	require.NoError(t, third.DeleteStaleFlows())
	expected, fake := newTestClientOf(t, proxyAllFeatures, dualStackNode)
	installServices(t, expected)
	groups, err := third.sw.DumpGroups(t.Context())
	require.NoError(t, err)
	wanted, err := fake.DumpGroups(t.Context())
	require.NoError(t, err)
	require.Len(t, groups, len(wanted))
	require.Len(t, dumpFlows(o), len(fake.Flows()))
	for _, flow := range dumpFlows(o) {
		require.Contains(t, flow, fmt.Sprintf("cookie=0x%x0", testRound+2))
	}
	require.NoError(t, third.UninstallService(externalLocal().Name))
	installServices(t, third)
	require.Len(t, dumpFlows(o), len(fake.Flows()))
}

// Without AntreaProxy nothing of it is in the pipeline, whatever else is on, but what continues its connections.
func TestNoServicesWithoutAntreaProxy(t *testing.T) {
	for bits := range 32 {
		features := Features{AntreaPolicy: bits&1 != 0, Egress: bits&2 != 0, TrafficControl: bits&4 != 0, ONCache: bits&8 != 0, CutConnections: bits&16 != 0}
		for _, node := range []*config.NodeConfig{testNode, dualStackNode, ipv6Node} {
			plain, fake := newTestClientOf(t, features, node)
			text := render(tableNames(plain), fake.Flows())
			for line := range strings.Lines(text) {
				require.True(t, !strings.Contains(line, "cookie=0x503") || strings.Contains(line, "ct_mark=0x10/"), line)
			}
			for _, table := range []string{tableUnSNAT, tablePreRoutingClassifier, tableNodePortMark, tableSessionAffinity, tableServiceLB, tableEndpointDNAT, tableSNATMark, tableSNAT + ","} {
				require.NotContains(t, text, "table="+table)
			}
			features.ProxyAll, features.PacketInRate = true, 5000
			_, other := newTestClientOf(t, features, node)
			require.Equal(t, fake.Flows(), other.Flows(), "proxyAll alone changes nothing")
			features.ProxyAll, features.PacketInRate = false, 0
			require.Equal(t, uint32(259), uint32(meterServiceReject))
		}
	}
}

// SCTP in the walk of a packet: the userspace datapath of the tests does not translate it. The hash stands for what chooses the bucket.
func TestServiceWalks(t *testing.T) {
	b := newBridge6(t, dualStackNode)
	for _, p := range []ServicePort{
		with(clusterPort(elsewhereEndpoint), over(corev1.ProtocolSCTP)),
		with(clusterPort6(remoteEndpoint6), over(corev1.ProtocolSCTP)),
		with(clusterPort(), over(corev1.ProtocolSCTP), named("none"), at(Frontend{Address: loadBalancerIP})),
	} {
		require.NoError(t, b.c.InstallService(p))
	}
	for _, test := range []struct {
		name, packet string
		ct           []string
		contains     []string
		outputs      []int
	}{
		{"SCTP", fmt.Sprintf("sctp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=10.96.0.10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=80", podAPort, podAMAC, gwMAC, podAIP),
			[]string{ctNew, ctNew, ctNew}, []string{"nat(dst=10.10.1.20:8080)"}, nil},
		{"SCTP over IPv6", fmt.Sprintf("sctp6,in_port=%d,dl_src=%v,dl_dst=%v,ipv6_src=%v,ipv6_dst=fd00:96::10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=80", podAPort, podAMAC, gwMAC, podA6IP),
			[]string{ctNew, ctNew, ctNew}, []string{"nat(dst=[fd00:10:0:b::20]:8080)"}, nil},
		{"SCTP without Endpoint", fmt.Sprintf("sctp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=203.0.113.10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=80", podAPort, podAMAC, gwMAC, podAIP),
			[]string{ctNew}, []string{"userdata=04"}, nil},
		{"another port of the address", fmt.Sprintf("sctp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=10.96.0.10,nw_ttl=64,dp_hash=1,sctp_src=3000,sctp_dst=81", podAPort, podAMAC, gwMAC, podAIP),
			[]string{ctNew, ctNew}, []string{"EndpointDNAT"}, []int{gwPort}},
		{"a connection that policies have refused", podAToRemote + ",ct_mark=0x10", []string{ctReply}, []string{"drop"}, nil},
		{"an established one", podAToRemote + ",ct_mark=0x13", []string{ctEstablished}, []string{"ct_mark=0x13"}, []int{tunnelPort}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			for _, part := range test.contains {
				require.Contains(t, strings.Join(w.tables, " ")+w.text, part, w.text)
			}
			if test.outputs != nil {
				require.Equal(t, test.outputs, w.outputs, w.text)
			}
		})
	}
}
