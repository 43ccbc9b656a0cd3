// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestServiceFlowsGolden(t *testing.T) {
	for _, test := range []struct {
		file  string
		ports []service.ServicePort
	}{
		{"service_clusterip.txt", []service.ServicePort{
			oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint, oftest.HostEndpoint),
			oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/dns:udp"), oftest.Over(corev1.ProtocolUDP)),
			oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/sig:sctp"), oftest.Over(corev1.ProtocolSCTP)),
		}},
		{"service_affinity.txt", []service.ServicePort{oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.WithAffinity(3*time.Hour))}},
		{"service_none.txt", []service.ServicePort{
			oftest.ClusterPort(),
			oftest.With(oftest.ClusterPort(), oftest.Named("default/dns:udp"), oftest.Over(corev1.ProtocolUDP), oftest.WithAffinity(time.Hour)),
		}},
		{"service_external.txt", []service.ServicePort{oftest.ExternalLocal()}},
		{"service_elsewhere.txt", []service.ServicePort{oftest.With(oftest.ClusterPort(), oftest.At(service.Frontend{Address: oftest.ClusterIP, Local: true}), func(p *service.ServicePort) { p.Elsewhere = true })}},
		{"service_external_affinity.txt", []service.ServicePort{oftest.With(oftest.ExternalLocal(), oftest.WithAffinity(1500*time.Millisecond))}},
		{"service_restricted.txt", []service.ServicePort{oftest.With(oftest.Restricted("198.51.100.0/24", "192.0.2.1/32"), oftest.WithAffinity(time.Hour))}},
		{"service_nobody.txt", []service.ServicePort{oftest.Restricted()}},
		{"service_internal_local.txt", []service.ServicePort{
			oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.ServedLocally(oftest.LocalEndpoint), oftest.At(service.Frontend{Address: oftest.ClusterIP, Local: true}))}},
		{"service_dualstack.txt", []service.ServicePort{
			oftest.ClusterPort(oftest.LocalEndpoint), oftest.ClusterPort6(oftest.LocalEndpoint6, oftest.RemoteEndpoint6),
			oftest.With(oftest.ClusterPort6(oftest.LocalEndpoint6), oftest.Named("six"), oftest.Over(corev1.ProtocolUDP), oftest.WithAffinity(time.Minute)),
		}},
		{"service_nested.txt", []service.ServicePort{
			oftest.With(oftest.ClusterPort(oftest.HostEndpoint), oftest.Nesting, oftest.WithAffinity(time.Hour)),
			oftest.With(oftest.ExternalLocal(), oftest.Named("default/own"), oftest.At(service.Frontend{Address: netip.MustParseAddrPort("10.96.0.11:443")},
				service.Frontend{Address: oftest.LoadBalancerIP, Local: true, External: true})),
			oftest.With(oftest.ClusterPort6(oftest.LocalEndpoint6), oftest.Named("six"), oftest.Over(corev1.ProtocolUDP)),
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			features := oftest.ProxyAllFeatures
			features.Multicluster = strings.HasPrefix(test.file, "service_nested")
			c, fake := oftest.NewTestClientOf(t, features, oftest.DualStackNode)
			base := fake.Flows()
			for _, p := range test.ports {
				require.NoError(t, c.InstallService(p))
			}
			got := oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, fake.Flows())) + "\n" + oftest.RenderGroups(t, oftest.TableNames(c), fake)
			oftest.RequireGolden(t, test.file, got)

			for _, p := range test.ports {
				require.NotEmpty(t, c.GetServiceFlowKeys(p.Name))
				require.NoError(t, c.UninstallService(p.Name))
				require.Nil(t, c.GetServiceFlowKeys(p.Name))
			}
			require.Equal(t, base, fake.Flows(), "nothing is left behind")
			require.Empty(t, oftest.RenderGroups(t, oftest.TableNames(c), fake))
		})
	}
}

