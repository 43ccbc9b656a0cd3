// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// testOpenings checks which openings Nodes learn: of connections between Pods of two Nodes, on both, as long as each Node's own rules let them
// pass; and none of denied connections, connections to Services on the client's Node, connections within a Node or with its own host, and connections
// about whose ports of the client there are rules.
func testOpenings(t *testing.T, s *suite) {
	s.setOpenings(t, true)
	defer s.setOpenings(t, false)
	for app, p := range map[string]*cluster.Pod{"client": s.client, "neighbor": s.neighbor, "server": s.server} {
		s.label(t, p, map[string]string{"app": app})
		defer s.label(t, p, nil)
	}
	startSink(t, s.server.Space)
	startServer(t, s.server.Space, "tcp-sink", fmt.Sprintf("--listen=:%d", streamSinkPort))
	startSink(t, s.near.Space)

	t.Run("BothNodes", func(t *testing.T) { testOpeningsOfBothNodes(t, s) })
	t.Run("Service", func(t *testing.T) { testOpeningsOfService(t, s) })
	t.Run("IngressDenied", func(t *testing.T) { testOpeningsDenied(t, s) })
	t.Run("EgressDenied", func(t *testing.T) {
		s.requireOpened(t, s.client, sinkPort)
		remove := s.applyPolicy(t, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "no-egress"},
			Spec:       networkingv1.NetworkPolicySpec{PodSelector: *selector("client"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
		})
		s.requireNoOpening(t, s.node1, s.client, sinkPort)
		for range 3 {
			requireNoConnection(t, s.client.Space, s.address(sinkPort))
		}
		s.requireNoOpening(t, s.node1, s.client, sinkPort)
		remove()
		s.requireOpened(t, s.client, sinkPort)
	})
	t.Run("SourcePorts", func(t *testing.T) { testOpeningsOfSourcePorts(t, s) })
}

// setOpenings restarts all agents with openings, or without.
func (s *suite) setOpenings(t *testing.T, on bool) {
	t.Helper()
	s.configureONCache(t, func(oncache map[string]any) { oncache["openings"] = on })
	eventuallyWithin(t, execTimeout, "the caches of all Nodes", func() error {
		for _, n := range s.Nodes {
			if status := oncacheStatus(t, n); (status.Openings != nil) != on {
				return notYet(fmt.Sprintf("%s has %+v", n.Name, status))
			}
		}
		return nil
	})
}

// openingsOn lists the openings of a Node as antctl prints them.
func openingsOn(t *testing.T, n *cluster.Node) []api.OpeningInfo {
	t.Helper()
	return antctl[[]api.OpeningInfo](t, n, "get", "oncache", "openings")
}

// openingOn is the opening of a client to a port of the server on a Node; State is "" if there is none.
func (s *suite) openingOn(t *testing.T, n *cluster.Node, client *cluster.Pod, port uint16) api.OpeningInfo {
	t.Helper()
	server := netip.AddrPortFrom(s.server.IP, port).String()
	for _, o := range openingsOn(t, n) {
		if o.Client == client.IP.String() && o.Server == server {
			return o
		}
	}
	return api.OpeningInfo{}
}

// openSome opens four connections, one right after the other: between two looks at openings, a lease may end.
func openSome(t *testing.T, client *cluster.Pod, to netip.AddrPort) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	_, err := client.Space.Exec(ctx, "timeout", "10", "bash", "-c",
		fmt.Sprintf("for i in 1 2 3 4; do exec 3<>/dev/tcp/%s/%d || exit 1; exec 3>&-; done", to.Addr(), to.Port()))
	return err
}

// stands reports whether an opening was proved by the present rules. Its lease may have ended since the last connection: on a busy machine, to look
// at openings takes longer.
func stands(o *api.OpeningInfo) bool { return o.State == "active" || o.State == "lease" }

