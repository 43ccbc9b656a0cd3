// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The examples are from the Kubernetes documentation of NetworkPolicy.
func TestAllowed(t *testing.T) {
	db := &Pod{Namespace: "default", Name: "db", Labels: map[string]string{"role": "db"}, IPv4: netip.MustParseAddr("10.0.0.1"),
		Ports: []corev1.ContainerPort{{Name: "redis", Protocol: corev1.ProtocolTCP, ContainerPort: 6379}}}
	frontend := &Pod{Namespace: "default", Name: "frontend", Labels: map[string]string{"role": "frontend"}, IPv4: netip.MustParseAddr("10.0.0.2")}
	other := &Pod{Namespace: "default", Name: "other", IPv4: netip.MustParseAddr("172.17.1.5")}
	project := &Pod{Namespace: "project", Name: "p", IPv4: netip.MustParseAddr("172.17.0.5")}
	block := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "172.17.0.0/16", Except: []string{"172.17.1.0/24"}}}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "db"}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From:  []networkingv1.NetworkPolicyPeer{block, {PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}}}},
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromString("redis"))}},
		}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{
			To:    []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"project": "mine"}}}},
			Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(5978)), EndPort: ptr.To[int32](5980)}},
		}},
	}}
	w := &World{
		Namespaces: map[string]map[string]string{"default": {}, "project": {"project": "mine"}},
		Pods:       []*Pod{db, frontend, other, project}, Policies: []*networkingv1.NetworkPolicy{policy},
	}
	for _, test := range []struct {
		name     string
		from, to *Pod
		protocol corev1.Protocol
		port     uint16
		want     bool
	}{
		{"selected peer", frontend, db, corev1.ProtocolTCP, 6379, true},
		{"other port", frontend, db, corev1.ProtocolTCP, 6380, false},
		{"other protocol", frontend, db, corev1.ProtocolUDP, 6379, false},
		{"in the block", project, db, corev1.ProtocolTCP, 6379, true},
		{"excepted from the block", other, db, corev1.ProtocolTCP, 6379, false},
		{"egress to the namespace", db, project, corev1.ProtocolTCP, 5979, true},
		{"egress beyond the range", db, project, corev1.ProtocolTCP, 5981, false},
		{"egress elsewhere", db, frontend, corev1.ProtocolTCP, 5979, false},
		{"not selected", frontend, other, corev1.ProtocolSCTP, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, w.Allowed(&Probe{From: test.from, To: test.to, Protocol: test.protocol, Port: test.port}))
		})
	}
	policy.Spec.PolicyTypes = nil
	policy.Spec.Egress = nil
	require.True(t, w.Allowed(&Probe{From: db, To: frontend, Protocol: corev1.ProtocolTCP, Port: 1}), "without policyTypes and egress rules it applies to ingress only")
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{}
	require.True(t, w.Allowed(&Probe{From: db, To: frontend, Protocol: corev1.ProtocolTCP, Port: 1}), "an empty list of egress rules is none")
}

func TestAllowedKnowsThePodsOfItsWorld(t *testing.T) {
	client, server := &Pod{Namespace: "a", Name: "client"}, &Pod{Namespace: "a", Name: "server", Labels: map[string]string{"app": "a"}}
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}}
	before := &World{Namespaces: map[string]map[string]string{"a": {}}, Pods: []*Pod{client, server}, Policies: []*networkingv1.NetworkPolicy{deny}}
	after := *before
	after.Pods = []*Pod{client, {Namespace: "a", Name: "server"}}
	probe := &Probe{From: client, To: server, Protocol: corev1.ProtocolTCP, Port: 80}
	require.False(t, before.Allowed(probe))
	require.True(t, after.Allowed(probe), "the label is gone")
}

// The names of ports belong to containers that live as long as the Pod.
func TestAllowedByNameOfPort(t *testing.T) {
	client := &Pod{Namespace: "a", Name: "client"}
	port := func(number int32) []corev1.ContainerPort {
		return []corev1.ContainerPort{{Name: "web", Protocol: corev1.ProtocolTCP, ContainerPort: number}}
	}
	server := &Pod{Namespace: "a", Name: "server", Ports: port(80), SidecarPorts: port(81), InitPorts: port(82)}
	allow := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}, Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromString("web"))}}}},
	}}
	w := &World{Namespaces: map[string]map[string]string{"a": {}}, Pods: []*Pod{client, server}, Policies: []*networkingv1.NetworkPolicy{allow}}
	for number, want := range map[uint16]bool{80: true, 81: true, 82: false, 83: false} {
		require.Equal(t, want, w.Allowed(&Probe{From: client, To: server, Protocol: corev1.ProtocolTCP, Port: number}), "port %d", number)
	}
	require.False(t, w.Allowed(&Probe{From: client, To: server, Protocol: corev1.ProtocolUDP, Port: 80}))
}

// Selectors do not match a Pod in the network of its Node, whose address an ipBlock may contain.
func TestAllowedForPodsInTheirNodesNetwork(t *testing.T) {
	pod := &Pod{Namespace: "a", Name: "pod", Node: "node-1", IPv4: netip.MustParseAddr("10.0.0.1")}
	host := &Pod{Namespace: "a", Name: "host", Node: "node-2", HostNetwork: true, IPv4: netip.MustParseAddr("192.0.2.2")}
	own := &Pod{Namespace: "a", Name: "own", Node: "node-1", HostNetwork: true, IPv4: netip.MustParseAddr("192.0.2.1")}
	peers := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}, Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers}}, Egress: []networkingv1.NetworkPolicyEgressRule{{To: peers}},
	}}
	w := &World{Namespaces: map[string]map[string]string{"a": {}}, Pods: []*Pod{pod}, Hosts: []*Pod{host, own}, Policies: []*networkingv1.NetworkPolicy{p}}
	in, out := &Probe{From: host, To: pod, Protocol: corev1.ProtocolTCP, Port: 80}, &Probe{From: pod, To: host, Protocol: corev1.ProtocolTCP, Port: 80}
	require.False(t, w.Allowed(in))
	require.False(t, w.Allowed(out))
	require.True(t, w.Allowed(&Probe{From: own, To: pod, Protocol: corev1.ProtocolTCP, Port: 80}), "from the Pod's own Node")
	require.True(t, w.AllowedBy(in, networkingv1.PolicyTypeEgress), "policies do not apply to the Node")
	peers[0] = networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24", Except: []string{"192.0.2.1/32"}}}
	require.True(t, w.Allowed(in))
	require.True(t, w.Allowed(out))
}
