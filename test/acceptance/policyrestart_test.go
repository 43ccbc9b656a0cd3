// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waitForCondition waits until an agent's condition has a status ("True").
func (c *cluster) waitForCondition(t *testing.T, node, condition, want string) {
	t.Helper()
	eventually(t, podTimeout, func() error {
		agent, err := c.agentPod(t.Context(), node)
		if err != nil {
			return err
		}
		out, stderr, err := c.run(t.Context(), agent, agentContainer, "antctl", "get", "agentinfo", "-o", "json")
		if err != nil {
			return fmt.Errorf("antctl get agentinfo: %w: %s", err, stderr)
		}
		var info struct {
			Conditions []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"agentConditions"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &info), out)
		for _, got := range info.Conditions {
			if got.Type == condition {
				if got.Status == want {
					return nil
				}
				return fmt.Errorf("%s of Node %s is %s, want %s", condition, node, got.Status, want)
			}
		}
		return fmt.Errorf("the agent of Node %s has no condition %s: %s", node, condition, out)
	})
}

// withoutController scales the controller down for the time of f.
func (c *cluster) withoutController(t *testing.T, f func()) {
	t.Helper()
	t.Cleanup(func() {
		scale := []byte(`{"spec":{"replicas":1}}`)
		_, err := c.client.AppsV1().Deployments(systemNamespace).Patch(context.Background(), controller, types.MergePatchType, scale, metav1.PatchOptions{})
		require.NoError(t, err)
	})
	c.scaleController(t, 0)
	f()
	c.scaleController(t, 1)
}

// testResync changes policies while the controller is away: agents learn of both changes when it is back.
func (c *cluster) testResync(t *testing.T) {
	namespace := c.namespace(t)
	server := c.nginx(t, namespace, c.nodes[0])
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{labels: map[string]string{"role": "client"}})
	other := c.pod(t, namespace, "other", c.nodes[1], podOptions{})
	denyEgress := func(role string) networkingv1.NetworkPolicySpec {
		return networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		}
	}
	c.policy(t, namespace, "former", denyEgress("client"))
	c.expect(t, false, client, server.Status.PodIP, 80)
	c.expect(t, true, other, server.Status.PodIP, 80)
	c.withoutController(t, func() {
		for _, node := range c.nodes {
			c.waitForCondition(t, node, "ControllerConnectionUp", "False")
		}
		require.NoError(t, c.client.NetworkingV1().NetworkPolicies(namespace).Delete(t.Context(), "former", metav1.DeleteOptions{}))
		c.policy(t, namespace, "later", networkingv1.NetworkPolicySpec{
			PodSelector: nginxPods, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}}}}},
		})
		require.False(t, c.reaches(t, client, server.Status.PodIP, 80), "the former policy is in force as long as the controller is away")
	})
	for _, node := range c.nodes {
		c.waitForCondition(t, node, "ControllerConnectionUp", "True")
	}
	c.expect(t, true, client, server.Status.PodIP, 80)
	c.expect(t, false, other, server.Status.PodIP, 80)
}

// testPoliciesAfterRestart restarts an agent while the controller is away. It takes the policies from its Node's files: what they forbid gets
// through at no time, and what they allow does so again.
func (c *cluster) testPoliciesAfterRestart(t *testing.T) {
	namespace, node := c.namespace(t), c.nodes[0]
	server := c.nginx(t, namespace, node)
	allowed := c.pod(t, namespace, "allowed", node, podOptions{labels: map[string]string{"role": "client"}})
	denied := c.pod(t, namespace, "denied", node, podOptions{})
	c.policy(t, namespace, "allow", networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}}}}},
	})
	c.expect(t, false, denied, server.Status.PodIP, 80)
	c.expect(t, true, allowed, server.Status.PodIP, 80)
	// attempt reports whether there was a connection: 4 is wget's exit code for no answer.
	attempt := fmt.Sprintf("wget -q -T 1 -O /dev/null http://%s; echo wget=$?", server.Status.PodIP)
	require.Contains(t, c.exec(t, allowed, "", "sh", "-c", attempt), "wget=0")
	end := c.startUntil(t, denied, "sh", "-c", "trap over=1 INT; while [ -z \"$over\" ]; do "+attempt+"; done")
	c.withoutController(t, func() {
		c.waitForCondition(t, node, "ControllerConnectionUp", "False")
		c.deletePod(t, c.agentOn(t, node), 30)
		c.waitForCondition(t, node, "OpenflowConnectionUp", "True")
		c.waitForCondition(t, node, "ControllerConnectionUp", "False")
		c.expect(t, true, allowed, server.Status.PodIP, 80)
		c.expect(t, false, denied, server.Status.PodIP, 80)
	})
	r := end()
	require.NoError(t, r.err, r.stderr)
	outcomes := strings.Fields(r.stdout)
	require.Greater(t, len(outcomes), 10)
	for _, outcome := range outcomes {
		require.Equal(t, "wget=4", outcome, r.stdout)
	}
	c.waitForCondition(t, node, "ControllerConnectionUp", "True")
	c.expect(t, true, allowed, server.Status.PodIP, 80)
}

// policyStats is the part of stats.antrea.io/v1alpha1 that is read.
type policyStats struct {
	Traffic struct {
		Sessions int64 `json:"sessions"`
		Packets  int64 `json:"packets"`
		Bytes    int64 `json:"bytes"`
	} `json:"trafficStats"`
}

// testPolicyStats compares what both policies of a connection have counted, on two Nodes.
func (c *cluster) testPolicyStats(t *testing.T) {
	const sessions = 10
	namespace := c.namespace(t)
	server := c.nginx(t, namespace, c.nodes[1])
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{labels: map[string]string{"role": "client"}})
	peer := func(labels map[string]string) []networkingv1.NetworkPolicyPeer {
		return []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	}
	role := map[string]string{"role": "client"}
	c.policy(t, namespace, "ingress", networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peer(role)}},
	})
	c.policy(t, namespace, "egress", networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: role}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: peer(nginxPods.MatchLabels)}},
	})
	c.waitRealized(t, namespace, "ingress", "egress")
	for range sessions {
		c.connects(t, client, server.Status.PodIP, 80)
	}
	stats := func(name string) (s policyStats) {
		path := fmt.Sprintf("/apis/stats.antrea.io/v1alpha1/namespaces/%s/networkpolicystats/%s", namespace, name)
		data, err := c.client.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &s), string(data))
		return s
	}
	eventually(t, statsDelay, func() error {
		ingress, egress := stats("ingress"), stats("egress")
		if ingress != egress || ingress.Traffic.Sessions != sessions {
			return fmt.Errorf("ingress %+v, egress %+v, want %d sessions and the same packets and bytes", ingress, egress, sessions)
		}
		return nil
	})
}

// waitRealized waits until each agent lists the policies that concern its Pods.
func (c *cluster) waitRealized(t *testing.T, namespace string, names ...string) {
	t.Helper()
	eventually(t, policyDelay, func() error {
		var all strings.Builder
		for _, node := range c.nodes {
			all.WriteString(c.antctl(t, c.agentOn(t, node), "get", "networkpolicy", "-n", namespace, "-o", "yaml"))
		}
		for _, name := range names {
			if !strings.Contains(all.String(), "name: "+name+"\n") {
				return fmt.Errorf("no agent has the policy %s/%s:\n%s", namespace, name, all.String())
			}
		}
		return nil
	})
}
