// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// service makes a Service for the Pods with the label app=name.
func (c *cluster) service(t *testing.T, namespace, name string, port, targetPort int, change func(*corev1.ServiceSpec)) *corev1.Service {
	t.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Port: int32(port), TargetPort: intstr.FromInt32(int32(targetPort))}},
		},
	}
	if change != nil {
		change(&s.Spec)
	}
	s, err := c.client.CoreV1().Services(namespace).Create(t.Context(), s, metav1.CreateOptions{})
	require.NoError(t, err)
	return s
}

// deployment makes a Deployment, as kubectl create deployment does, and returns its Pods, sorted by Node, when all are ready.
func (c *cluster) deployment(t *testing.T, namespace, name, image string, args []string, replicas int) []*corev1.Pod {
	t.Helper()
	n, labels := int32(replicas), map[string]string{"app": name}
	_, err := c.client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image, Args: args, ImagePullPolicy: corev1.PullIfNotPresent}}},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	var pods []*corev1.Pod
	eventually(t, podTimeout, func() error {
		list, err := c.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return err
		}
		pods = nil
		for i := range list.Items {
			if p := &list.Items[i]; isReady(p) && p.Status.PodIP != "" {
				pods = append(pods, p)
			}
		}
		if len(pods) != replicas {
			return fmt.Errorf("%d of %d replicas are ready: %s", len(pods), replicas, c.describePods(t.Context()))
		}
		return nil
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Spec.NodeName, b.Spec.NodeName) })
	return pods
}

func TestClusterIPv4(t *testing.T) {
	c := suite
	c.test(t, "No Endpoint/Connect from Pods", c.testNoEndpoint)
	c.test(t, "Non-HostNetwork Endpoints/Connect from Pods", func(t *testing.T) { c.testClusterIP(t, false) })
	c.test(t, "HostNetwork Endpoints/Connect from Pods", func(t *testing.T) { c.testClusterIP(t, true) })
}

// clients are two Pods, one on each Node.
func (c *cluster) clients(t *testing.T, namespace string) (pods []*corev1.Pod) {
	t.Helper()
	for i, node := range c.nodes[:2] {
		c.createPod(t, namespace, fmt.Sprintf("client-%d", i), node, podOptions{image: agnhostImage})
	}
	for i := range c.nodes[:2] {
		pods = append(pods, c.waitForPod(t, namespace, fmt.Sprintf("client-%d", i)))
	}
	return pods
}

// agnhostConnect tries a connection three times and returns what agnhost says: nothing, REFUSED or TIMEOUT.
func (c *cluster) agnhostConnect(ctx context.Context, from *corev1.Pod, address string) string {
	var said string
	for range 3 {
		stdout, stderr, err := c.run(ctx, from, "", "/agnhost", "connect", address, "--timeout=1s", "--protocol=tcp")
		if err == nil {
			return ""
		}
		said = strings.TrimSpace(stdout + stderr)
	}
	return said
}

// testNoEndpoint: connections to a Service without endpoints are refused at once.
func (c *cluster) testNoEndpoint(t *testing.T) {
	namespace := c.namespace(t)
	address := c.service(t, namespace, "nobody", 80, 80, nil).Spec.ClusterIP
	for _, client := range c.clients(t, namespace) {
		eventually(t, policyDelay, func() error {
			if said := c.agnhostConnect(t.Context(), client, address+":80"); said != "REFUSED" {
				return fmt.Errorf("agnhost connect on Node %s says %q, want REFUSED", client.Spec.NodeName, said)
			}
			return nil
		})
	}
}

// testClusterIP: Pods on both Nodes reach a Service whose endpoint is on one of them, with affinity of the client's address.
func (c *cluster) testClusterIP(t *testing.T, hostNetwork bool) {
	namespace := c.namespace(t)
	service := c.service(t, namespace, "nginx", 80, 80, func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityClientIP })
	c.pod(t, namespace, "server", c.nodes[1], podOptions{image: nginxImage, labels: map[string]string{"app": "nginx"}, hostNetwork: hostNetwork})
	for _, client := range c.clients(t, namespace) {
		eventually(t, policyDelay, func() error {
			if said := c.agnhostConnect(t.Context(), client, service.Spec.ClusterIP+":80"); said != "" {
				return fmt.Errorf("agnhost connect on Node %s: %s", client.Spec.NodeName, said)
			}
			return nil
		})
	}
}

