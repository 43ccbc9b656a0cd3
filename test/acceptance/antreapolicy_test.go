// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

func TestAntreaPolicy(t *testing.T) {
	c := suite
	c.test(t, "webhooks", c.testPolicyWebhooks)
	c.test(t, "verdicts", c.testAntreaVerdicts)
	c.test(t, "AuditLogging", c.testAuditLogging)
	c.test(t, "FQDNPolicyInCluster", c.testFQDN)
}

// resources are the resources of policies, by kind.
var resources = map[string]func(dynamic.Interface, string) dynamic.ResourceInterface{
	v1beta1.ClusterNetworkPolicyKind: func(d dynamic.Interface, _ string) dynamic.ResourceInterface {
		return d.Resource(crd.ClusterNetworkPolicies)
	},
	v1beta1.NetworkPolicyKind: func(d dynamic.Interface, ns string) dynamic.ResourceInterface {
		return d.Resource(crd.NetworkPolicies).Namespace(ns)
	},
	v1beta1.TierKind:         func(d dynamic.Interface, _ string) dynamic.ResourceInterface { return d.Resource(crd.Tiers) },
	v1beta1.ClusterGroupKind: func(d dynamic.Interface, _ string) dynamic.ResourceInterface { return d.Resource(crd.ClusterGroups) },
	v1beta1.GroupKind: func(d dynamic.Interface, ns string) dynamic.ResourceInterface {
		return d.Resource(crd.Groups).Namespace(ns)
	},
}

// antreaObject reads an object from YAML. NS stands for the Namespace, also in names. The name is the Namespace and the kind, if there is none.
func antreaObject(t *testing.T, namespace, kind, text string) *unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NS", namespace)), &content), text)
	object := crd.New(kind, namespace)
	maps.Copy(object.Object, content)
	if kind == v1beta1.NetworkPolicyKind || kind == v1beta1.GroupKind {
		object.SetNamespace(namespace)
	}
	return object
}

// apply creates an object of a policy, which goes with the test. It returns what the API server has made of it.
func (c *cluster) apply(t *testing.T, namespace, kind, text string) (*unstructured.Unstructured, error) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	resource := resources[kind](client, namespace)
	object := antreaObject(t, namespace, kind, text)
	created, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
	if err == nil {
		t.Cleanup(func() {
			if err := resource.Delete(context.Background(), created.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				require.NoError(t, err)
			}
		})
	}
	return created, err
}

// realized waits until all Nodes have a policy.
func (c *cluster) realized(t *testing.T, namespace string, policy *unstructured.Unstructured) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	eventually(t, policyDelay, func() error {
		now, err := resources[policy.GetKind()](client, namespace).Get(t.Context(), policy.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(now.Object, "status", "phase")
		generation, _, _ := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
		if phase != "Realized" || generation != now.GetGeneration() {
			return fmt.Errorf("%s %s of generation %d has the status %v", policy.GetKind(), policy.GetName(), now.GetGeneration(), now.Object["status"])
		}
		return nil
	})
}