// Flows to an Endpoint exist while a port uses it, whoever comes and goes.
func TestEndpointsAreShared(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	base := fake.Flows()
	web, api := oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/api"), oftest.At(service.Frontend{Address: netip.MustParseAddrPort("10.96.0.11:443")}))
	udp := oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/udp"), oftest.Over(corev1.ProtocolUDP))
	endpoints := func() (keys []string) {
		for _, flow := range oftest.NewFlows(base, fake.Flows()) {
			if flow.Table != oftest.GeneratorOf(c).ID(pipeline.TableServiceLB) {
				keys = append(keys, oftest.RenderLine(oftest.TableNames(c), flow.Key()))
			}
		}
		return keys
	}
	const (
		tcpLocal  = "table=EndpointDNAT,priority=200,tcp,reg3=0xa0a000b,reg4=0x21f90/0x7ffff"
		tcpRemote = "table=EndpointDNAT,priority=200,tcp,reg3=0xa0a0114,reg4=0x21f90/0x7ffff"
		udpLocal  = "table=EndpointDNAT,priority=200,udp,reg3=0xa0a000b,reg4=0x21f90/0x7ffff"
		hairpin   = "table=SNATMark,priority=190,ct_state=+new+trk,ct_mark=0x10/0x10,ip,nw_src=10.10.0.11,nw_dst=10.10.0.11"
	)
	for _, step := range []struct {
		name   string
		change func() error
		want   []string
	}{
		{"a port", func() error { return c.InstallService(web) }, []string{tcpLocal, tcpRemote, hairpin}},
		{"another one with one of its Endpoints", func() error { return c.InstallService(api) }, []string{tcpLocal, tcpRemote, hairpin}},
		{"a port of another protocol", func() error { return c.InstallService(udp) }, []string{tcpLocal, tcpRemote, udpLocal, hairpin}},
		{"the first one loses both", func() error { return c.InstallService(oftest.ClusterPort()) }, []string{tcpLocal, udpLocal, hairpin}},
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
	require.Zero(t, service.SharedUsers(c))
	require.Zero(t, service.KnownFrontends(c))
}

// A change of Endpoints changes the group, not its id, and no flow that stays.
func TestInstallServiceSendsOnlyDifferences(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint)))
	before := oftest.RenderGroups(t, oftest.TableNames(c), fake)
	fake.ClearHistory()
	require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint)))
	require.Empty(t, fake.History(), "nothing changes")
	require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)))
	require.Len(t, fake.History(), 1)
	require.Len(t, fake.History()[0], 1, "the flow of the new Endpoint")
	require.NotEqual(t, before, oftest.RenderGroups(t, oftest.TableNames(c), fake))
	require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint)))
	require.Equal(t, before, oftest.RenderGroups(t, oftest.TableNames(c), fake))
}

// The caller may reuse its slices.
func TestInstallServiceKeepsNoSlices(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	p := oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)
	require.NoError(t, c.InstallService(p))
	want := fake.Flows()
	p.Cluster[1], p.Frontends[0] = oftest.HostEndpoint, service.Frontend{Address: oftest.LoadBalancerIP}
	require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)))
	require.Equal(t, want, fake.Flows())
	require.NoError(t, c.UninstallService(p.Name))
	require.NotContains(t, oftest.Render(oftest.TableNames(c), fake.Flows()), "priority=200,tcp,reg3")
}

