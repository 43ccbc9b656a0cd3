// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestServiceFlowsGolden(t *testing.T) {
	for _, test := range []struct {
		file  string
		ports []ServicePort
	}{
		{"service_clusterip.txt", []ServicePort{
			clusterPort(localEndpoint, elsewhereEndpoint, hostEndpoint),
			with(clusterPort(localEndpoint), named("default/dns:udp"), over(corev1.ProtocolUDP)),
			with(clusterPort(localEndpoint), named("default/sig:sctp"), over(corev1.ProtocolSCTP)),
		}},
		{"service_affinity.txt", []ServicePort{with(clusterPort(localEndpoint, elsewhereEndpoint), withAffinity(3*time.Hour))}},
		{"service_none.txt", []ServicePort{
			clusterPort(),
			with(clusterPort(), named("default/dns:udp"), over(corev1.ProtocolUDP), withAffinity(time.Hour)),
		}},
		{"service_external.txt", []ServicePort{externalLocal()}},
		{"service_elsewhere.txt", []ServicePort{with(clusterPort(), at(Frontend{Address: clusterIP, Local: true}), func(p *ServicePort) { p.Elsewhere = true })}},
		{"service_external_affinity.txt", []ServicePort{with(externalLocal(), withAffinity(1500*time.Millisecond))}},
		{"service_restricted.txt", []ServicePort{with(restricted("198.51.100.0/24", "192.0.2.1/32"), withAffinity(time.Hour))}},
		{"service_nobody.txt", []ServicePort{restricted()}},
		{"service_internal_local.txt", []ServicePort{
			with(clusterPort(localEndpoint, elsewhereEndpoint), servedLocally(localEndpoint), at(Frontend{Address: clusterIP, Local: true}))}},
		{"service_dualstack.txt", []ServicePort{
			clusterPort(localEndpoint), clusterPort6(localEndpoint6, remoteEndpoint6),
			with(clusterPort6(localEndpoint6), named("six"), over(corev1.ProtocolUDP), withAffinity(time.Minute)),
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := newTestClientOf(t, proxyAllFeatures, dualStackNode)
			base := fake.Flows()
			for _, p := range test.ports {
				require.NoError(t, c.InstallService(p))
			}
			got := render(tableNames(c), newFlows(base, fake.Flows())) + "\n" + renderGroups(t, tableNames(c), fake)
			requireGolden(t, test.file, got)

			for _, p := range test.ports {
				require.NotEmpty(t, c.GetServiceFlowKeys(p.Name))
				require.NoError(t, c.UninstallService(p.Name))
				require.Nil(t, c.GetServiceFlowKeys(p.Name))
			}
			require.Equal(t, base, fake.Flows(), "nothing is left behind")
			require.Empty(t, renderGroups(t, tableNames(c), fake))
		})
	}
}