func (c *cluster) testPolicyWebhooks(t *testing.T) {
	namespace := c.namespace(t)
	const applied = "appliedTo: [{podSelector: {matchLabels: {a: b}}}]"
	for _, test := range []struct{ name, kind, text, refused string }{
		{"CreateInvalidACNP", v1beta1.ClusterNetworkPolicyKind, "spec: {tier: no-exist, priority: 1, " + applied + "}", "tier no-exist does not exist"},
		{"CreateInvalidANNP", v1beta1.NetworkPolicyKind, "spec: {tier: no-exist, priority: 1, " + applied + "}", "tier no-exist does not exist"},
		{"CreateInvalidTier", v1beta1.TierKind, "spec: {priority: 250}", "overlaps with existing Tier"},
		{"CreateInvalidClusterGroup", v1beta1.ClusterGroupKind, "spec: {podSelector: {}, serviceReference: {name: a, namespace: b}}", "At most one of"},
		{"CreateInvalidGroup", v1beta1.GroupKind, "spec: {podSelector: {}, serviceReference: {name: a, namespace: b}}", "At most one of"},
		{"no appliedTo", v1beta1.ClusterNetworkPolicyKind, "spec: {priority: 1}", "needs to be set in either spec or rules"},
	} {
		_, err := c.apply(t, namespace, test.kind, test.text)
		require.ErrorContains(t, err, test.refused, test.name)
		require.ErrorContains(t, err, "denied the request", test.name)
	}
	created, err := c.apply(t, namespace, v1beta1.ClusterNetworkPolicyKind, "spec: {priority: 1, "+applied+"}")
	require.NoError(t, err)
	tier, _, _ := unstructured.NestedString(created.Object, "spec", "tier")
	require.Equal(t, "application", tier, "MutateACNPNoTier")
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	require.ErrorContains(t, client.Resource(crd.Tiers).Delete(t.Context(), "emergency", metav1.DeleteOptions{}), "cannot delete reserved tier", "DeleteReferencedTier")
}

// Results of a new connection.
const (
	verdictConnected = "Connected"
	verdictDropped   = "Dropped"
	verdictRejected  = "Rejected"
)

// verdictOf returns the result of a new TCP connection.
func (c *cluster) verdictOf(t *testing.T, from *corev1.Pod, address string, port int) string {
	t.Helper()
	_, stderr, err := c.run(t.Context(), from, "", "/agnhost", "connect", fmt.Sprintf("%s:%d", address, port), "--timeout=2s", "--protocol=tcp")
	switch {
	case err == nil:
		return verdictConnected
	case strings.Contains(stderr, "TIMEOUT"):
		return verdictDropped
	case strings.Contains(stderr, "REFUSED"):
		return verdictRejected
	}
	return fmt.Sprintf("%v: %s", err, stderr)
}

// antreaBed has a server with the ports 80 and 81, and a client on each Node.
type antreaBed struct {
	namespace string
	server    *corev1.Pod
	service   *corev1.Service
	clients   map[string]*corev1.Pod
}

func (c *cluster) antreaBed(t *testing.T) antreaBed {
	namespace := c.namespace(t)
	b := antreaBed{namespace: namespace, clients: map[string]*corev1.Pod{}}
	b.server = c.pod(t, namespace, "server", c.nodes[1], podOptions{
		image: agnhostImage, labels: map[string]string{"app": "server"}, command: []string{"/bin/bash", "-c"},
		args: []string{"for i in 80 81; do /agnhost netexec --http-port=$i --udp-port=$i & done; wait"},
	})
	b.service = c.service(t, namespace, "server", 80, 80, nil)
	for i, name := range []string{"other", "same"} {
		b.clients[name] = c.pod(t, namespace, name, c.nodes[i], podOptions{image: agnhostImage, labels: map[string]string{"app": name}})
	}
	return b
}

// verdictCase is a set of policies with the results of connections.
type verdictCase struct {
	name    string
	objects [][2]string // kind and YAML
	// want has the results of connections from a client to a port, as "client:port"; Connected for others.
	want map[string]string
}

const (
	acnpKind = v1beta1.ClusterNetworkPolicyKind
	annpKind = v1beta1.NetworkPolicyKind
	// toServer is the server's Pod as target, fromOther the client on the other Node as peer.
	toServer  = "appliedTo: [{podSelector: {matchLabels: {app: server}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}]"
	fromOther = "from: [{podSelector: {matchLabels: {app: other}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}]"
	port80    = "ports: [{protocol: TCP, port: 80}]"
)

