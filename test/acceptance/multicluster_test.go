// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Names of the ClusterSet.
const (
	setName         = "cs1"
	leaderNamespace = "antrea-multicluster"
	mcController    = "antrea-mc-controller"
)

// Time limits.
var (
	deployTimeout   = limit(2 * time.Minute)  // until a controller works
	crdTimeout      = limit(time.Minute)      // until an agent notices CRDs: client-go asks again after up to 30 s
	joinTimeout     = limit(75 * time.Second) // until the leader counts a member
	exchangeTimeout = limit(15 * time.Second) // until an export of the one cluster is in the other
	// until a Node that is away is not the gateway any more: Kubernetes takes 40 s to see it, and 30 s more to replace a controller there
	failoverTimeout = limit(150 * time.Second)
)

// member is a cluster of the ClusterSet.
type member struct {
	*cluster
	dynamic dynamic.Interface
	// id is its ID, name the name of its machines for tool, the program that runs them.
	id, name, tool string
}

// clusterSet are two clusters whose Nodes reach each other. a is the leader as well.
type clusterSet struct {
	a, b *member
	// antctl is the program; its files are in dir.
	antctl, dir string
	// namespace is in both clusters.
	namespace string
	// encrypted is set if packets between the clusters are.
	encrypted bool
}

// TestMulticluster takes two clusters through the life of a ClusterSet, as hack/multicluster.sh describes. The cases build on each other.
func TestMulticluster(t *testing.T) {
	tool := os.Getenv("MULTICLUSTER_TOOL")
	if tool == "" {
		t.Skip("this takes two clusters: make suite S=multicluster")
	}
	s := newClusterSet(t, tool)
	for _, tc := range []struct {
		name string
		test func(*testing.T)
		// needed is set if nothing after a failure makes sense.
		needed bool
	}{
		{"join", s.testJoin, true},
		{"gateways", s.testGateways, true},
		{"testMCServiceConnectivity", s.testConnectivity, false},
		{"encryption", s.testEncryption, false},
		{"both clusters export a Service", s.testBothExport, false},
		{"policies", s.testPolicies, false},
		{"testPolicyCopy", s.testPolicyCopy, false},
		{"Pods", s.testPods, false},
		{"testScaleDownMCServiceEndpoints", s.testScaleDown, false},
		{"a member lies", s.testLies, false},
		{"the gateway changes", s.testGatewayChange, false},
		{"the gateway Node is drained", s.testDrain, false},
		{"the leader is away", s.testLeaderAway, false},
		{"the leader is cut off", s.testLeaderCut, false},
		{"tokens", s.testTokens, false},
		{"the gateway Node is lost", s.testGatewayLost, false},
		{"leave", s.testLeave, false},
	} {
		ok := t.Run(tc.name, func(t *testing.T) {
			begun := time.Now()
			defer func() {
				if t.Failed() {
					s.diagnose(t)
				}
				suite.tally.add(t, begun)
				t.Logf("%.1f s", time.Since(begun).Seconds())
			}()
			tc.test(t)
		})
		if !ok && tc.needed {
			return
		}
	}
}

func newClusterSet(t *testing.T, tool string) *clusterSet {
	t.Helper()
	s := &clusterSet{antctl: os.Getenv("MULTICLUSTER_ANTCTL"), dir: t.TempDir(), encrypted: os.Getenv("MULTICLUSTER_ENCRYPTION") == wireGuard}
	names := strings.Fields(os.Getenv("MULTICLUSTER_NAMES"))
	require.Len(t, names, 2, "MULTICLUSTER_NAMES")
	for i, m := range []**member{&s.a, &s.b} {
		*m = &member{id: []string{"north", "west"}[i], name: names[i], tool: tool}
		kubeconfig := strings.TrimSpace((*m).command(t, "kubeconfig"))
		c, err := open(t.Context(), kubeconfig)
		require.NoError(t, err)
		c.logs += "/" + names[i]
		(*m).cluster = c
		(*m).dynamic, err = dynamic.NewForConfig(c.config)
		require.NoError(t, err)
	}
	// The Namespace exists in both clusters, as users of imported Services must arrange.
	s.namespace = s.a.namespace(t)
	_, err := s.b.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.b.client.CoreV1().Namespaces().Delete(context.Background(), s.namespace, metav1.DeleteOptions{}))
	})
	return s
}