func TestRefusedServices(t *testing.T) {
	port := func(edits ...func(*service.ServicePort)) service.ServicePort {
		return oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), edits...)
	}
	for _, test := range []struct {
		name     string
		features pipeline.Features
		port     service.ServicePort
		want     string
	}{
		{"without name", oftest.DefaultFeatures, port(oftest.Named("")), "without name"},
		{"another protocol", oftest.DefaultFeatures, port(oftest.Over("ICMP")), `protocol "ICMP": must be TCP, UDP or SCTP`},
		{"without frontend", oftest.DefaultFeatures, port(oftest.At()), "has no frontend"},
		{"negative affinity", oftest.DefaultFeatures, port(oftest.WithAffinity(-time.Second)), "must not be negative"},
		{"frontend without port", oftest.DefaultFeatures, port(oftest.At(service.Frontend{Address: netip.AddrPortFrom(oftest.PodAIP, 0)})), "a port that is not 0"},
		{"frontend without address", oftest.DefaultFeatures, port(oftest.At(service.Frontend{})), "must be an address"},
		{"mapped address", oftest.DefaultFeatures, port(oftest.At(service.Frontend{Address: netip.MustParseAddrPort("[::ffff:10.96.0.10]:80")})), "must be an address"},
		{"frontends of two IP versions", oftest.DefaultFeatures, port(oftest.At(service.Frontend{Address: oftest.ClusterIP}, service.Frontend{Address: oftest.ClusterIP6})), "[fd00:96::10]:80: all addresses"},
		{"Endpoint of another IP version", oftest.DefaultFeatures, oftest.ClusterPort(oftest.LocalEndpoint6), "[fd00:10:0:a::11]:8080: all addresses"},
		{"local Endpoint of another IP version", oftest.DefaultFeatures, port(oftest.ServedLocally(oftest.LocalEndpoint6)), "[fd00:10:0:a::11]:8080: all addresses"},
		{"frontend twice", oftest.DefaultFeatures, port(oftest.At(service.Frontend{Address: oftest.ClusterIP}, service.Frontend{Address: oftest.ClusterIP, External: true})), "10.96.0.10:80 twice"},
		{"IP version without Pods", oftest.DefaultFeatures, oftest.ClusterPort6(oftest.LocalEndpoint6), "[fd00:96::10]:80: the Pods of this Node have no addresses"},
		{"range with host bits", oftest.DefaultFeatures, port(oftest.RestrictedTo("10.0.0.1/8")), "source range 10.0.0.1/8: must be a network without host bits"},
		{"range of another IP version", oftest.DefaultFeatures, port(oftest.RestrictedTo("fd00::/8")), "source range fd00::/8: must be a network"},
		{"NodePort without proxyAll", oftest.DefaultFeatures, oftest.ExternalLocal(), "NodePort 30080: antreaProxy.proxyAll must be true"},
		{"without AntreaProxy", oftest.MinimalFeatures, port(), "AntreaProxy must be enabled"},
		{"a frontend of another port", oftest.DefaultFeatures, port(oftest.Named("default/other")), "10.96.0.10:80 (NodePort false) belongs to the Service port default/web:http"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, test.features)
			if test.features.AntreaProxy {
				require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint)))
			}
			before, groups := fake.Flows(), oftest.RenderGroups(t, oftest.TableNames(c), fake)
			fake.ClearHistory()
			err := c.InstallService(test.port)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "Service port "+test.port.Name)
			require.Empty(t, fake.History())
			require.Equal(t, before, fake.Flows())
			require.Equal(t, groups, oftest.RenderGroups(t, oftest.TableNames(c), fake))
		})
	}
}

// The frontend of a removed port is free for another one; frontends of different kinds and protocols do not collide.
func TestFrontendsAreReleased(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
	require.NoError(t, c.InstallService(oftest.ExternalLocal()))
	other := oftest.With(oftest.ExternalLocal(), oftest.Named("default/other"))
	require.Error(t, c.InstallService(other))
	require.NoError(t, c.InstallService(oftest.With(oftest.ExternalLocal(), oftest.Named("default/udp"), oftest.Over(corev1.ProtocolUDP))))
	require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(), oftest.Named("default/30080"), oftest.At(service.Frontend{Address: netip.AddrPortFrom(oftest.ClusterIP.Addr(), 30080)}))))
	require.NoError(t, c.UninstallService(oftest.ExternalLocal().Name))
	require.NoError(t, c.InstallService(other))
	require.NoError(t, c.InstallService(oftest.With(other, oftest.At(other.Frontends[0]))))
	require.NoError(t, c.InstallService(oftest.With(oftest.ExternalLocal(), oftest.At(oftest.ExternalLocal().Frontends[1:]...))))
}

// Any change of a Service is nothing to ONCache, and travels in one bundle with what it marks.
func TestServicesEvictNothing(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	for name, change := range map[string]func() error{
		"install": func() error { return c.InstallService(oftest.ExternalLocal()) },
		"change":  func() error { return c.InstallService(oftest.With(oftest.ExternalLocal(), oftest.ServedLocally())) },
		"with affinity": func() error {
			return c.InstallService(oftest.With(oftest.ExternalLocal(), oftest.WithAffinity(time.Hour)))
		},
		"node addresses": func() error { return c.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}) },
		"remove":         func() error { return c.UninstallService(oftest.ExternalLocal().Name) },
	} {
		r.Changes = nil
		fake.ClearHistory()
		require.NoError(t, change(), name)
		for _, change := range r.Changes {
			change.Services, change.Frontends = nil, nil // the latter evict with openings only
			require.Equal(t, coherency.Change{}, change, name)
		}
		require.LessOrEqual(t, len(fake.History()), 1, name)
	}
}