// Flows to an Endpoint exist while a port uses it, whoever comes and goes.
func TestEndpointsAreShared(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	base := fake.Flows()
	web, api := clusterPort(localEndpoint, elsewhereEndpoint), with(clusterPort(localEndpoint), named("default/api"), at(Frontend{Address: netip.MustParseAddrPort("10.96.0.11:443")}))
	udp := with(clusterPort(localEndpoint), named("default/udp"), over(corev1.ProtocolUDP))
	endpoints := func() (keys []string) {
		for _, flow := range newFlows(base, fake.Flows()) {
			if flow.Table != generatorOf(c).id(tableServiceLB) {
				keys = append(keys, renderLine(tableNames(c), flow.Key()))
			}
		}
		return keys
	}
	const (
		tcpLocal  = "table=EndpointDNAT,priority=200,tcp,reg3=0xa0a000b,reg4=0x21f90/0x7ffff"
		tcpRemote = "table=EndpointDNAT,priority=200,tcp,reg3=0xa0a0114,reg4=0x21f90/0x7ffff"
		udpLocal  = "table=EndpointDNAT,priority=200,udp,reg3=0xa0a000b,reg4=0x21f90/0x7ffff"
		hairpin   = "table=SNATMark,priority=190,ct_state=+new+trk,ip,nw_src=10.10.0.11,nw_dst=10.10.0.11"
	)
	for _, step := range []struct {
		name   string
		change func() error
		want   []string
	}{
		{"a port", func() error { return c.InstallService(web) }, []string{tcpLocal, tcpRemote, hairpin}},
		{"another one with one of its Endpoints", func() error { return c.InstallService(api) }, []string{tcpLocal, tcpRemote, hairpin}},
		{"a port of another protocol", func() error { return c.InstallService(udp) }, []string{tcpLocal, tcpRemote, udpLocal, hairpin}},
		{"the first one loses both", func() error { return c.InstallService(clusterPort()) }, []string{tcpLocal, udpLocal, hairpin}},
		{"and gets them back", func() error { return c.InstallService(web) }, []string{tcpLocal, tcpRemote, udpLocal, hairpin}},
		{"the second one is removed", func() error { return c.UninstallService(api.Name) }, []string{tcpLocal, tcpRemote, udpLocal, hairpin}},
		{"the first one is removed", func() error { return c.UninstallService(web.Name) }, []string{udpLocal, hairpin}},
		{"an unknown one is removed", func() error { return c.UninstallService("unknown") }, []string{udpLocal, hairpin}},
		{"the last one is removed", func() error { return c.UninstallService(udp.Name) }, nil},
	} {
		require.NoError(t, step.change(), step.name)
		require.ElementsMatch(t, step.want, endpoints(), step.name)
		want := fake.Flows()
		require.NoError(t, c.ReplayFlows(func() {}))
		require.Equal(t, want, fake.Flows(), step.name)
	}
	require.Equal(t, base, fake.Flows())
	require.Zero(t, sharedUsers(c))
	require.Zero(t, knownFrontends(c))
}

// A change of Endpoints changes the group, not its id, and no flow that stays.
func TestInstallServiceSendsOnlyDifferences(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	require.NoError(t, c.InstallService(clusterPort(localEndpoint)))
	before := renderGroups(t, tableNames(c), fake)
	fake.ClearHistory()
	require.NoError(t, c.InstallService(clusterPort(localEndpoint)))
	require.Empty(t, fake.History(), "nothing changes")
	require.NoError(t, c.InstallService(clusterPort(localEndpoint, elsewhereEndpoint)))
	require.Len(t, fake.History(), 1)
	require.Len(t, fake.History()[0], 1, "the flow of the new Endpoint")
	require.NotEqual(t, before, renderGroups(t, tableNames(c), fake))
	require.NoError(t, c.InstallService(clusterPort(localEndpoint)))
	require.Equal(t, before, renderGroups(t, tableNames(c), fake))
}

// The caller may reuse its slices.
func TestInstallServiceKeepsNoSlices(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	p := clusterPort(localEndpoint, elsewhereEndpoint)
	require.NoError(t, c.InstallService(p))
	want := fake.Flows()
	p.Cluster[1], p.Frontends[0] = hostEndpoint, Frontend{Address: loadBalancerIP}
	require.NoError(t, c.InstallService(clusterPort(localEndpoint, elsewhereEndpoint)))
	require.Equal(t, want, fake.Flows())
	require.NoError(t, c.UninstallService(p.Name))
	require.NotContains(t, render(tableNames(c), fake.Flows()), "priority=200,tcp,reg3")
}