// testClusterIPStream sends a stream from a Pod to a Service's ClusterIP whose endpoint is on another Node.
func (c *cluster) testClusterIPStream(t *testing.T) {
	namespace := c.namespace(t)
	client, server := c.stream(t, namespace)
	service := c.service(t, namespace, "server", 5201, 5201, nil)
	eventually(t, policyDelay, func() error {
		if !c.reaches(t, client, service.Spec.ClusterIP, 5201) {
			return fmt.Errorf("%s does not reach the Service of %s", client.Name, server.Name)
		}
		return nil
	})
	report := c.iperf(t, client, service.Spec.ClusterIP, "--time", "10", "--bitrate", modest)
	require.Greater(t, c.mbits(t, report), 0.8*modestMbit)
	require.LessOrEqual(t, longestGap(report), limit(time.Second))
}

// TestLoadBalancer has what upstream's tests compare of Services of that type.
func TestLoadBalancer(t *testing.T) {
	c := suite
	c.test(t, "an address of 169.254.0.0/16", c.testLinkLocalLoadBalancer)
	c.test(t, "healthCheckNodePort", c.testHealthCheckBody)
}

// loadBalancer makes a Service of the type LoadBalancer for the Pods of nginx, with an address.
func (c *cluster) loadBalancer(t *testing.T, namespace, address string) *corev1.Service {
	t.Helper()
	s := c.service(t, namespace, "nginx", 80, 80, func(s *corev1.ServiceSpec) {
		s.Type, s.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
	})
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	_, err := c.client.CoreV1().Services(namespace).UpdateStatus(t.Context(), s, metav1.UpdateOptions{})
	require.NoError(t, err)
	return s
}

// testLinkLocalLoadBalancer: Open vSwitch translates the address, as any other, and Pods reach the Service there.
func (c *cluster) testLinkLocalLoadBalancer(t *testing.T) {
	const address = "169.254.169.1"
	namespace := c.namespace(t)
	c.nginx(t, namespace, c.nodes[1])
	client := c.pod(t, namespace, "client", c.nodes[1], podOptions{})
	c.loadBalancer(t, namespace, address)
	agent := c.agentOn(t, c.nodes[1])
	eventually(t, policyDelay, func() error {
		flows := c.exec(t, agent, ovsContainer, "ovs-ofctl", "-O", "OpenFlow15", "dump-flows", bridge, "table=ServiceLB", "--no-stats")
		if !strings.Contains(flows, "nw_dst="+address) {
			return fmt.Errorf("table ServiceLB has no flow for %s: %s", address, flows)
		}
		return nil
	})
	c.expect(t, true, client, address, 80)
}

// testHealthCheckBody: the answer about a Service is kube-proxy's, byte by byte, because some programs compare it as
// text.
func (c *cluster) testHealthCheckBody(t *testing.T) {
	namespace := c.namespace(t)
	server := c.nginx(t, namespace, c.nodes[1])
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{hostNetwork: true})
	port := c.loadBalancer(t, namespace, "192.0.2.7").Spec.HealthCheckNodePort
	want := fmt.Sprintf("{\n\t\"service\": {\n\t\t\"namespace\": %q,\n\t\t\"name\": \"nginx\"\n\t},\n\t\"localEndpoints\": 1,\n\t\"serviceProxyHealthy\": true\n}", namespace)
	eventually(t, policyDelay, func() error {
		url := fmt.Sprintf("http://%s:%d/healthz", server.Status.HostIP, port)
		if body, stderr, err := c.run(t.Context(), client, "", "curl", "-sS", url); err != nil || body != want {
			return fmt.Errorf("%s: %q, want %q (%s, %v)", url, body, want, stderr, err)
		}
		return nil
	})
}