// ONCache is told by which addresses Pods reach Endpoints in the Pod network.
func TestServiceAddressesThatLeadToPods(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	second := oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.Named("default/second"), oftest.At(service.Frontend{Address: netip.AddrPortFrom(oftest.ClusterIP.Addr(), 81)}))
	external := service.Frontend{Address: oftest.LoadBalancerIP, External: true, Local: true}
	for _, step := range []struct {
		name   string
		change func() error
		want   map[netip.Addr]bool
	}{
		{"Endpoints in host networks", func() error { return c.InstallService(oftest.ClusterPort(oftest.HostEndpoint)) }, nil},
		{"a Pod on another Node", func() error {
			return c.InstallService(oftest.ClusterPort(oftest.HostEndpoint, oftest.ElsewhereEndpoint))
		}, map[netip.Addr]bool{oftest.ClusterIP.Addr(): true}},
		{"on none", func() error { return c.InstallService(oftest.ClusterPort(oftest.HostEndpoint)) }, map[netip.Addr]bool{oftest.ClusterIP.Addr(): false}},
		{"a Pod on this Node", func() error { return c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint)) }, map[netip.Addr]bool{oftest.ClusterIP.Addr(): true}},
		{"another port", func() error { return c.InstallService(second) }, nil},
		{"the first port has none any more", func() error { return c.InstallService(oftest.ClusterPort(oftest.HostEndpoint)) }, nil},
		{"the last one", func() error { return c.UninstallService(second.Name) }, map[netip.Addr]bool{oftest.ClusterIP.Addr(): false}},
		{"an external address that is Local for others", func() error {
			return c.InstallService(oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.At(external)))
		},
			map[netip.Addr]bool{oftest.LoadBalancerIP.Addr(): true}},
	} {
		r.Changes = nil
		require.NoError(t, step.change(), step.name)
		require.Len(t, r.Changes, 1, step.name)
		require.Equal(t, step.want, r.Changes[0].Services, step.name)
	}
}

func TestFailedServiceChangeLeavesEverythingAsBefore(t *testing.T) {
	for _, fate := range []error{oftest.ErrRefused, of.ErrDisconnected} {
		for _, test := range []struct {
			name   string
			change func(c openflow.Client) error
		}{
			{"new port", func(c openflow.Client) error {
				return c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.LocalEndpointB), oftest.Named("new"), oftest.At(service.Frontend{Address: oftest.LoadBalancerIP})))
			}},
			{"other Endpoints", func(c openflow.Client) error { return c.InstallService(oftest.ClusterPort(oftest.HostEndpoint)) }},
			{"affinity", func(c openflow.Client) error {
				return c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.WithAffinity(time.Hour)))
			}},
			{"another frontend with another scope", func(c openflow.Client) error {
				return c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.At(service.Frontend{Address: oftest.LoadBalancerIP, Local: true})))
			}},
			{"removed port", func(c openflow.Client) error { return c.UninstallService(oftest.ClusterPort().Name) }},
			{"NodePort addresses", func(c openflow.Client) error { return c.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}) }},
		} {
			t.Run(fmt.Sprint(test.name, ", ", fate), func(t *testing.T) {
				c, fake := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
				require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)))
				before, groups, keys := fake.Flows(), oftest.RenderGroups(t, oftest.TableNames(c), fake), c.GetServiceFlowKeys(oftest.ClusterPort().Name)
				fake.FailNext(fate)
				require.ErrorIs(t, test.change(c), fate)
				require.Equal(t, before, fake.Flows())
				require.Equal(t, groups, oftest.RenderGroups(t, oftest.TableNames(c), fake))
				require.Equal(t, keys, c.GetServiceFlowKeys(oftest.ClusterPort().Name))
				require.NoError(t, c.ReplayFlows(func() {}))
				require.Equal(t, before, fake.Flows())
				require.Equal(t, groups, oftest.RenderGroups(t, oftest.TableNames(c), fake))
				require.NoError(t, test.change(c))
				require.NotEqual(t, before, fake.Flows())
				require.NoError(t, c.UninstallService("new"))
				require.NoError(t, c.UninstallService(oftest.ClusterPort().Name))
				require.Empty(t, oftest.RenderGroups(t, oftest.TableNames(c), fake))
			})
		}
	}
}