func TestRefusedServices(t *testing.T) {
	port := func(edits ...func(*ServicePort)) ServicePort { return with(clusterPort(localEndpoint), edits...) }
	for _, test := range []struct {
		name     string
		features Features
		port     ServicePort
		want     string
	}{
		{"without name", defaultFeatures, port(named("")), "without name"},
		{"another protocol", defaultFeatures, port(over("ICMP")), `protocol "ICMP": must be TCP, UDP or SCTP`},
		{"without frontend", defaultFeatures, port(at()), "has no frontend"},
		{"negative affinity", defaultFeatures, port(withAffinity(-time.Second)), "must not be negative"},
		{"frontend without port", defaultFeatures, port(at(Frontend{Address: netip.AddrPortFrom(podAIP, 0)})), "a port that is not 0"},
		{"frontend without address", defaultFeatures, port(at(Frontend{})), "must be an address"},
		{"mapped address", defaultFeatures, port(at(Frontend{Address: netip.MustParseAddrPort("[::ffff:10.96.0.10]:80")})), "must be an address"},
		{"frontends of two IP versions", defaultFeatures, port(at(Frontend{Address: clusterIP}, Frontend{Address: clusterIP6})), "[fd00:96::10]:80: all addresses"},
		{"Endpoint of another IP version", defaultFeatures, clusterPort(localEndpoint6), "[fd00:10:0:a::11]:8080: all addresses"},
		{"local Endpoint of another IP version", defaultFeatures, port(servedLocally(localEndpoint6)), "[fd00:10:0:a::11]:8080: all addresses"},
		{"frontend twice", defaultFeatures, port(at(Frontend{Address: clusterIP}, Frontend{Address: clusterIP, External: true})), "10.96.0.10:80 twice"},
		{"IP version without Pods", defaultFeatures, clusterPort6(localEndpoint6), "[fd00:96::10]:80: the Pods of this Node have no addresses"},
		{"range with host bits", defaultFeatures, port(restrictedTo("10.0.0.1/8")), "source range 10.0.0.1/8: must be a network without host bits"},
		{"range of another IP version", defaultFeatures, port(restrictedTo("fd00::/8")), "source range fd00::/8: must be a network"},
		{"NodePort without proxyAll", defaultFeatures, externalLocal(), "NodePort 30080: antreaProxy.proxyAll must be true"},
		{"without AntreaProxy", minimalFeatures, port(), "AntreaProxy must be enabled"},
		{"a frontend of another port", defaultFeatures, port(named("default/other")), "10.96.0.10:80 (NodePort false) belongs to the Service port default/web:http"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, test.features)
			if test.features.AntreaProxy {
				require.NoError(t, c.InstallService(clusterPort(localEndpoint)))
			}
			before, groups := fake.Flows(), renderGroups(t, tableNames(c), fake)
			fake.ClearHistory()
			err := c.InstallService(test.port)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "Service port "+test.port.Name)
			require.Empty(t, fake.History())
			require.Equal(t, before, fake.Flows())
			require.Equal(t, groups, renderGroups(t, tableNames(c), fake))
		})
	}
}

// The frontend of a removed port is free for another one; frontends of different kinds and protocols do not collide.
func TestFrontendsAreReleased(t *testing.T) {
	c, _ := newTestClient(t, proxyAllFeatures)
	require.NoError(t, c.InstallService(externalLocal()))
	other := with(externalLocal(), named("default/other"))
	require.Error(t, c.InstallService(other))
	require.NoError(t, c.InstallService(with(externalLocal(), named("default/udp"), over(corev1.ProtocolUDP))))
	require.NoError(t, c.InstallService(with(clusterPort(), named("default/30080"), at(Frontend{Address: netip.AddrPortFrom(clusterIP.Addr(), 30080)}))))
	require.NoError(t, c.UninstallService(externalLocal().Name))
	require.NoError(t, c.InstallService(other))
	require.NoError(t, c.InstallService(with(other, at(other.Frontends[0]))))
	require.NoError(t, c.InstallService(with(externalLocal(), at(externalLocal().Frontends[1:]...))))
}

// Any change of a Service is nothing to ONCache, and travels in one bundle with what it marks.
func TestServicesEvictNothing(t *testing.T) {
	c, fake := newTestClient(t, proxyAllFeatures)
	r := &recorder{}
	c.SetInterceptor(r)
	for name, change := range map[string]func() error{
		"install":        func() error { return c.InstallService(externalLocal()) },
		"change":         func() error { return c.InstallService(with(externalLocal(), servedLocally())) },
		"with affinity":  func() error { return c.InstallService(with(externalLocal(), withAffinity(time.Hour))) },
		"node addresses": func() error { return c.SetNodePortAddresses([]netip.Addr{nodeIP}) },
		"remove":         func() error { return c.UninstallService(externalLocal().Name) },
	} {
		r.changes = nil
		fake.ClearHistory()
		require.NoError(t, change(), name)
		for _, change := range r.changes {
			change.Services = nil
			require.Equal(t, coherency.Change{}, change, name)
		}
		require.LessOrEqual(t, len(fake.History()), 1, name)
	}
}

