// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oftest

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var (
	ClusterIP      = netip.MustParseAddrPort("10.96.0.10:80")
	ClusterIP6     = netip.MustParseAddrPort("[fd00:96::10]:80")
	LoadBalancerIP = netip.MustParseAddrPort("203.0.113.10:80")
	NodeIP         = netip.MustParseAddr("192.168.77.101")

	LocalEndpoint     = openflow.Endpoint{Address: netip.AddrPortFrom(PodAIP, 8080), OnThisNode: true, PodNetwork: true}
	LocalEndpointB    = openflow.Endpoint{Address: netip.AddrPortFrom(PodBIP, 8080), OnThisNode: true, PodNetwork: true}
	ElsewhereEndpoint = openflow.Endpoint{Address: netip.AddrPortFrom(RemotePodIP, 8080), PodNetwork: true}
	HostEndpoint      = openflow.Endpoint{Address: netip.MustParseAddrPort("192.168.77.103:6443")}
	LocalEndpoint6    = openflow.Endpoint{Address: netip.AddrPortFrom(PodA6IP, 8080), OnThisNode: true, PodNetwork: true}
	RemoteEndpoint6   = openflow.Endpoint{Address: netip.AddrPortFrom(RemotePod6, 8080), PodNetwork: true}
)

// ClusterPort is a port with a cluster IP.
func ClusterPort(endpoints ...openflow.Endpoint) openflow.ServicePort {
	return openflow.ServicePort{Name: "default/web:http", Protocol: corev1.ProtocolTCP, Frontends: []openflow.Frontend{{Address: ClusterIP}}, Cluster: endpoints}
}

func ClusterPort6(endpoints ...openflow.Endpoint) openflow.ServicePort {
	p := ClusterPort(endpoints...)
	p.Name, p.Frontends = p.Name+"/IPv6", []openflow.Frontend{{Address: ClusterIP6}}
	return p
}

// With returns the port after edits.
func With(p openflow.ServicePort, edits ...func(*openflow.ServicePort)) openflow.ServicePort {
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func Named(name string) func(*openflow.ServicePort) {
	return func(p *openflow.ServicePort) { p.Name = name }
}

func At(frontends ...openflow.Frontend) func(*openflow.ServicePort) {
	return func(p *openflow.ServicePort) { p.Frontends = frontends }
}

func Over(protocol corev1.Protocol) func(*openflow.ServicePort) {
	return func(p *openflow.ServicePort) { p.Protocol = protocol }
}

func WithAffinity(d time.Duration) func(*openflow.ServicePort) {
	return func(p *openflow.ServicePort) { p.Affinity = d }
}

// Nesting lets the port lead to other Services of the cluster.
func Nesting(p *openflow.ServicePort) { p.Nested = true }

func ServedLocally(endpoints ...openflow.Endpoint) func(*openflow.ServicePort) {
	return func(p *openflow.ServicePort) { p.Local = endpoints }
}

// ExternalLocal is a port with all kinds of frontends; external frontends have the scope of the Node.
func ExternalLocal() openflow.ServicePort {
	return With(ClusterPort(LocalEndpoint, ElsewhereEndpoint, HostEndpoint), ServedLocally(LocalEndpoint), At(
		openflow.Frontend{Address: ClusterIP},
		openflow.Frontend{Address: LoadBalancerIP, Local: true, External: true},
		openflow.Frontend{Address: netip.AddrPortFrom(ClusterIP.Addr(), 30080), Local: true, NodePort: true},
	))
}

// RestrictedTo lets only clients of the networks use the frontends that are restricted.
func RestrictedTo(networks ...string) func(*openflow.ServicePort) {
	return func(p *openflow.ServicePort) { p.SourceRanges = Prefixes(networks...) }
}

// Restricted is a port of which a load balancer's address is for some clients only.
func Restricted(networks ...string) openflow.ServicePort {
	return With(ExternalLocal(), RestrictedTo(networks...), func(p *openflow.ServicePort) { p.Frontends[1].Restricted = true })
}

// RenderGroups prints the groups with the names of tables.
func RenderGroups(t *testing.T, tables map[uint8]string, sw of.Reader) string {
	t.Helper()
	groups, err := sw.DumpGroups(t.Context())
	require.NoError(t, err)
	slices.SortFunc(groups, func(a, b of.GroupEntry) int { return cmp.Compare(a.ID, b.ID) })
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(RenderLine(tables, g.String()) + "\n")
	}
	return b.String()
}

// AcceptingSwitch accepts every change and keeps nothing.
type AcceptingSwitch struct {
	*of.Fake
	// Last is the number of changes in the last bundle.
	Last int
}

func (s *AcceptingSwitch) Apply(_ context.Context, t of.Transaction) error {
	s.Last = len(t.Groups) + len(t.Flows)
	return nil
}

func (s *AcceptingSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	return s.Apply(ctx, of.Transaction{Flows: mods})
}

// ManyServices is the i-th of many ports with affinity.
func ManyServices(i int, endpoints ...openflow.Endpoint) openflow.ServicePort {
	return With(ClusterPort(endpoints...), Named(fmt.Sprint("service-", i)), At(openflow.Frontend{Address: netip.AddrPortFrom(NthPeer(i), 80)}), WithAffinity(time.Hour))
}
