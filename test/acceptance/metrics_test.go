// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
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

func TestPrometheus(t *testing.T) {
	suite.test(t, "testPrometheusMetricsOnController", suite.testControllerMetrics)
}

// testControllerMetrics reads the metrics as Prometheus does: from the Pod's host port, with the token of a service account.
func (c *cluster) testControllerMetrics(t *testing.T) {
	namespace := c.namespace(t)
	token := c.metricsToken(t, namespace)
	pod := c.controllerPod(t)
	client := c.pod(t, namespace, "client", c.nodes[1], podOptions{hostNetwork: true})
	url := fmt.Sprintf("https://%s:%d/metrics", pod.Status.HostIP, pod.Spec.Containers[0].Ports[0].HostPort)
	out := c.exec(t, client, "", "curl", "-sSkf", "-H", "Authorization: Bearer "+token, url)
	var missing []string
	for _, name := range controllerMetrics {
		if !strings.Contains(out, "# TYPE "+name+" ") {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && !strings.Contains(out, "antrea_controller_length_network_policy_queue") {
		t.Skipf("this version has not got the metrics %v", missing)
	}
	require.Empty(t, missing)
}

// metricsToken is the token of a new service account that may read metrics.
func (c *cluster) metricsToken(t *testing.T, namespace string) string {
	t.Helper()
	name := "prometheus"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	_, err = c.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
	}
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.client.RbacV1().ClusterRoleBindings().Delete(withoutCancel(t), namespace, metav1.DeleteOptions{}))
		require.NoError(t, c.client.RbacV1().ClusterRoles().Delete(withoutCancel(t), namespace, metav1.DeleteOptions{}))
	})
	request, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return request.Status.Token
}
