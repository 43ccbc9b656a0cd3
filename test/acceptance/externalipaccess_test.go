// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// testExternalIPAccess: a host outside of the cluster, on a network of the Node that answers for the address of a Service, reaches the Service's Pods: all of
// them, or with the policy Local only the Pod on that Node, which sees the host's own address.
func (c *cluster) testExternalIPAccess(t *testing.T, policy corev1.ServiceExternalTrafficPolicy) {
	c.needsProxyAll(t)
	const address, client, port = "169.254.170.129", "169.254.170.1", 8080
	namespace := c.namespace(t)
	servers := map[string]string{} // by Node
	for i, node := range c.nodes[:2] {
		servers[node] = fmt.Sprintf("agnhost-%d", i)
		c.createPod(t, namespace, servers[node], node, podOptions{
			image: agnhostImage, args: []string{"netexec", fmt.Sprintf("--http-port=%d", port)}, labels: map[string]string{"app": "agnhost"},
		})
	}
	for _, server := range servers {
		c.waitForPod(t, namespace, server)
	}
	pool := c.externalPool(t, cidr("169.254.170.128/25"), metav1.LabelSelector{})
	c.pooledService(t, namespace, "agnhost", pool, func(s *corev1.Service) {
		s.Spec.Selector, s.Spec.ExternalTrafficPolicy = map[string]string{"app": "agnhost"}, policy
		s.Spec.Ports = []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt32(port)}}
	})
	host := c.expectService(t, c.nodes[0], namespace, "agnhost", address, c.nodes[:2]...)
	outside := c.outside(t, namespace, host, client+"/25", "169.254.170.2/25")
	met := map[string]int{}
	eventually(t, policyDelay, func() error {
		command := outsideCommand("curl", "-sS", "--max-time", "1", fmt.Sprintf("http://%s:%d/hostname", address, port))
		stdout, stderr, err := c.run(t.Context(), outside, "", command...)
		if err != nil {
			return fmt.Errorf("%v: %w: %s; met before: %v", command, err, stderr, met)
		}
		met[strings.TrimSpace(stdout)]++
		if policy == corev1.ServiceExternalTrafficPolicyLocal && met[servers[host]] < 5 || policy != corev1.ServiceExternalTrafficPolicyLocal && len(met) < len(servers) {
			return fmt.Errorf("met %v of %v through Node %s", met, servers, host)
		}
		return nil
	})
	if policy == corev1.ServiceExternalTrafficPolicyLocal {
		require.Len(t, met, 1, "only the Pod on Node %s: %v", host, met)
		source, err := c.source(t, outside, outsideCommand(askClientIP(address, port)...)...)
		require.NoError(t, err)
		require.Equal(t, client, source)
	}
}