// ONCache is told by which addresses Pods reach Endpoints in the Pod network.
func TestServiceAddressesThatLeadToPods(t *testing.T) {
	c, _ := newTestClient(t, oncacheFeatures)
	r := &recorder{}
	c.SetInterceptor(r)
	second := with(clusterPort(elsewhereEndpoint), named("default/second"), at(Frontend{Address: netip.AddrPortFrom(clusterIP.Addr(), 81)}))
	external := Frontend{Address: loadBalancerIP, External: true, Local: true}
	for _, step := range []struct {
		name   string
		change func() error
		want   map[netip.Addr]bool
	}{
		{"Endpoints in host networks", func() error { return c.InstallService(clusterPort(hostEndpoint)) }, nil},
		{"a Pod on another Node", func() error { return c.InstallService(clusterPort(hostEndpoint, elsewhereEndpoint)) }, map[netip.Addr]bool{clusterIP.Addr(): true}},
		{"on none", func() error { return c.InstallService(clusterPort(hostEndpoint)) }, map[netip.Addr]bool{clusterIP.Addr(): false}},
		{"a Pod on this Node", func() error { return c.InstallService(clusterPort(localEndpoint)) }, map[netip.Addr]bool{clusterIP.Addr(): true}},
		{"another port", func() error { return c.InstallService(second) }, nil},
		{"the first port has none any more", func() error { return c.InstallService(clusterPort(hostEndpoint)) }, nil},
		{"the last one", func() error { return c.UninstallService(second.Name) }, map[netip.Addr]bool{clusterIP.Addr(): false}},
		{"an external address that is Local for others", func() error { return c.InstallService(with(clusterPort(elsewhereEndpoint), at(external))) },
			map[netip.Addr]bool{loadBalancerIP.Addr(): true}},
	} {
		r.changes = nil
		require.NoError(t, step.change(), step.name)
		require.Len(t, r.changes, 1, step.name)
		require.Equal(t, step.want, r.changes[0].Services, step.name)
	}
}

func TestFailedServiceChangeLeavesEverythingAsBefore(t *testing.T) {
	for _, fate := range []error{errRefused, of.ErrDisconnected} {
		for _, test := range []struct {
			name   string
			change func(c Client) error
		}{
			{"new port", func(c Client) error {
				return c.InstallService(with(clusterPort(localEndpoint, localEndpointB), named("new"), at(Frontend{Address: loadBalancerIP})))
			}},
			{"other Endpoints", func(c Client) error { return c.InstallService(clusterPort(hostEndpoint)) }},
			{"affinity", func(c Client) error {
				return c.InstallService(with(clusterPort(localEndpoint, elsewhereEndpoint), withAffinity(time.Hour)))
			}},
			{"another frontend with another scope", func(c Client) error {
				return c.InstallService(with(clusterPort(localEndpoint), at(Frontend{Address: loadBalancerIP, Local: true})))
			}},
			{"removed port", func(c Client) error { return c.UninstallService(clusterPort().Name) }},
			{"NodePort addresses", func(c Client) error { return c.SetNodePortAddresses([]netip.Addr{nodeIP}) }},
		} {
			t.Run(fmt.Sprint(test.name, ", ", fate), func(t *testing.T) {
				c, fake := newTestClient(t, proxyAllFeatures)
				require.NoError(t, c.InstallService(clusterPort(localEndpoint, elsewhereEndpoint)))
				before, groups, keys := fake.Flows(), renderGroups(t, tableNames(c), fake), c.GetServiceFlowKeys(clusterPort().Name)
				fake.FailNext(fate)
				require.ErrorIs(t, test.change(c), fate)
				require.Equal(t, before, fake.Flows())
				require.Equal(t, groups, renderGroups(t, tableNames(c), fake))
				require.Equal(t, keys, c.GetServiceFlowKeys(clusterPort().Name))
				require.NoError(t, c.ReplayFlows(func() {}))
				require.Equal(t, before, fake.Flows())
				require.Equal(t, groups, renderGroups(t, tableNames(c), fake))
				require.NoError(t, test.change(c))
				require.NotEqual(t, before, fake.Flows())
				require.NoError(t, c.UninstallService("new"))
				require.NoError(t, c.UninstallService(clusterPort().Name))
				require.Empty(t, renderGroups(t, tableNames(c), fake))
			})
		}
	}
}

