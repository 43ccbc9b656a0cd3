// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

// externalIPDelay is upstream's limit until a Service has an address of a pool, or another one, at its Node, also after an agent has stopped.
var externalIPDelay = limit(15 * time.Second)

// TestServiceExternalIP has upstream's cases for IPv4.
func TestServiceExternalIP(t *testing.T) {
	c := suite
	for _, pool := range c.poolCases() {
		c.test(t, "testServiceWithExternalIPCRUD/"+pool.name, func(t *testing.T) { c.testPooledService(t, pool) })
	}
	c.test(t, "testServiceUpdateExternalIP/same Node", func(t *testing.T) { c.testOtherPool(t, c.nodes[0]) })
	c.test(t, "testServiceUpdateExternalIP/different Nodes", func(t *testing.T) { c.testOtherPool(t, c.nodes[1]) })
	c.test(t, "testServiceExternalTrafficPolicyLocal/endpoint created", func(t *testing.T) { c.testNodeOfEndpoint(t, "", c.nodes[0]) })
	c.test(t, "testServiceExternalTrafficPolicyLocal/endpoint changed", func(t *testing.T) { c.testNodeOfEndpoint(t, c.nodes[0], c.nodes[1]) })
	c.test(t, "testServiceNodeFailure/IPv4 cluster", c.testServiceNodeFailure)
	for _, policy := range []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal} {
		c.test(t, fmt.Sprintf("testExternalIPAccess/IPv4 cluster/ExternalTrafficPolicy setting to %s", policy), func(t *testing.T) { c.testExternalIPAccess(t, policy) })
	}
	c.test(t, "testServiceSharingLoadBalancerIP/services-allowing-shared-ip", func(t *testing.T) { c.testSharedIP(t, true) })
	c.test(t, "testServiceSharingLoadBalancerIP/services-not-allowing-shared-ip", func(t *testing.T) { c.testSharedIP(t, false) })
}

// pooledService makes a Service without Endpoints that wants an address of a pool.
func (c *cluster) pooledService(t *testing.T, namespace, name, pool string, change func(*corev1.Service)) {
	t.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: map[string]string{externalip.PoolAnnotation: pool}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if change != nil {
		change(s)
	}
	services := c.client.CoreV1().Services(namespace)
	_, err := services.Create(t.Context(), s, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		// The Namespace goes later: until then, no Service of the next case could have the address.
		err := services.Delete(withoutCancel(t), name, metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	})
}

// expectService waits until a Service shows an address, and the agent of the Node asked says that one of some Nodes answers for it, or none if there are
// none. It returns the Node.
func (c *cluster) expectService(t *testing.T, asked, namespace, name, address string, nodes ...string) (node string) {
	t.Helper()
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	eventually(t, externalIPDelay, func() error {
		s, err := c.client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		agent, err := c.agentPod(t.Context(), asked)
		if err != nil {
			return err
		}
		stdout, stderr, err := c.run(t.Context(), agent, agentContainer, "antctl", "get", "serviceexternalip", name, "-n", namespace, "-o", "json")
		if err != nil {
			return fmt.Errorf("antctl get serviceexternalip on Node %s: %w: %s", asked, err, stderr)
		}
		var list []apis.ServiceExternalIP
		if err := json.Unmarshal([]byte(stdout), &list); err != nil {
			return fmt.Errorf("antctl get serviceexternalip on Node %s: %w: %s", asked, err, stdout)
		}
		if externalip.Address(s).String() != address || len(list) != 1 || list[0].ExternalIP != address || !slices.Contains(nodes, list[0].AssignedNode) {
			return fmt.Errorf("Service %s has %+v, Node %s says %s, want %s at one of the Nodes %q", name, s.Status.LoadBalancer, asked, stdout, address, nodes)
		}
		node = list[0].AssignedNode
		return nil
	})
	return node
}

// testPooledService: a Service gets the first address of a pool at one of the pool's Nodes, and the address is free after its end.
func (c *cluster) testPooledService(t *testing.T, p poolCase) {
	namespace := c.namespace(t)
	pool := c.externalPool(t, p.rng, p.nodes)
	c.pooledService(t, namespace, "pooled", pool, nil)
	c.expectService(t, c.nodes[0], namespace, "pooled", p.first, p.owners...)
	c.expectUsage(t, pool, 1)
	c.expectAddress(t, policyDelay, p.first, "", c.nodes[:2]...) // a Node answers for it, and has it on no device
	require.NoError(t, c.client.CoreV1().Services(namespace).Delete(t.Context(), "pooled", metav1.DeleteOptions{}))
	c.expectUsage(t, pool, 0)
}

// testOtherPool: a Service with the annotation of another pool gets an address of that one.
func (c *cluster) testOtherPool(t *testing.T, to string) {
	namespace := c.namespace(t)
	former := c.externalPool(t, cidr("169.254.100.0/30"), amongNodes(c.nodes[0]))
	next := c.externalPool(t, cidr("169.254.101.0/30"), amongNodes(to))
	c.pooledService(t, namespace, "pooled", former, nil)
	c.expectService(t, c.nodes[0], namespace, "pooled", "169.254.100.1", c.nodes[0])
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, externalip.PoolAnnotation, next)
	_, err := c.client.CoreV1().Services(namespace).Patch(t.Context(), "pooled", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	c.expectService(t, c.nodes[0], namespace, "pooled", "169.254.101.1", to)
	c.expectUsage(t, former, 0)
	c.expectUsage(t, next, 1)
}