func (s *clusterSet) members() []*member { return []*member{s.a, s.b} }

// other is the other cluster.
func (s *clusterSet) other(m *member) *member {
	if m == s.a {
		return s.b
	}
	return s.a
}

// command runs a command of the program that runs the cluster.
func (m *member) command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := m.try(args...)
	require.NoErrorf(t, err, "%v: %s", args, out)
	return out
}

func (m *member) try(args ...string) (string, error) {
	command := osexec.Command(m.tool, args...)
	command.Env = append(os.Environ(), "CLUSTER_NAME="+m.name)
	out, err := command.CombinedOutput()
	return string(out), err
}

// mc runs antctl mc with the rights of a cluster's administrator, where the Nodes' addresses are reachable.
func (s *clusterSet) mc(t *testing.T, m *member, args ...string) string {
	t.Helper()
	return m.command(t, append([]string{"inside", "--", s.antctl, "mc"}, args...)...)
}

func (s *clusterSet) file(name string) string { return s.dir + "/" + name }

// diagnose writes what both clusters and their controllers know.
func (s *clusterSet) diagnose(t *testing.T) {
	for _, m := range s.members() {
		m.cluster.diagnose(t)
		for _, args := range [][]string{
			{"-n", leaderNamespace, "logs", "deployment/" + mcController}, {"-n", systemNamespace, "logs", "deployment/" + mcController},
			{"get", "gateways,clusterinfoimports,serviceexports,serviceimports,resourceexports,resourceimports,clustersets", "-A", "-o", "yaml"},
			{"get", "services,endpointslices,nodes", "-A", "-o", "wide"},
		} {
			out, err := m.try(append([]string{"kubectl"}, args...)...)
			t.Logf("%s: kubectl %s (%v)", m.name, strings.Join(args, " "), err)
			m.write(t, m.logs, strings.Join(args[:2], "-")+"-"+cmp.Or(strings.ReplaceAll(args[len(args)-1], "/", "-"), "x"), out, err == nil && args[2] == "logs")
		}
	}
}

// read returns an object of Multi-cluster.
func read[T any](t *testing.T, m *member, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	object, err := m.dynamic.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return crd.Read[T](object)
}

// readyClusters returns an error unless the leader counts this number of members.
func (s *clusterSet) readyClusters(t *testing.T, want int32) error {
	set, err := read[v1alpha2.ClusterSet](t, s.a, v1alpha2.ClusterSets, leaderNamespace, setName)
	if err == nil && set.Status.ReadyClusters != want {
		err = fmt.Errorf("%d clusters are ready, want %d: %+v", set.Status.ReadyClusters, want, set.Status)
	}
	return err
}

// testJoin is the commands of docs/use/multicluster.md.
func (s *clusterSet) testJoin(t *testing.T) {
	s.mc(t, s.a, "deploy", "leadercluster", "-n", leaderNamespace, "--wait", deployTimeout.String())
	s.mc(t, s.a, "init", "-n", leaderNamespace, "--clusterset", setName, "--clusterid", s.a.id, "-j", s.file("join.yml"))
	for _, m := range s.members() {
		token := s.file(m.id + ".yml")
		s.mc(t, s.a, "create", "membertoken", m.id+"-token", "-n", leaderNamespace, "--cluster-id", m.id, "-o", token)
		s.mc(t, m, "deploy", "membercluster", "-n", systemNamespace, "--wait", deployTimeout.String())
		require.Contains(t, s.mc(t, m, "join", "-f", s.file("join.yml"), "--clusterid", m.id, "--token-secret-file", token), "Member cluster joined successfully")
	}
	eventually(t, joinTimeout, func() error { return s.readyClusters(t, 2) })
	out := s.mc(t, s.a, "get", "clusterset", "-n", leaderNamespace)
	for _, m := range s.members() {
		require.Regexp(t, m.id+` +`+leaderNamespace+` +`+setName+` +Ready +True`, out)
	}
}

