// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

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

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var (
	clusterIP      = netip.MustParseAddrPort("10.96.0.10:80")
	clusterIP6     = netip.MustParseAddrPort("[fd00:96::10]:80")
	loadBalancerIP = netip.MustParseAddrPort("203.0.113.10:80")
	nodeIP         = netip.MustParseAddr("192.168.77.101")

	localEndpoint     = Endpoint{Address: netip.AddrPortFrom(podAIP, 8080), OnThisNode: true, PodNetwork: true}
	localEndpointB    = Endpoint{Address: netip.AddrPortFrom(podBIP, 8080), OnThisNode: true, PodNetwork: true}
	elsewhereEndpoint = Endpoint{Address: netip.AddrPortFrom(remotePodIP, 8080), PodNetwork: true}
	hostEndpoint      = Endpoint{Address: netip.MustParseAddrPort("192.168.77.103:6443")}
	localEndpoint6    = Endpoint{Address: netip.AddrPortFrom(podA6IP, 8080), OnThisNode: true, PodNetwork: true}
	remoteEndpoint6   = Endpoint{Address: netip.AddrPortFrom(remotePod6, 8080), PodNetwork: true}
)

// clusterPort is a port with a cluster IP.
func clusterPort(endpoints ...Endpoint) ServicePort {
	return ServicePort{Name: "default/web:http", Protocol: corev1.ProtocolTCP, Frontends: []Frontend{{Address: clusterIP}}, Cluster: endpoints}
}

func clusterPort6(endpoints ...Endpoint) ServicePort {
	p := clusterPort(endpoints...)
	p.Name, p.Frontends = p.Name+"/IPv6", []Frontend{{Address: clusterIP6}}
	return p
}

// with returns the port after edits.
func with(p ServicePort, edits ...func(*ServicePort)) ServicePort {
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func named(name string) func(*ServicePort) { return func(p *ServicePort) { p.Name = name } }

func at(frontends ...Frontend) func(*ServicePort) {
	return func(p *ServicePort) { p.Frontends = frontends }
}

func over(protocol corev1.Protocol) func(*ServicePort) {
	return func(p *ServicePort) { p.Protocol = protocol }
}

func withAffinity(d time.Duration) func(*ServicePort) {
	return func(p *ServicePort) { p.Affinity = d }
}

func servedLocally(endpoints ...Endpoint) func(*ServicePort) {
	return func(p *ServicePort) { p.Local = endpoints }
}

// externalLocal is a port with all kinds of frontends, those from outside with the scope of the Node.
func externalLocal() ServicePort {
	return with(clusterPort(localEndpoint, elsewhereEndpoint, hostEndpoint), servedLocally(localEndpoint), at(
		Frontend{Address: clusterIP},
		Frontend{Address: loadBalancerIP, Local: true, External: true},
		Frontend{Address: netip.AddrPortFrom(clusterIP.Addr(), 30080), Local: true, NodePort: true},
	))
}

// restrictedTo lets only clients of the networks use the frontends that are restricted.
func restrictedTo(networks ...string) func(*ServicePort) {
	return func(p *ServicePort) { p.SourceRanges = prefixes(networks...) }
}

// restricted is a port of which a load balancer's address is for some clients only.
func restricted(networks ...string) ServicePort {
	return with(externalLocal(), restrictedTo(networks...), func(p *ServicePort) { p.Frontends[1].Restricted = true })
}

// renderGroups prints the groups with the names of tables.
func renderGroups(t *testing.T, tables map[uint8]string, sw of.Reader) string {
	t.Helper()
	groups, err := sw.DumpGroups(t.Context())
	require.NoError(t, err)
	slices.SortFunc(groups, func(a, b of.GroupEntry) int { return cmp.Compare(a.ID, b.ID) })
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(renderLine(tables, g.String()) + "\n")
	}
	return b.String()
}

// acceptingSwitch accepts every change and keeps nothing.
type acceptingSwitch struct {
	*of.Fake
	// last is the number of changes in the last bundle.
	last int
}

func (s *acceptingSwitch) Apply(_ context.Context, t of.Transaction) error {
	s.last = len(t.Groups) + len(t.Flows)
	return nil
}

func (s *acceptingSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	return s.Apply(ctx, of.Transaction{Flows: mods})
}

// manyServices is the i-th of many ports with affinity.
func manyServices(i int, endpoints ...Endpoint) ServicePort {
	return with(clusterPort(endpoints...), named(fmt.Sprint("service-", i)), at(Frontend{Address: netip.AddrPortFrom(nthPeer(i), 80)}), withAffinity(time.Hour))
}
