// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// noPolicy are the cases of TestGroupNoK8sNP that are not tables.
var noPolicy = map[string]func(*policyBed, *testing.T){
	"ACNPFQDNPolicy":             (*policyBed).testFQDN,
	"ACNPFQDNPolicyInCluster":    (*policyBed).testFQDNInCluster,
	"ACNPFQDNPolicyTCP":          (*policyBed).testFQDNTCP,
	"ACNPNodePortServiceSupport": (*policyBed).testNodePort,
}

// testNodePort: a policy that applies to a Service of type NodePort refuses clients outside of the cluster, on each Node. Upstream needs three Nodes.
func (b *policyBed) testNodePort(t *testing.T) {
	b.c.needsProxyAll(t)
	service := policycases.Object{Kind: policycases.Service, Namespace: "x", Name: "node-port", Spec: "{type: NodePort, selector: {app: a}, ports: [{port: 80}]}"}
	b.mustApply(t, service)
	s, err := b.c.client.CoreV1().Services(b.namespaces["x"]).Get(t.Context(), "node-port", metav1.GetOptions{})
	require.NoError(t, err)
	port, namespace := s.Spec.Ports[0].NodePort, b.c.namespace(t)
	clients := map[string]*corev1.Pod{}
	for i, node := range b.c.nodes[:2] {
		clients[fmt.Sprintf("${nodeip %d}", i)] = b.c.outside(t, namespace, node, fmt.Sprintf("1.1.%d.1/24", i+1), fmt.Sprintf("1.1.%d.254/24", i+1))
	}
	expect := func(want string) {
		t.Helper()
		for address, client := range clients {
			to := fmt.Sprintf("%s:%d", b.expand(t, address), port)
			eventually(t, networkPolicyDelay, func() error {
				stdout, stderr, err := b.c.run(t.Context(), client, "", outsideCommand("/agnhost", "connect", to, "--timeout=1s", "--protocol=tcp")...)
				code := map[bool]string{true: "0", false: "1"}[err == nil]
				if got := verdict(code, stdout+stderr); got != want {
					return fmt.Errorf("outside to %s: %s, want %s", to, got, want)
				}
				return nil
			})
		}
	}
	expect(policycases.Connected)
	policy := policycases.Object{Kind: policycases.ACNP, Name: "acnp-reject-nodeport", Spec: `{priority: 1, appliedTo: [{service: {name: node-port, namespace: "${x}"}}],
		ingress: [{action: Reject, from: [{ipBlock: {cidr: 1.1.1.0/24}}, {ipBlock: {cidr: 1.1.2.0/24}}]}]}`}
	b.change(t, []policycases.Change{{Apply: &policy}})
	expect(policycases.Rejected)
}