func TestNodePortAddresses(t *testing.T) {
	c, fake := oftest.NewTestClientOf(t, oftest.ProxyAllFeatures, oftest.DualStackNode)
	base := fake.Flows()
	keys := func() (keys []string) {
		for _, flow := range oftest.NewFlows(base, fake.Flows()) {
			keys = append(keys, oftest.RenderLine(oftest.TableNames(c), flow.Key()))
		}
		return keys
	}
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{oftest.NodeIP, oftest.RemotePeer6, oftest.NodeIP, netip.MustParseAddr("169.254.0.252")}))
	require.ElementsMatch(t, []string{"table=NodePortMark,priority=200,ip,nw_dst=192.168.77.101", "table=NodePortMark,priority=200,ipv6,ipv6_dst=fd00:77::102"}, keys())
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{netip.MustParseAddr("::ffff:192.168.77.101")}))
	require.Equal(t, []string{"table=NodePortMark,priority=200,ip,nw_dst=192.168.77.101"}, keys())
	require.NoError(t, c.SetNodePortAddresses(nil))
	require.Equal(t, base, fake.Flows())

	require.ErrorContains(t, c.SetNodePortAddresses([]netip.Addr{{}}), "must be an IPv4 or IPv6 address")
	c, _ = oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.ErrorContains(t, c.SetNodePortAddresses(nil), "proxyAll must be true")
}

// A learned flow must not keep a client at an Endpoint that its port has lost and another one has.
func TestAffinityToAnEndpointOfAnotherPort(t *testing.T) {
	other := oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.Named("default/other"), oftest.At(service.Frontend{Address: oftest.LoadBalancerIP}))
	for _, test := range []struct {
		name    string
		others  []service.ServicePort
		after   service.ServicePort
		deletes bool
	}{
		{"another port has it", []service.ServicePort{other}, oftest.ClusterPort(oftest.LocalEndpoint), true},
		{"no port has it: its flow is gone", nil, oftest.ClusterPort(oftest.LocalEndpoint), false},
		{"it stays", []service.ServicePort{other}, oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint, oftest.HostEndpoint), false},
		{"another port has its address in another protocol", []service.ServicePort{oftest.With(other, oftest.Over(corev1.ProtocolUDP))}, oftest.ClusterPort(oftest.LocalEndpoint), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
			for _, p := range test.others {
				require.NoError(t, c.InstallService(p))
			}
			require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.WithAffinity(time.Hour))))
			id := service.GroupOf(c, oftest.ClusterPort().Name)
			fake.ClearHistory()
			require.NoError(t, c.InstallService(oftest.With(test.after, oftest.WithAffinity(time.Hour))))
			requireAffinitiesEnd(t, fake, id, test.deletes)
		})
	}
}