func TestNodePortAddresses(t *testing.T) {
	c, fake := newTestClientOf(t, proxyAllFeatures, dualStackNode)
	base := fake.Flows()
	keys := func() (keys []string) {
		for _, flow := range newFlows(base, fake.Flows()) {
			keys = append(keys, renderLine(tableNames(c), flow.Key()))
		}
		return keys
	}
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{nodeIP, remotePeer6, nodeIP, netip.MustParseAddr("169.254.0.252")}))
	require.ElementsMatch(t, []string{"table=NodePortMark,priority=200,ip,nw_dst=192.168.77.101", "table=NodePortMark,priority=200,ipv6,ipv6_dst=fd00:77::102"}, keys())
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{netip.MustParseAddr("::ffff:192.168.77.101")}))
	require.Equal(t, []string{"table=NodePortMark,priority=200,ip,nw_dst=192.168.77.101"}, keys())
	require.NoError(t, c.SetNodePortAddresses(nil))
	require.Equal(t, base, fake.Flows())

	require.ErrorContains(t, c.SetNodePortAddresses([]netip.Addr{{}}), "must be an IPv4 or IPv6 address")
	c, _ = newTestClient(t, defaultFeatures)
	require.ErrorContains(t, c.SetNodePortAddresses(nil), "proxyAll must be true")
}

// A learned flow must not keep a client at an Endpoint that its port has lost and another one has.
func TestAffinityToAnEndpointOfAnotherPort(t *testing.T) {
	other := with(clusterPort(elsewhereEndpoint), named("default/other"), at(Frontend{Address: loadBalancerIP}))
	for _, test := range []struct {
		name    string
		others  []ServicePort
		after   ServicePort
		deletes bool
	}{
		{"another port has it", []ServicePort{other}, clusterPort(localEndpoint), true},
		{"nobody has it: its flow is gone", nil, clusterPort(localEndpoint), false},
		{"it stays", []ServicePort{other}, clusterPort(localEndpoint, elsewhereEndpoint, hostEndpoint), false},
		{"another port has its address in another protocol", []ServicePort{with(other, over(corev1.ProtocolUDP))}, clusterPort(localEndpoint), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, defaultFeatures)
			for _, p := range test.others {
				require.NoError(t, c.InstallService(p))
			}
			require.NoError(t, c.InstallService(with(clusterPort(localEndpoint, elsewhereEndpoint), withAffinity(time.Hour))))
			id := groupOf(c, clusterPort().Name)
			fake.ClearHistory()
			require.NoError(t, c.InstallService(with(test.after, withAffinity(time.Hour))))
			requireAffinitiesEnd(t, fake, id, test.deletes)
		})
	}
}

