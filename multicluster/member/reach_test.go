// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
)

// TestNetworkStaysWithoutGateway: the ClusterInfo stays with the last Gateway's address until another one follows.
func TestNetworkStaysWithoutGateway(t *testing.T) {
	w := newWorld(t)
	exported := func() string {
		e := changetest.List[v1alpha1.ResourceExport](w.far, resourceExports)
		require.Len(t, e, 1)
		require.Nil(t, e[0].DeletionTimestamp)
		return e[0].Spec.ClusterInfo.ServiceCIDR + " " + e[0].Spec.ClusterInfo.GatewayInfos[0].GatewayIP
	}
	w.putNode("node-1", "172.18.1.1", "", true, annotated())
	w.settle()
	require.Equal(t, "10.100.0.0/16 172.18.1.1", exported())
	w.putNode("node-1", "172.18.1.1", "", false, annotated())
	w.settle()
	require.Empty(t, w.gateway())
	require.Equal(t, "10.100.0.0/16 172.18.1.1", exported())
	w.putNode("node-2", "172.18.1.2", "", true, annotated())
	w.settle()
	require.Equal(t, "10.100.0.0/16 172.18.1.2", exported())
}

// TestSuccessorComesFirst: the former Gateway goes when the next one is there, and until then the leader is told of the former one.
func TestSuccessorComesFirst(t *testing.T) {
	w := newWorld(t)
	w.putNode("node-2", "172.18.1.2", "", true, annotated())
	w.settle()
	w.putNode("node-1", "172.18.1.1", "", true, annotated())
	w.putNode("node-2", "172.18.1.2", "", false, annotated())
	next := func() (out []string) {
		for _, c := range w.shown(w.local, w.far).gatewayChanges() {
			out = append(out, c.String())
		}
		return out
	}
	require.Equal(t, []string{"create Gateway kube-system/node-1"}, next())
	require.Equal(t, "172.18.1.2", w.shown(w.local, w.far).clusterInfoExport().Spec.ClusterInfo.GatewayInfos[0].GatewayIP)
	w.local.Now = w.local.Now.Add(time.Second)
	makeAll(w.local, w.shown(w.local, w.far).gatewayChanges())
	require.Equal(t, []string{"delete Gateway kube-system/node-2"}, next())
	require.Equal(t, "172.18.1.2", w.shown(w.local, w.far).clusterInfoExport().Spec.ClusterInfo.GatewayInfos[0].GatewayIP, "agents use the oldest one")
	w.settle()
	require.Equal(t, "node-1 172.18.1.1 172.18.1.1 10.100.0.0/16", w.gateway())
}

// TestEndpointsWithoutAWay: addresses outside all Service networks of the set are left out; addresses of a cluster whose new content is refused stay.
func TestEndpointsWithoutAWay(t *testing.T) {
	w := newWorld(t)
	w.importService("default", "nginx", 80, "10.200.0.7", "10.100.7.9", "10.230.0.7", "192.0.2.4")
	w.settle()
	addresses := func() []string { return w.derivedAddresses("default", "antrea-mc-nginx") }
	require.Equal(t, []string{"10.100.7.9", "10.200.0.7"}, addresses())
	require.Contains(t, w.message(), "ResourceImport default-nginx-endpoints: 10.230.0.7 is left out: no cluster with a Gateway has it in its Service network")
	w.importInfo("east", "10.230.0.0/16", "192.0.2.9")
	w.settle()
	require.Equal(t, []string{"10.100.7.9", "10.200.0.7", "10.230.0.7"}, addresses())
	w.importInfo("east", "10.230.0.0/4", "192.0.2.9")
	w.settle()
	require.Equal(t, []string{"10.100.7.9", "10.200.0.7", "10.230.0.7"}, addresses())

	// Endpoints come after the way, and go before it.
	w.far.Remove(resourceImports, area, "east-clusterinfo")
	var order []string
	changes, _ := w.shown(w.local, w.far).importChanges()
	for _, c := range changes {
		order = append(order, c.Type.Kind)
	}
	require.Equal(t, []string{"Endpoints", "EndpointSlice", "ClusterInfoImport"}, order)
	w.settle()
	require.Equal(t, []string{"10.100.7.9", "10.200.0.7"}, addresses())
	s := w.shown(w.local, w.far)
	s.serviceCIDR = s.serviceCIDR.Masked()
	s.serviceCIDR, s.leader.imports = (&snapshot{}).serviceCIDR, append(s.leader.imports, endpointsImport("prod", "web", 80, "10.200.0.8"))
	changes, _ = s.importChanges()
	require.Empty(t, changes, "the network of this cluster is not known yet")
}

// TestForgetfulLeader: a leader that has lost everything takes nothing away until members had time to export again.
func TestForgetfulLeader(t *testing.T) {
	w := newWorld(t)
	w.exportService(service("default", "web", "10.100.7.9", 80), true)
	w.importService("default", "nginx", 80, "10.200.0.7")
	w.settle()
	var m memory
	look := func(after time.Duration) *snapshot {
		s := w.shown(w.local, w.far)
		s.now = metav1.NewTime(w.local.Now.Add(after))
		m.look(s)
		return s
	}
	require.False(t, look(0).leader.recovering)
	for _, name := range []string{"default-nginx-service", "default-nginx-endpoints", "south-clusterinfo"} {
		w.far.Remove(resourceImports, area, name)
	}
	exports := changetest.List[v1alpha1.ResourceExport](w.far, resourceExports)
	w.lettingGo()
	for _, e := range exports {
		w.far.Remove(resourceExports, area, e.Name)
	}
	w.lettingGo()
	deletions := func(s *snapshot) (n int) {
		changes, _ := s.importChanges()
		for _, c := range changes {
			if c.Verb == change.Delete {
				n++
			}
		}
		return n
	}
	s := look(time.Second)
	require.True(t, s.leader.recovering)
	require.Zero(t, deletions(s))
	makeAll(w.far, s.exportChanges())
	s = look(30 * time.Second)
	require.False(t, s.isForgotten())
	require.Zero(t, deletions(s))
	require.Positive(t, deletions(look(time.Second+recoveryTime)))

	s = look(time.Second)
	s.leader.exports, s.leader.refused = nil, map[string]string{"west-default-web-service": "no", "west-default-web-endpoints": "no"}
	require.False(t, s.isForgotten(), "it takes nothing")
	s.set = nil
	m.look(s)
	require.Positive(t, deletions(s), "leaving does not wait")
}

// TestWaysAreNotCounted: too many Services keep no ClusterInfo out.
func TestWaysAreNotCounted(t *testing.T) {
	w := newWorld(t)
	s := w.shown(w.local, w.far)
	for i := range maxImports {
		s.leader.imports = append(s.leader.imports, &v1alpha1.ResourceImport{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", i)}})
	}
	w.importService("default", "nginx", 80, "10.200.0.7")
	s.leader.imports = append(s.leader.imports, w.shown(w.local, w.far).leader.imports...)
	a := s.accept()
	require.Len(t, a.refusals, 2)
	require.EqualError(t, a.refusals[0].err, "the leader has more than 10000 of Services and Endpoints")
	require.Contains(t, a.infos, "south-clusterinfo")
}