var verdictCases = []verdictCase{
	{"AllowNoDefaultIsolation", [][2]string{{acnpKind, "spec: {priority: 1, " + toServer + ", ingress: [{action: Allow, " + fromOther + ", " + port80 + "}]}"}}, nil},
	{"DropIngress", [][2]string{{acnpKind, "spec: {priority: 1, " + toServer + ", ingress: [{action: Drop, " + fromOther + ", " + port80 + "}]}"}}, map[string]string{"other:80": verdictDropped}},
	{"RejectIngress", [][2]string{{acnpKind, "spec: {priority: 1, " + toServer + ", ingress: [{action: Reject, from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}], " + port80 + "}]}"}},
		map[string]string{"other:80": verdictRejected, "same:80": verdictRejected, "other:service": verdictRejected, "same:service": verdictRejected}},
	{"RejectEgress", [][2]string{{annpKind, "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: {app: other}}}], egress: [{action: Reject, to: [{podSelector: {matchLabels: {app: server}}}], " + port80 + "}]}"}},
		map[string]string{"other:80": verdictRejected, "other:service": verdictRejected}},
	{"TierOverride", [][2]string{
		{acnpKind, "{metadata: {name: NS-a}, spec: {tier: application, priority: 1, " + toServer + ", ingress: [{action: Allow, " + fromOther + "}]}}"},
		{acnpKind, "{metadata: {name: NS-b}, spec: {tier: securityops, priority: 10, " + toServer + ", ingress: [{action: Drop, " + fromOther + ", " + port80 + "}]}}"}},
		map[string]string{"other:80": verdictDropped}},
	{"PriorityOverride", [][2]string{
		{acnpKind, "{metadata: {name: NS-a}, spec: {priority: 1.002, " + toServer + ", ingress: [{action: Drop, " + fromOther + "}]}}"},
		{acnpKind, "{metadata: {name: NS-b}, spec: {priority: 1.001, " + toServer + ", ingress: [{action: Allow, " + fromOther + ", " + port80 + "}]}}"}},
		map[string]string{"other:81": verdictDropped}},
	{"BaselinePolicy with Pass", [][2]string{
		{acnpKind, "{metadata: {name: NS-a}, spec: {tier: baseline, priority: 1, " + toServer + ", ingress: [{action: Drop, " + fromOther + "}]}}"},
		{acnpKind, "{metadata: {name: NS-b}, spec: {tier: platform, priority: 1, " + toServer + ", ingress: [{action: Pass, " + fromOther + ", ports: [{protocol: TCP, port: 81}]}]}}"},
		{acnpKind, "{metadata: {name: NS-c}, spec: {tier: application, priority: 1, " + toServer + ", ingress: [{action: Allow, " + fromOther + "}]}}"}},
		map[string]string{"other:81": verdictDropped}},
	{"ClusterGroup after the policy", [][2]string{
		{acnpKind, "spec: {priority: 1, " + toServer + ", ingress: [{action: Drop, from: [{group: NS}], " + port80 + "}]}"},
		{v1beta1.ClusterGroupKind, "spec: {podSelector: {matchLabels: {app: same}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}"}},
		map[string]string{"same:80": verdictDropped}},
	{"ToServices", [][2]string{{annpKind, "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: {app: other}}}], egress: [{action: Drop, toServices: [{name: server}]}]}"}},
		map[string]string{"other:service": verdictDropped}},
	{"ServiceAccount and ports", [][2]string{{acnpKind, "spec: {priority: 1, " + toServer + ", ingress: [{action: Drop, from: [{serviceAccount: {name: default, namespace: NS}}], ports: [{protocol: TCP, port: 81, endPort: 90}]}]}"}},
		map[string]string{"other:81": verdictDropped, "same:81": verdictDropped}},
}

// testAntreaVerdicts: packets get the verdict that the documentation promises as soon as the status says so.
func (c *cluster) testAntreaVerdicts(t *testing.T) {
	b := c.antreaBed(t)
	for _, test := range verdictCases {
		t.Run(test.name, func(t *testing.T) {
			for _, object := range test.objects {
				created, err := c.apply(t, b.namespace, object[0], object[1])
				require.NoError(t, err)
				if object[0] == acnpKind || object[0] == annpKind {
					c.realized(t, b.namespace, created)
				}
			}
			c.expectVerdicts(t, b, test.want)
		})
	}
	c.expectVerdicts(t, b, nil)
}