// The same, when the other port gets the Endpoint later, perhaps because another Pod has got its address.
func TestAffinityToAnEndpointThatAnotherPortGets(t *testing.T) {
	affine := func(endpoints ...Endpoint) ServicePort {
		return with(clusterPort(endpoints...), withAffinity(time.Hour))
	}
	other := with(clusterPort(elsewhereEndpoint), named("default/other"), at(Frontend{Address: loadBalancerIP}))
	withLoadBalancer := func(local bool) ServicePort {
		return with(affine(localEndpoint, elsewhereEndpoint), servedLocally(localEndpoint),
			at(Frontend{Address: clusterIP}, Frontend{Address: loadBalancerIP, External: true, Local: local}))
	}
	many, elsewhere := make([]Endpoint, MaxEndpoints), make([]Endpoint, maxLost-MaxEndpoints)
	for i := range many {
		many[i] = Endpoint{Address: netip.AddrPortFrom(remotePodIP, uint16(i+1)), PodNetwork: true}
	}
	for i := range elsewhere {
		elsewhere[i] = Endpoint{Address: netip.AddrPortFrom(remotePodIP.Next(), uint16(i+1)), PodNetwork: true}
	}
	for _, test := range []struct {
		name    string
		before  []ServicePort
		last    ServicePort
		deletes bool
	}{
		{"it gets it", []ServicePort{affine(localEndpoint)}, other, true},
		{"it gets it while its own are known to be lost", []ServicePort{affine(localEndpoint), with(other, withAffinity(time.Hour)), with(other, withAffinity(time.Hour), func(p *ServicePort) { p.Cluster = nil })}, other, false},
		{"again, when nothing can have been learned", []ServicePort{affine(localEndpoint), other, with(other, func(p *ServicePort) { p.Cluster = nil })}, other, false},
		{"the port has it again", []ServicePort{affine(localEndpoint), affine(localEndpoint, elsewhereEndpoint)}, other, false},
		{"the port has had no affinity since then", []ServicePort{affine(localEndpoint), clusterPort(localEndpoint), affine(localEndpoint)}, other, false},
		{"the port is removed", []ServicePort{affine(localEndpoint), {Name: clusterPort().Name}}, other, false},
		{"it gets another one", []ServicePort{affine(localEndpoint)}, with(other, func(p *ServicePort) { p.Cluster = []Endpoint{hostEndpoint} }), false},
		{"the port has lost very many", []ServicePort{affine(many...), affine(elsewhere...)}, affine(localEndpoint), true},
		{"the port loses an address", []ServicePort{with(affine(localEndpoint), at(Frontend{Address: clusterIP}, Frontend{Address: loadBalancerIP, External: true}))}, affine(localEndpoint), true},
		{"an address is served by other Endpoints", []ServicePort{withLoadBalancer(false)}, withLoadBalancer(true), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, defaultFeatures)
			require.NoError(t, c.InstallService(affine(localEndpoint, elsewhereEndpoint)))
			id := groupOf(c, clusterPort().Name)
			for _, p := range test.before {
				if p.Frontends == nil {
					require.NoError(t, c.UninstallService(p.Name))
				} else {
					require.NoError(t, c.InstallService(p))
				}
			}
			fake.ClearHistory()
			require.NoError(t, c.InstallService(test.last))
			requireAffinitiesEnd(t, fake, id, test.deletes)
			if test.deletes {
				require.Zero(t, lostEndpoints(c))
			}
		})
	}
}

// The groups of as many Endpoints as allowed fit into a message, and more are left out.
func TestManyEndpoints(t *testing.T) {
	for _, test := range []struct {
		name  string
		port  func(...Endpoint) ServicePort
		first netip.Addr
	}{
		{"IPv4", clusterPort, netip.MustParseAddr("10.20.0.1")},
		{"IPv6", clusterPort6, netip.MustParseAddr("fd00:20::1")},
	} {
		for _, n := range []int{1, maxLoads, maxLoads + 1, MaxEndpoints, MaxEndpoints + 1} {
			t.Run(fmt.Sprint(test.name, " ", n), func(t *testing.T) {
				c, fake := newTestClientOf(t, defaultFeatures, dualStackNode)
				base := fake.Flows()
				var endpoints []Endpoint
				for addr := test.first; len(endpoints) < n; addr = addr.Next() {
					endpoints = append(endpoints, Endpoint{Address: netip.AddrPortFrom(addr, 8080), PodNetwork: true})
				}
				require.NoError(t, c.InstallService(test.port(endpoints...)))
				groups, err := fake.DumpGroups(t.Context())
				require.NoError(t, err)
				require.Len(t, groups[0].Buckets, min(n, MaxEndpoints))
				require.Len(t, newFlows(base, fake.Flows()), 1+min(n, MaxEndpoints))
			})
		}
	}
}

// requireAffinitiesEnd: the last change has deleted the affinities of the group, or none.
func requireAffinitiesEnd(t *testing.T, fake *of.Fake, id uint32, want bool) {
	t.Helper()
	var wanted, deletions []of.FlowMod
	if want {
		wanted = []of.FlowMod{{Command: of.DeleteByCookie, Flow: of.Flow{Cookie: testRound<<48 | 3<<40 | uint64(id)}, CookieMask: ^uint64(0)}}
	}
	for _, mod := range slices.Concat(fake.History()...) {
		if mod.Command == of.DeleteByCookie {
			deletions = append(deletions, mod)
		}
	}
	require.Equal(t, wanted, deletions)
}