// testNodeOfEndpoint: the Node of a Service's only Endpoint, which moves from a Node or from nowhere, answers for the address if the policy is Local.
func (c *cluster) testNodeOfEndpoint(t *testing.T, from, to string) {
	const address = "169.254.100.1"
	namespace := c.namespace(t)
	pool := c.externalPool(t, cidr("169.254.100.0/30"), amongNodes(c.nodes[:2]...))
	c.pooledService(t, namespace, "pooled", pool, func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal })
	port := int32(80)
	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "pooled", Namespace: namespace, Labels: map[string]string{discoveryv1.LabelServiceName: "pooled"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	on := func(node string) []discoveryv1.Endpoint {
		if node == "" {
			return nil
		}
		return []discoveryv1.Endpoint{{Addresses: []string{"192.168.200.1"}, NodeName: &node}}
	}
	all := c.client.DiscoveryV1().EndpointSlices(namespace)
	endpoints.Endpoints = on(from)
	endpoints, err := all.Create(t.Context(), endpoints, metav1.CreateOptions{})
	require.NoError(t, err)
	c.expectService(t, c.nodes[0], namespace, "pooled", address, from)
	endpoints.Endpoints = on(to)
	_, err = all.Update(t.Context(), endpoints, metav1.UpdateOptions{})
	require.NoError(t, err)
	for _, asked := range c.nodes[:2] {
		c.expectService(t, asked, namespace, "pooled", address, to)
	}
}

// testServiceNodeFailure: the other Node answers for an address when the agent of its Node stops, until that agent continues.
func (c *cluster) testServiceNodeFailure(t *testing.T) {
	const address = "169.254.100.1"
	namespace := c.namespace(t)
	pool := c.externalPool(t, cidr("169.254.100.0/30"), amongNodes(c.nodes[:2]...))
	c.pooledService(t, namespace, "pooled", pool, nil)
	owner := c.expectService(t, c.nodes[0], namespace, "pooled", address, c.nodes[:2]...)
	other := c.otherNode(owner)
	resume := c.pauseAgent(t, namespace, owner)
	begun := time.Now()
	c.expectService(t, other, namespace, "pooled", address, other)
	t.Logf("at Node %s %.2f s after the agent of Node %s stopped", other, time.Since(begun).Seconds(), owner)
	resume()
	begun = time.Now()
	for _, asked := range []string{owner, other} {
		c.expectService(t, asked, namespace, "pooled", address, owner)
	}
	t.Logf("back at Node %s after %.2f s", owner, time.Since(begun).Seconds())
}

// testSharedIP: Services that allow it share an address. One that does not allow it, or whose address has another that does not, gets none, and an Event
// says so.
func (c *cluster) testSharedIP(t *testing.T, firstShares bool) {
	const address = "172.30.0.1"
	namespace := c.namespace(t)
	pool := c.externalPool(t, cidr("172.30.0.0/28"), metav1.LabelSelector{})
	service := func(name string, port int32, shares bool) {
		c.pooledService(t, namespace, name, pool, func(s *corev1.Service) {
			s.Spec.LoadBalancerIP, s.Spec.Ports[0].Port = address, port
			if shares {
				s.Annotations[externalip.ShareAnnotation] = "true"
			}
		})
	}
	service("svc1", 80, firstShares)
	c.expectService(t, c.nodes[0], namespace, "svc1", address, c.nodes[:2]...)
	service("svc2", 81, true)
	if firstShares {
		c.expectService(t, c.nodes[0], namespace, "svc2", address, c.nodes[:2]...)
		service("svc3", 82, false)
		c.expectNoAddress(t, namespace, "svc3", address)
		return
	}
	c.expectNoAddress(t, namespace, "svc2", address)
	require.NoError(t, c.client.CoreV1().Services(namespace).Delete(t.Context(), "svc1", metav1.DeleteOptions{}))
	c.expectService(t, c.nodes[0], namespace, "svc2", address, c.nodes[:2]...)
}

// expectNoAddress waits for the Event that says that a Service does not get an address, and expects it to have none.
func (c *cluster) expectNoAddress(t *testing.T, namespace, name, address string) {
	t.Helper()
	eventually(t, externalIPDelay, func() error {
		list, err := c.client.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var notes []string
		for i := range list.Items {
			if event := &list.Items[i]; event.Regarding.Name == name && event.Reason == "AllocationError" {
				notes = append(notes, event.Note)
			}
		}
		if !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, address) }) {
			return fmt.Errorf("Service %s has the Events %q, want one about %s", name, notes, address)
		}
		return nil
	})
	s, err := c.client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, s.Status.LoadBalancer.Ingress)
}
