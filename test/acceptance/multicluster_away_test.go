// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

// backTimeout is until a member that was away has exchanged what has changed: client-go asks again after up to 30 s.
var backTimeout = limit(time.Minute)

// cut refuses connections of a cluster's Nodes to the API of its leader. The returned function ends that.
func (s *clusterSet) cut(t *testing.T, m *member) (restore func()) {
	t.Helper()
	set, err := read[v1alpha2.ClusterSet](t, m, v1alpha2.ClusterSets, systemNamespace, setName)
	require.NoError(t, err)
	server, err := url.Parse(set.Spec.Leaders[0].Server)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(server.Host)
	require.NoError(t, err, "%s", server)
	var restores []func()
	var restored sync.Once
	restore = func() {
		restored.Do(func() {
			for _, restore := range restores {
				restore()
			}
		})
	}
	t.Cleanup(restore)
	for _, node := range m.nodes {
		agent := m.agentOn(t, node)
		change := func(how string) {
			_, stderr, err := m.run(withoutCancel(t), agent, agentContainer,
				"iptables", "-w", how, "OUTPUT", "-d", host, "-p", "tcp", "--dport", port, "-j", "REJECT", "--reject-with", "tcp-reset")
			require.NoError(t, err, stderr)
		}
		change("-I")
		restores = append(restores, func() { change("-D") })
	}
	return restore
}

// away is the time for which testLeaderCut takes the leader away, MULTICLUSTER_AWAY.
func away(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("MULTICLUSTER_AWAY")
	if text == "" {
		return limit(90 * time.Second)
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "MULTICLUSTER_AWAY")
	return d
}

// testLeaderCut: while a member cannot reach the leader's API, all that is imported stays, traffic loses nothing, and both sides say that they are
// not connected. Changes of both sides are exchanged afterwards.
func (s *clusterSet) testLeaderCut(t *testing.T) {
	identities, length := s.identities(t), away(t)
	tr := s.begin(t, length+limit(5*time.Minute))
	restore := s.cut(t, s.b)
	end := time.NewTimer(length)
	defer end.Stop()
	eventually(t, joinTimeout, func() error { return s.b.disconnected(t) })
	eventually(t, joinTimeout, func() error { return s.readyClusters(t, 1) })
	s.selects(t, s.a, "nothing")
	s.createExport(t, s.b, singleName)
	select {
	case <-end.C:
	case <-t.Context().Done():
	}
	require.NoError(t, s.b.disconnected(t))
	require.Equal(t, identities, s.identities(t))
	restore()
	begun := time.Now()
	s.importedWithin(t, backTimeout, s.b, s.b)
	eventually(t, backTimeout, func() error { return s.hasImport(t, s.a, singleName, true) })
	t.Logf("exchanged %.0f s after the leader is back", time.Since(begun).Seconds())
	eventually(t, joinTimeout, func() error { return s.readyClusters(t, 2) })
	s.selects(t, s.a, webName)
	s.imported(t, s.b, s.a, s.b)
	s.deleteExport(t, s.b, singleName)
	eventually(t, exchangeTimeout, func() error { return s.hasImport(t, s.a, singleName, false) })
	tr.endWhole(t)
}

// disconnected returns an error unless a member says that it does not reach the leader.
func (m *member) disconnected(t *testing.T) error {
	t.Helper()
	set, err := read[v1alpha2.ClusterSet](t, m, v1alpha2.ClusterSets, systemNamespace, setName)
	if err != nil {
		return err
	}
	for _, c := range set.Status.Conditions {
		if c.Type == v1alpha2.ClusterSetReady && c.Status == corev1.ConditionFalse && c.Reason == "Disconnected" && strings.Contains(c.Message, ": ") {
			return nil
		}
	}
	return fmt.Errorf("the ClusterSet of %s does not say that, and why, it is not connected: %+v", m.name, set.Status)
}

// identities are the identities of what is imported.
func (s *clusterSet) identities(t *testing.T) (found []string) {
	t.Helper()
	for _, m := range s.members() {
		service, err := m.client.CoreV1().Services(s.namespace).Get(t.Context(), v1alpha1.ImportedName(webName), metav1.GetOptions{})
		require.NoError(t, err)
		i, err := read[v1alpha1.ClusterInfoImport](t, m, v1alpha1.ClusterInfoImports, systemNamespace, v1alpha1.ClusterInfoName(s.other(m).id))
		require.NoError(t, err)
		found = append(found, string(service.UID), service.Spec.ClusterIP, string(i.UID), i.ResourceVersion)
	}
	return found
}

// hasImport returns an error unless a cluster has an imported Service of this name, or has none.
func (s *clusterSet) hasImport(t *testing.T, m *member, name string, want bool) error {
	t.Helper()
	_, err := m.client.CoreV1().Services(s.namespace).Get(t.Context(), v1alpha1.ImportedName(name), metav1.GetOptions{})
	if want || err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		return fmt.Errorf("%s still has the imported Service %s", m.name, name)
	}
	return nil
}

func (s *clusterSet) deleteExport(t *testing.T, m *member, name string) {
	t.Helper()
	require.NoError(t, m.dynamic.Resource(mcs.ServiceExports).Namespace(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// testTokens: a member whose token is replaced stays one. One whose token is deleted ends: what it exports goes, what others export stays there, and it
// says why. With another token it is back.
func (s *clusterSet) testTokens(t *testing.T) {
	token := s.b.id + "-token"
	give := func(file string) {
		t.Helper()
		s.mc(t, s.a, "create", "membertoken", token, "-n", leaderNamespace, "--cluster-id", s.b.id, "-o", s.file(file))
		s.b.command(t, "kubectl", "-n", systemNamespace, "apply", "-f", s.file(file))
	}
	identities := s.identities(t)
	s.a.command(t, "kubectl", "-n", leaderNamespace, "delete", "secret", token)
	give("rotated.yml")
	s.createExport(t, s.b, singleName)
	eventually(t, joinTimeout, func() error { return s.hasImport(t, s.a, singleName, true) })
	s.deleteExport(t, s.b, singleName)
	eventually(t, exchangeTimeout, func() error { return s.hasImport(t, s.a, singleName, false) })
	require.Equal(t, identities, s.identities(t))

	s.mc(t, s.a, "delete", "membertoken", token, "-n", leaderNamespace)
	s.imported(t, s.a, s.a)
	eventually(t, exchangeTimeout, func() error {
		_, err := read[v1alpha1.ClusterInfoImport](t, s.a, v1alpha1.ClusterInfoImports, systemNamespace, v1alpha1.ClusterInfoName(s.b.id))
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s still has the ClusterInfoImport of %s (%v)", s.a.name, s.b.id, err)
		}
		return nil
	})
	eventually(t, joinTimeout, func() error { return s.b.disconnected(t) })
	s.imported(t, s.b, s.a) // not its own: its watches continue without a token

	give("again.yml")
	for _, m := range s.members() {
		s.importedWithin(t, joinTimeout, m, s.a, s.b)
	}
	eventually(t, joinTimeout, func() error { return s.readyClusters(t, 2) })
	client, address := s.mcClients(t, s.a)[0], s.webAddress(t, s.b)
	eventually(t, joinTimeout, func() error {
		if got := s.a.answers(t, client, address, "hostname"); got["west-0"] == 0 || got["west-1"] == 0 || got[""] > 0 {
			return fmt.Errorf("%s of %s gets the answers %v of %s", client.Name, s.a.name, got, address)
		}
		return nil
	})
}