// requireOpened opens connections until both Nodes have an opening for them.
func (s *suite) requireOpened(t *testing.T, client *cluster.Pod, port uint16) {
	t.Helper()
	eventually(t, fmt.Sprintf("openings of %s to port %d", client.PodName, port), func() error {
		if err := openSome(t, client, netip.AddrPortFrom(s.server.IP, port)); err != nil {
			return err
		}
		for _, n := range []*cluster.Node{s.node1, s.server.Node} {
			if o := s.openingOn(t, n, client, port); !stands(&o) {
				return notYet(fmt.Sprintf("%s has %+v, and in all %+v; its programs counted %v", n.Name, o, openingsOn(t, n), oncacheStatus(t, n).Programs))
			}
		}
		return nil
	})
}

// requireNoOpening requires that the Node has no opening of the client that may be used.
func (s *suite) requireNoOpening(t *testing.T, n *cluster.Node, client *cluster.Pod, port uint16) {
	t.Helper()
	o := s.openingOn(t, n, client, port)
	require.False(t, stands(&o), "%+v", o)
}

func testOpeningsOfBothNodes(t *testing.T, s *suite) {
	s.requireOpened(t, s.client, sinkPort)
	for _, n := range []*cluster.Node{s.node1, s.server.Node} {
		o := s.openingOn(t, n, s.client, sinkPort)
		pod, node := s.client, s.server.Node
		if n == node {
			pod, node = s.server, s.node1
		}
		require.Equal(t, namespace+"/"+pod.PodName, o.Pod)
		require.Equal(t, node.Name, o.Node)
	}
	// The next connections are covered, and come to Open vSwitch nevertheless.
	eventually(t, "connections to be covered on both Nodes", func() error {
		if err := openSome(t, s.client, s.address(sinkPort)); err != nil {
			return err
		}
		for _, n := range []*cluster.Node{s.node1, s.server.Node} {
			if s.openingOn(t, n, s.client, sinkPort).Covered == 0 {
				return notYet("not on " + n.Name)
			}
		}
		return nil
	})
	// One opening lasts longer than a lease, 5 s, while it is used.
	first := s.openingOn(t, s.node1, s.client, sinkPort)
	eventuallyWithin(t, execTimeout, "the opening to be renewed", func() error {
		if err := openSome(t, s.client, s.address(sinkPort)); err != nil {
			return err
		}
		if o := s.openingOn(t, s.node1, s.client, sinkPort); o.AgeSeconds < first.AgeSeconds+10 || !stands(&o) {
			return notYet(fmt.Sprintf("%+v", o))
		}
		return nil
	})
	require.NotZero(t, oncacheStatus(t, s.node1).Openings.Renewed)

	// Connections within the Node, from a host, and to a port that refuses.
	for range 3 {
		requireConnects(t, s.client.Space, netip.AddrPortFrom(s.near.IP, sinkPort))
		requireConnects(t, s.node1.Space, s.address(sinkPort))
		require.Error(t, connect(t, s.client.Space, s.address(closedPort)))
	}
	for _, n := range []*cluster.Node{s.node1, s.server.Node} {
		for _, o := range openingsOn(t, n) {
			if o.Server == netip.AddrPortFrom(s.server.IP, closedPort).String() {
				require.Equal(t, "not_proved", o.State, "there was no answer")
				continue
			}
			require.Equal(t, netip.AddrPortFrom(s.server.IP, sinkPort).String(), o.Server)
			// To the server's Node, the other Node's host is like a Pod.
			if n == s.node1 || o.Client != s.node1.PodCIDR.Addr().Next().String() {
				require.Equal(t, s.client.IP.String(), o.Client)
			}
		}
	}
}