// The same, when the other port gets the Endpoint later, perhaps because another Pod has got its address.
func TestAffinityToAnEndpointThatAnotherPortGets(t *testing.T) {
	affine := func(endpoints ...service.Endpoint) service.ServicePort {
		return oftest.With(oftest.ClusterPort(endpoints...), oftest.WithAffinity(time.Hour))
	}
	other := oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.Named("default/other"), oftest.At(service.Frontend{Address: oftest.LoadBalancerIP}))
	withLoadBalancer := func(local bool) service.ServicePort {
		return oftest.With(affine(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.ServedLocally(oftest.LocalEndpoint),
			oftest.At(service.Frontend{Address: oftest.ClusterIP}, service.Frontend{Address: oftest.LoadBalancerIP, External: true, Local: local}))
	}
	many, elsewhere := make([]service.Endpoint, service.MaxEndpoints), make([]service.Endpoint, service.MaxLost-service.MaxEndpoints)
	for i := range many {
		many[i] = service.Endpoint{Address: netip.AddrPortFrom(oftest.RemotePodIP, uint16(i+1)), PodNetwork: true}
	}
	for i := range elsewhere {
		elsewhere[i] = service.Endpoint{Address: netip.AddrPortFrom(oftest.RemotePodIP.Next(), uint16(i+1)), PodNetwork: true}
	}
	for _, test := range []struct {
		name    string
		before  []service.ServicePort
		last    service.ServicePort
		deletes bool
	}{
		{"it gets it", []service.ServicePort{affine(oftest.LocalEndpoint)}, other, true},
		{"it gets it while its own are known to be lost", []service.ServicePort{affine(oftest.LocalEndpoint), oftest.With(other, oftest.WithAffinity(time.Hour)), oftest.With(other, oftest.WithAffinity(time.Hour), func(p *service.ServicePort) { p.Cluster = nil })}, other, false},
		{"again, when nothing can have been learned", []service.ServicePort{affine(oftest.LocalEndpoint), other, oftest.With(other, func(p *service.ServicePort) { p.Cluster = nil })}, other, false},
		{"the port has it again", []service.ServicePort{affine(oftest.LocalEndpoint), affine(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)}, other, false},
		{"the port has had no affinity since then", []service.ServicePort{affine(oftest.LocalEndpoint), oftest.ClusterPort(oftest.LocalEndpoint), affine(oftest.LocalEndpoint)}, other, false},
		{"the port is removed", []service.ServicePort{affine(oftest.LocalEndpoint), {Name: oftest.ClusterPort().Name}}, other, false},
		{"it gets another one", []service.ServicePort{affine(oftest.LocalEndpoint)}, oftest.With(other, func(p *service.ServicePort) { p.Cluster = []service.Endpoint{oftest.HostEndpoint} }), false},
		{"the port has lost very many", []service.ServicePort{affine(many...), affine(elsewhere...)}, affine(oftest.LocalEndpoint), true},
		{"the port loses an address", []service.ServicePort{oftest.With(affine(oftest.LocalEndpoint), oftest.At(service.Frontend{Address: oftest.ClusterIP}, service.Frontend{Address: oftest.LoadBalancerIP, External: true}))}, affine(oftest.LocalEndpoint), true},
		{"an address is served by other Endpoints", []service.ServicePort{withLoadBalancer(false)}, withLoadBalancer(true), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
			require.NoError(t, c.InstallService(affine(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)))
			id := service.GroupOf(c, oftest.ClusterPort().Name)
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
				require.Zero(t, service.LostEndpoints(c))
			}
		})
	}
}

// The groups of as many Endpoints as allowed fit into a message, and more are left out.
func TestManyEndpoints(t *testing.T) {
	for _, test := range []struct {
		name  string
		port  func(...service.Endpoint) service.ServicePort
		first netip.Addr
	}{
		{"IPv4", oftest.ClusterPort, netip.MustParseAddr("10.20.0.1")},
		{"IPv6", oftest.ClusterPort6, netip.MustParseAddr("fd00:20::1")},
	} {
		for _, n := range []int{1, service.MaxLoads, service.MaxLoads + 1, service.MaxEndpoints, service.MaxEndpoints + 1} {
			t.Run(fmt.Sprint(test.name, " ", n), func(t *testing.T) {
				c, fake := oftest.NewTestClientOf(t, oftest.DefaultFeatures, oftest.DualStackNode)
				base := fake.Flows()
				var endpoints []service.Endpoint
				for addr := test.first; len(endpoints) < n; addr = addr.Next() {
					endpoints = append(endpoints, service.Endpoint{Address: netip.AddrPortFrom(addr, 8080), PodNetwork: true})
				}
				require.NoError(t, c.InstallService(test.port(endpoints...)))
				groups, err := fake.DumpGroups(t.Context())
				require.NoError(t, err)
				require.Len(t, groups[0].Buckets, min(n, service.MaxEndpoints))
				require.Len(t, oftest.NewFlows(base, fake.Flows()), 1+min(n, service.MaxEndpoints))
			})
		}
	}
}

// requireAffinitiesEnd: the last change has deleted the affinities of the group, or none.
func requireAffinitiesEnd(t *testing.T, fake *of.Fake, id uint32, want bool) {
	t.Helper()
	var wanted, deletions []of.FlowMod
	if want {
		wanted = []of.FlowMod{{Command: of.DeleteByCookie, Flow: of.Flow{Cookie: oftest.TestRound<<48 | 3<<40 | uint64(id)}, CookieMask: ^uint64(0)}}
	}
	for _, mod := range slices.Concat(fake.History()...) {
		if mod.Command == of.DeleteByCookie {
			deletions = append(deletions, mod)
		}
	}
	require.Equal(t, wanted, deletions)
}