// annotate makes a Node a candidate for the gateway, or ends that.
func (m *member) annotate(t *testing.T, node string, candidate bool) {
	t.Helper()
	value := "null"
	if candidate {
		value = `"true"`
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, v1alpha1.GatewayAnnotation, value)
	_, err := m.client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// address is the address of a Node.
func (m *member) address(t *testing.T, name string) string {
	t.Helper()
	node, err := m.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatalf("Node %s has no address", name)
	return ""
}

// waitForGateway waits until a Node is a cluster's gateway, and all other Nodes of both clusters send there.
func (s *clusterSet) waitForGateway(t *testing.T, m *member, node string, timeout time.Duration) {
	t.Helper()
	address, other := m.address(t, node), s.other(m)
	eventually(t, timeout, func() error {
		if _, err := read[v1alpha1.Gateway](t, m, v1alpha1.Gateways, systemNamespace, node); err != nil {
			return err
		}
		i, err := read[v1alpha1.ClusterInfoImport](t, other, v1alpha1.ClusterInfoImports, systemNamespace, v1alpha1.ClusterInfoName(m.id))
		if err == nil && (len(i.Spec.GatewayInfos) != 1 || i.Spec.GatewayInfos[0].GatewayIP != address || i.Spec.ServiceCIDR == "") {
			err = fmt.Errorf("%s has a ClusterInfoImport without the gateway %s: %+v", other.name, address, i.Spec)
		}
		return err
	})
}

// testGateways: an annotated Node becomes the gateway, and the Nodes of both clusters have flows to it.
func (s *clusterSet) testGateways(t *testing.T) {
	for _, m := range s.members() {
		m.annotate(t, m.nodes[0], true)
	}
	for _, m := range s.members() {
		s.waitForGateway(t, m, m.nodes[0], exchangeTimeout)
	}
	for _, m := range s.members() {
		for i, node := range m.nodes {
			to := m.address(t, m.nodes[0])
			if i == 0 {
				to = s.seenAs(t, s.other(m), s.other(m).nodes[0])
			}
			s.waitForFlow(t, m, node, to, crdTimeout)
		}
	}
}

// waitForFlow waits until a Node sends what is for the other cluster's Services to an address.
func (s *clusterSet) waitForFlow(t *testing.T, m *member, node, to string, timeout time.Duration) {
	t.Helper()
	services := s.services(t, m)
	eventually(t, timeout, func() error { return m.leads(t, node, services, to) })
}

// services is the other cluster's Service network.
func (s *clusterSet) services(t *testing.T, m *member) string {
	t.Helper()
	i, err := read[v1alpha1.ClusterInfoImport](t, m, v1alpha1.ClusterInfoImports, systemNamespace, v1alpha1.ClusterInfoName(s.other(m).id))
	require.NoError(t, err)
	return i.Spec.ServiceCIDR
}

// leads returns an error unless a Node sends what is for a network of the other cluster to an address.
func (m *member) leads(t *testing.T, node, network, to string) error {
	t.Helper()
	agent, err := m.agentPod(t.Context(), node)
	if err != nil {
		return err
	}
	flows := m.exec(t, agent, ovsContainer, "ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", bridge, "table=L3Forwarding,ip,nw_dst="+network)
	if !strings.Contains(flows, "set_field:"+to+"->tun_dst") {
		return fmt.Errorf("%s of %s has no flow for %s to %s: %s", node, m.name, network, to, flows)
	}
	return nil
}