// testOpeningsOfService: the client's Node learns nothing of connections to a Service, because each chooses an Endpoint; to the
// server's Node, they are like others.
func testOpeningsOfService(t *testing.T, s *suite) {
	ports := []servicePort{{corev1.ProtocolTCP, 8099, streamSinkPort}}
	ip := s.makeService(t, "openings", []netip.Addr{s.server.IP}, ports)[0]
	s.publish(t, "openings", ports, endpoint{s.server.IP, s.server.Node})
	eventually(t, "an opening on the server's Node", func() error {
		if err := openSome(t, s.client, netip.AddrPortFrom(ip, 8099)); err != nil {
			return err
		}
		if o := s.openingOn(t, s.server.Node, s.client, streamSinkPort); !stands(&o) {
			return notYet(fmt.Sprintf("%+v", o))
		}
		return nil
	})
	require.False(t, slices.ContainsFunc(openingsOn(t, s.node1), func(o api.OpeningInfo) bool {
		return o.Server == netip.AddrPortFrom(ip, 8099).String() || o.Server == netip.AddrPortFrom(s.server.IP, streamSinkPort).String()
	}), "%+v", openingsOn(t, s.node1))
}

// testOpeningsDenied: a rule for the server voids the openings of its Node at once, and denied connections teach none. The client's Node has no
// such rule, and knows nothing of it.
func testOpeningsDenied(t *testing.T, s *suite) {
	s.requireOpened(t, s.client, sinkPort)
	remove := s.applyPolicy(t, ingressTo("closed", "server", networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("neighbor")}},
	}))
	s.requireNoOpening(t, s.server.Node, s.client, sinkPort)
	for range 3 {
		requireNoConnection(t, s.client.Space, s.address(sinkPort))
		s.requireNoOpening(t, s.server.Node, s.client, sinkPort)
	}
	s.requireOpened(t, s.neighbor, sinkPort)
	s.requireNoOpening(t, s.server.Node, s.client, sinkPort)
	remove()
	s.requireOpened(t, s.client, sinkPort)
}

// testOpeningsOfSourcePorts: while a rule about source ports is applied to the server, its Node learns no openings of it, although connections
// pass.
func testOpeningsOfSourcePorts(t *testing.T, s *suite) {
	s.requireOpened(t, s.client, sinkPort)
	client, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	policies := client.Resource(crd.NetworkPolicies).Namespace(namespace)
	object := crd.New("NetworkPolicy", "source-ports")
	require.NoError(t, crd.Fill(object, &v1beta1.NetworkPolicy{Spec: v1beta1.NetworkPolicySpec{
		Tier: "application", Priority: 5, AppliedTo: []v1beta1.AppliedTo{{PodSelector: selector("server")}},
		Ingress: []v1beta1.Rule{{
			Name: "low", Action: ptr.To(v1beta1.RuleActionDrop), Ports: []v1beta1.NetworkPolicyPort{{SourcePort: ptr.To(int32(1)), SourceEndPort: ptr.To(int32(1023))}},
		}},
	}}))
	_, err = policies.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	gone := func() {
		requireGone(t, policies.Delete(context.WithoutCancel(t.Context()), "source-ports", metav1.DeleteOptions{}))
	}
	t.Cleanup(gone)
	eventually(t, "the rule to void the opening", func() error {
		if o := s.openingOn(t, s.server.Node, s.client, sinkPort); stands(&o) {
			return notYet(fmt.Sprintf("%+v", o))
		}
		return nil
	})
	before := oncacheStatus(t, s.server.Node).Programs["ingress_init"]
	for range 5 {
		requireConnects(t, s.client.Space, s.address(sinkPort))
		s.requireNoOpening(t, s.server.Node, s.client, sinkPort)
	}
	after := oncacheStatus(t, s.server.Node).Programs["ingress_init"]
	require.Equal(t, before["opening_learned"], after["opening_learned"])
	require.Greater(t, after["not_established"], before["not_established"], "the SYNs asked, and got no mark: %v", after)
	o := s.openingOn(t, s.node1, s.client, sinkPort)
	require.True(t, stands(&o), "the client has no such rule: %+v", o)
	gone()
	s.requireOpened(t, s.client, sinkPort)
}
