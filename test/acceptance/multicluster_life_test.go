// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// scaleDownTimeout is until a Service without Endpoints is not imported any more; upstream's limit is 2 s.
var scaleDownTimeout = limit(5 * time.Second)

// selects changes the Pods of a cluster's Service web.
func (s *clusterSet) selects(t *testing.T, m *member, label string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"selector":{"app":%q}}}`, label)
	_, err := m.client.CoreV1().Services(s.namespace).Patch(t.Context(), webName, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// testScaleDown: a Service without Endpoints in the one cluster is not imported from there any more; it comes back with them.
func (s *clusterSet) testScaleDown(t *testing.T) {
	s.selects(t, s.a, "nothing")
	begun := time.Now()
	address := s.imported(t, s.b, s.b)
	require.Less(t, time.Since(begun), scaleDownTimeout)
	s.b.expectAnswers(t, s.mcClients(t, s.b)[0], address, "west-0", "west-1")
	s.selects(t, s.a, webName)
	s.imported(t, s.b, s.a, s.b)
}

// testLies: the token of a member is for what that member exports, and nothing else.
func (s *clusterSet) testLies(t *testing.T) {
	secret, err := s.b.client.CoreV1().Secrets(systemNamespace).Get(t.Context(), s.b.id+"-token", metav1.GetOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(s.a.config)
	config.BearerToken = string(secret.Data[corev1.ServiceAccountTokenKey])
	token, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	ports := &v1alpha1.ServiceExport{}
	for _, tc := range []struct {
		name, object string
		export       v1alpha1.ResourceExportSpec
		says         string
	}{
		{"another's export", "north-shop-db-service", v1alpha1.ResourceExportSpec{ClusterID: "north", Name: "db", Namespace: "shop", Kind: "Service", Service: ports}, "spoof ClusterID"},
		{"no content", "west-shop-db-service", v1alpha1.ResourceExportSpec{ClusterID: "west", Name: "db", Namespace: "shop", Kind: "Service"}, "without Spec.Service"},
		{"a policy", "policy", v1alpha1.ResourceExportSpec{Name: "policy", Kind: "AntreaClusterNetworkPolicy"}, "to export this kind"},
	} {
		object := crd.NewOf(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ResourceExportKind), leaderNamespace, tc.object)
		require.NoError(t, crd.Fill(object, &v1alpha1.ResourceExport{Spec: tc.export}))
		object.SetFinalizers([]string{v1alpha1.ResourceExportFinalizer})
		_, err := token.Resource(v1alpha1.ResourceExports).Namespace(leaderNamespace).Create(t.Context(), object, metav1.CreateOptions{})
		require.ErrorContains(t, err, "denied the request", tc.name)
		require.ErrorContains(t, err, tc.says, tc.name)
	}
	announces := token.Resource(v1alpha1.MemberClusterAnnounces).Namespace(leaderNamespace)
	require.ErrorContains(t, announces.Delete(t.Context(), v1alpha1.AnnounceName("north"), metav1.DeleteOptions{}), "denied the request")
	_, err = token.Resource(v1alpha1.ResourceExports).Namespace(leaderNamespace).Patch(t.Context(), v1alpha1.ClusterInfoName("north"), types.MergePatchType,
		[]byte(`{"status":{"conditions":[]}}`), metav1.PatchOptions{}, "status")
	require.ErrorContains(t, err, "denied the request")
	_, err = token.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(leaderNamespace).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

// testGatewayChange: another Node becomes the gateway when the first one is not a candidate any more, and new connections pass there.
func (s *clusterSet) testGatewayChange(t *testing.T) {
	m, first, second := s.b, s.b.nodes[0], s.b.nodes[1]
	noLeaks := s.watchLeaks(t, m, first, second)
	tr, within := s.begin(t, untilTimeout), s.streamWithin(t)
	m.annotate(t, second, true)
	m.annotate(t, first, false)
	s.waitForGateway(t, m, second, exchangeTimeout)
	s.waitForFlow(t, m, first, m.address(t, second), exchangeTimeout)
	s.waitForFlow(t, s.a, s.a.nodes[0], s.seenAs(t, m, second), exchangeTimeout)
	for _, c := range s.members() {
		address := s.imported(t, c, s.a, s.b)
		for _, client := range s.mcClients(t, c) {
			c.expectAnswers(t, client, address, "north-0", "north-1", "west-0", "west-1")
		}
	}
	tr.end(t, gatewayGap)
	within()
	noLeaks()
	m.annotate(t, first, true)
}

// testDrain: a gateway Node that is drained stays the gateway, and nothing between the clusters is lost.
func (s *clusterSet) testDrain(t *testing.T) {
	m, other, drained := s.b, s.b.nodes[0], s.b.nodes[1]
	m.moveController(t, other)
	tr := s.begin(t, untilTimeout)
	t.Cleanup(func() { m.command(t, "kubectl", "uncordon", drained) })
	m.command(t, "kubectl", "drain", drained, "--ignore-daemonsets", "--force", "--pod-selector", "component="+mcController, "--timeout=120s")
	m.waitController(t, systemNamespace)
	eventually(t, joinTimeout, func() error { return s.readyClusters(t, 2) })
	s.waitForGateway(t, m, drained, exchangeTimeout)
	tr.endWhole(t)
}

// scale changes the number of a cluster's controllers of Multi-cluster.
func (m *member) scale(t *testing.T, namespace string, replicas int) {
	t.Helper()
	m.command(t, "kubectl", "-n", namespace, "scale", "deployment", mcController, fmt.Sprintf("--replicas=%d", replicas))
	if replicas == 0 {
		m.command(t, "kubectl", "-n", namespace, "wait", "--for=delete", "pod", "-l", "component="+mcController, "--timeout=60s")
		return
	}
	m.waitController(t, namespace)
}

// testLeaderAway: without the leader traffic continues; what happens in the members is exchanged when it is back.
func (s *clusterSet) testLeaderAway(t *testing.T) {
	address, client := s.imported(t, s.b, s.a, s.b), s.mcClients(t, s.b)[0]
	s.a.scale(t, leaderNamespace, 0)
	restored := false
	defer func() {
		if !restored {
			s.a.scale(t, leaderNamespace, 1)
		}
	}()
	s.b.expectAnswers(t, client, address, "north-0", "north-1", "west-0", "west-1")
	require.NoError(t, s.a.dynamic.Resource(mcs.ServiceExports).Namespace(s.namespace).Delete(t.Context(), webName, metav1.DeleteOptions{}))
	s.b.expectAnswers(t, client, address, "north-0", "north-1", "west-0", "west-1")
	restored = true
	s.a.scale(t, leaderNamespace, 1)
	s.b.expectAnswers(t, client, s.imported(t, s.b, s.b), "west-0", "west-1")
	s.export(t, s.a)
	s.imported(t, s.b, s.a, s.b)
	eventually(t, joinTimeout, func() error { return s.readyClusters(t, 2) })
}

// lose takes a Node's network away for four minutes.
const lose = `device=$(ip -o route show default | awk '{print $5}')
{ sleep 1; ip link set $device down; sleep 240; ip link set $device up; ip route replace default via %s; } >/dev/null 2>&1 </dev/null &`

// moveController moves a member's controller away from a Node.
func (m *member) moveController(t *testing.T, node string) {
	t.Helper()
	m.command(t, "kubectl", "cordon", node)
	m.restartController(t)
	m.command(t, "kubectl", "uncordon", node)
}

// testGatewayLost: the gateway Node loses its network for four minutes, with the controller that it runs. Another candidate takes its place. In
// between nothing for the other cluster leaves by another way.
func (s *clusterSet) testGatewayLost(t *testing.T) {
	m, lost, other := s.b, s.b.nodes[1], s.b.nodes[0]
	m.moveController(t, other)
	noLeaks := s.watchLeaks(t, m, other) // Flows of a's Nodes are changed, not removed.
	tr, within := s.begin(t, untilTimeout), s.streamWithin(t)
	m.command(t, "exec", lost, "--", "sh", "-c", fmt.Sprintf(lose, m.router(t)))
	begun := time.Now()
	s.waitForGateway(t, m, other, failoverTimeout)
	t.Logf("another gateway after %.0f s", time.Since(begun).Seconds())
	client := s.mcClients(t, s.a)[0]
	address := s.imported(t, s.a, s.a, s.b)
	eventually(t, failoverTimeout, func() error {
		if got := s.a.answers(t, client, address, "hostname"); got["west-0"] == 0 {
			return fmt.Errorf("no answer by way of the other gateway: %v", got)
		}
		return nil
	})
	tr.end(t, failoverTimeout)
	within()
	noLeaks()
	eventually(t, limit(6*time.Minute), func() error {
		node, err := m.client.CoreV1().Nodes().Get(t.Context(), lost, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			err = fmt.Errorf("Node %s is not ready: %+v", lost, node.Status.Conditions)
		}
		return err
	})
	m.waitForAgents(t)
}

// router is the address behind which a cluster's Nodes find the Kubernetes API.
func (m *member) router(t *testing.T) string {
	t.Helper()
	host, _, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(m.command(t, "api")), "https://"), ":")
	require.True(t, found)
	return host
}

// testLeave: after both members have left, and the leader has ended the set, nothing is left in either cluster.
func (s *clusterSet) testLeave(t *testing.T) {
	for _, m := range s.members() {
		s.mc(t, m, "leave", "--clusterset", setName)
	}
	for _, m := range s.members() {
		for _, left := range []struct {
			resource  schema.GroupVersionResource
			namespace string
		}{
			{v1alpha1.Gateways, systemNamespace}, {v1alpha1.ClusterInfoImports, systemNamespace}, {mcs.ServiceImports, s.namespace}, {v1alpha2.ClusterSets, systemNamespace},
		} {
			eventually(t, exchangeTimeout, func() error { return m.none(t, left.resource, left.namespace) })
		}
		eventually(t, exchangeTimeout, func() error {
			_, err := m.client.CoreV1().Services(s.namespace).Get(t.Context(), v1alpha1.ImportedName(webName), metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("the imported Service is still in %s (%v)", m.name, err)
			}
			return nil
		})
		for _, node := range m.nodes {
			eventually(t, exchangeTimeout, func() error {
				flows := m.exec(t, m.agentOn(t, node), ovsContainer, "ovs-ofctl", "--no-stats", "dump-flows", bridge, "table=L3Forwarding")
				if strings.Contains(flows, "aa:bb:cc:dd:ee:f0") {
					return fmt.Errorf("%s of %s has flows to another cluster: %s", node, m.name, flows)
				}
				return nil
			})
		}
	}
	for _, resource := range []schema.GroupVersionResource{v1alpha1.ResourceExports, v1alpha1.ResourceImports, v1alpha1.MemberClusterAnnounces} {
		eventually(t, exchangeTimeout, func() error { return s.a.none(t, resource, leaderNamespace) })
	}
	s.mc(t, s.a, "destroy", "--clusterset", setName, "-n", leaderNamespace)
	for _, m := range s.members() {
		m.annotate(t, m.nodes[0], false)
		m.annotate(t, m.nodes[1], false)
	}
}

// none returns an error if there are objects.
func (m *member) none(t *testing.T, resource schema.GroupVersionResource, namespace string) error {
	list, err := m.dynamic.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err == nil && len(list.Items) > 0 {
		err = fmt.Errorf("%d %s are left in %s: %s", len(list.Items), resource.Resource, m.name, list.Items[0].GetName())
	}
	return err
}

// restartController lets the member's controller read its configuration again.
func (m *member) restartController(t *testing.T) {
	t.Helper()
	m.command(t, "kubectl", "-n", systemNamespace, "rollout", "restart", "deployment/"+mcController)
	m.waitController(t, systemNamespace)
}

func (m *member) waitController(t *testing.T, namespace string) {
	t.Helper()
	m.command(t, "kubectl", "-n", namespace, "rollout", "status", "deployment/"+mcController, "--timeout=120s")
}