// expectVerdicts compares the results of connections from all clients.
func (c *cluster) expectVerdicts(t *testing.T, b antreaBed, want map[string]string) {
	t.Helper()
	targets := map[string]struct {
		address string
		port    int
	}{"80": {b.server.Status.PodIP, 80}, "81": {b.server.Status.PodIP, 81}, "service": {b.service.Spec.ClusterIP, 80}}
	for _, client := range slices.Sorted(maps.Keys(b.clients)) {
		for _, target := range slices.Sorted(maps.Keys(targets)) {
			expected, named := want[client+":"+target]
			if !named && target == "service" {
				expected, named = want[client+":80"], want[client+":80"] != ""
			}
			if !named {
				expected = verdictConnected
			}
			eventually(t, policyDelay, func() error {
				if got := c.verdictOf(t, b.clients[client], targets[target].address, targets[target].port); got != expected {
					return fmt.Errorf("%s to %s: %s, want %s", client, target, got, expected)
				}
				return nil
			})
		}
	}
}

// testFQDN: a name of a headless Service leads to its Pods, and the answer of DNS does not overtake the rule.
func (c *cluster) testFQDN(t *testing.T) {
	b := c.antreaBed(t)
	c.service(t, b.namespace, "headless", 80, 80, func(s *corev1.ServiceSpec) {
		s.ClusterIP, s.Selector = corev1.ClusterIPNone, map[string]string{"app": "server"}
	})
	name := "headless." + b.namespace + ".svc.cluster.local"
	for _, client := range b.clients {
		eventually(t, policyDelay, func() error {
			if got := c.verdictOf(t, client, name+".", 80); got != verdictConnected {
				return fmt.Errorf("%s to %s: %s", client.Name, name, got)
			}
			return nil
		})
	}
	for client, action := range map[string]string{"other": "Reject", "same": "Drop"} {
		policy, err := c.apply(t, b.namespace, annpKind, fmt.Sprintf("{metadata: {name: NS-%s}, spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: {app: %s}}}], egress: [{action: %s, to: [{fqdn: %q}]}]}}",
			client, client, action, strings.ToUpper(name[:1])+name[1:]))
		require.NoError(t, err)
		c.realized(t, b.namespace, policy)
	}
	for client, want := range map[string]string{"other": verdictRejected, "same": verdictDropped} {
		eventually(t, policyDelay, func() error { // an answer that is held for too long is dropped
			got := c.verdictOf(t, b.clients[client], name+".", 80)
			require.NotEqual(t, verdictConnected, got, client)
			if got != want {
				return fmt.Errorf("%s: %s, want %s", client, got, want)
			}
			return nil
		})
	}
}

// testAuditLogging: a line for each denied connection.
func (c *cluster) testAuditLogging(t *testing.T) {
	b := c.antreaBed(t)
	policy, err := c.apply(t, b.namespace, acnpKind, "spec: {priority: 1, "+toServer+", ingress: [{action: Drop, name: DropOther, enableLogging: true, logLabel: testLogLabel, "+fromOther+", "+port80+"}]}")
	require.NoError(t, err)
	c.realized(t, b.namespace, policy)
	require.Equal(t, verdictDropped, c.verdictOf(t, b.clients["other"], b.server.Status.PodIP, 80))
	line := regexp.MustCompile(fmt.Sprintf(`AntreaPolicyIngressRule AntreaClusterNetworkPolicy:%s DropOther Ingress Drop [0-9]+ %s/server %s [0-9]+ %s 80 TCP [0-9]+ testLogLabel`,
		policy.GetName(), b.namespace, b.clients["other"].Status.PodIP, b.server.Status.PodIP))
	eventually(t, policyDelay, func() error {
		log := c.exec(t, c.agentOn(t, c.nodes[1]), agentContainer, "cat", "/var/log/antrea/networkpolicy/np.log")
		for entry := range strings.Lines(log) {
			if line.MatchString(entry) {
				return nil
			}
		}
		return fmt.Errorf("np.log has no line %s:\n%s", line, log)
	})
}
