// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controllerMetrics are the metrics that dashboards for Antrea's controller use.
var controllerMetrics = []string{
	"antrea_controller_address_group_processed", "antrea_controller_address_group_sync_duration_milliseconds",
	"antrea_controller_applied_to_group_processed", "antrea_controller_applied_to_group_sync_duration_milliseconds",
	"antrea_controller_length_address_group_queue", "antrea_controller_length_applied_to_group_queue", "antrea_controller_length_network_policy_queue",
	"antrea_controller_network_policy_processed", "antrea_controller_network_policy_sync_duration_milliseconds",
}

// agentMetrics are expected by Antrea's own test and dashboards for its agents (docs/operate/prometheus.md).
var agentMetrics = []string{
	"antrea_agent_conntrack_antrea_connection_count", "antrea_agent_conntrack_max_connection_count", "antrea_agent_conntrack_total_connection_count",
	"antrea_agent_egress_networkpolicy_rule_count", "antrea_agent_ingress_networkpolicy_rule_count", "antrea_agent_local_pod_count",
	"antrea_agent_networkpolicy_count", "antrea_agent_ovs_flow_count", "antrea_agent_ovs_flow_ops_count", "antrea_agent_ovs_flow_ops_error_count",
	"antrea_agent_ovs_flow_ops_latency_milliseconds", "antrea_agent_ovs_total_flow_count", "antrea_agent_ovs_meter_packet_dropped_count",
	"antrea_agent_denied_connection_count", "antrea_agent_flow_collector_reconnection_count", "antrea_agent_fqdn_cache_size",
	"antrea_agent_fqdn_cache_eviction_count",
	"antrea_proxy_sync_proxy_rules_duration_seconds", "antrea_proxy_total_endpoints_installed", "antrea_proxy_total_endpoints_updates",
	"antrea_proxy_total_services_installed", "antrea_proxy_total_services_updates",
}

func TestPrometheus(t *testing.T) {
	c := suite
	c.test(t, "testPrometheusMetricsOnController", func(t *testing.T) { c.testMetrics(t, c.controllerPod(t), controllerMetrics) })
	c.test(t, "testPrometheusMetricsOnAgent", func(t *testing.T) { c.testMetrics(t, c.agentOn(t, c.nodes[0]), agentMetrics) })
}

// testMetrics reads the metrics of a component as Prometheus does: from the Pod's host port, with the token of a service account.
func (c *cluster) testMetrics(t *testing.T, component *corev1.Pod, names []string) {
	namespace := c.namespace(t)
	token := c.metricsToken(t, namespace)
	client := c.pod(t, namespace, "client", c.nodes[1], podOptions{hostNetwork: true})
	url := fmt.Sprintf("https://%s:%d/metrics", component.Status.HostIP, component.Spec.Containers[0].Ports[0].HostPort)
	// The API server may not know the new ClusterRoleBinding yet, and the component remembers its answer for 10 seconds.
	eventually(t, podTimeout, func() error {
		out, stderr, err := c.run(t.Context(), client, "", "curl", "-sSkf", "-H", "Authorization: Bearer "+token, url)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", url, err, stderr)
		}
		for _, name := range names {
			if !strings.Contains(out, "\n# TYPE "+name+" ") {
				err = errors.Join(err, fmt.Errorf("%s has no metric %s", url, name))
			}
		}
		return err
	})
}

// metricsToken is the token of a new service account that may read metrics.
func (c *cluster) metricsToken(t *testing.T, namespace string) string {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	_, err := c.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.client.RbacV1().ClusterRoles().Delete(withoutCancel(t), namespace, metav1.DeleteOptions{}))
	})
	name := c.account(t, namespace, role.Name)
	request, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return request.Status.Token
}

// account makes a service account with the rights of a ClusterRole.
func (c *cluster) account(t *testing.T, namespace, role string) (name string) {
	t.Helper()
	name = "account"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
	}
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.client.RbacV1().ClusterRoleBindings().Delete(withoutCancel(t), namespace, metav1.DeleteOptions{}))
	})
	return name
}
