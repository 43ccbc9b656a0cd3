// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
)

// ways returns the ClusterInfoImports with network and Gateway.
func (w *world) ways() []string {
	out := []string{}
	for _, i := range changetest.List[v1alpha1.ClusterInfoImport](w.local, infoImports) {
		out = append(out, fmt.Sprintf("%s %s %s", i.Name, i.Spec.ServiceCIDR, i.Spec.GatewayInfos[0].GatewayIP))
	}
	return out
}

// TestSquattedGateway: a younger cluster that has claimed the address to which the Gateway of an older one moves later loses its way, not the older
// one, whatever their names are, in members that know both and in those that have just joined.
func TestSquattedGateway(t *testing.T) {
	for _, joined := range []bool{false, true} {
		t.Run(fmt.Sprint("just joined: ", joined), func(t *testing.T) {
			w := newWorld(t)
			later := func() { w.far.Now = w.far.Now.Add(time.Second); w.settle() }
			w.importInfo("zzz", "10.200.0.0/16", "192.0.2.1")
			later()
			w.importInfo("aaa", "10.210.0.0/16", "192.0.2.2") // The second candidate of zzz.
			later()
			both := []string{"aaa-clusterinfo 10.210.0.0/16 192.0.2.2", "zzz-clusterinfo 10.200.0.0/16 192.0.2.1"}
			require.Equal(t, both, w.ways())
			if joined {
				for _, name := range []string{"aaa-clusterinfo", "zzz-clusterinfo"} {
					w.local.Remove(infoImports, system, name)
				}
			}
			w.importInfo("zzz", "10.200.0.0/16", "192.0.2.2")
			w.settle()
			require.Equal(t, []string{"zzz-clusterinfo 10.200.0.0/16 192.0.2.2"}, w.ways())
			require.Equal(t, "ResourceImport aaa-clusterinfo: gatewayIP 192.0.2.2 belongs to cluster zzz", w.message())
			w.importInfo("aaa", "10.210.0.0/16", "192.0.2.3")
			w.settle()
			require.Equal(t, []string{"aaa-clusterinfo 10.210.0.0/16 192.0.2.3", "zzz-clusterinfo 10.200.0.0/16 192.0.2.2"}, w.ways())
		})
	}
}

// TestNetworkOfARefusedCluster: what a cluster has stays its own while its new ClusterInfo is refused, also from an older one.
func TestNetworkOfARefusedCluster(t *testing.T) {
	w := newWorld(t)
	w.importInfo("aaa", "10.230.0.0/16", "192.0.2.3")
	w.far.Now = w.far.Now.Add(time.Second)
	w.importInfo("zzz", "10.200.0.0/16", "192.0.2.1")
	w.settle()
	w.importInfo("zzz", "10.200.0.0/4", "192.0.2.1")
	w.importInfo("aaa", "10.200.0.0/16", "192.0.2.3")
	w.settle()
	require.Equal(t, []string{"aaa-clusterinfo 10.230.0.0/16 192.0.2.3", "zzz-clusterinfo 10.200.0.0/16 192.0.2.1"}, w.ways())
	require.Contains(t, w.message(), "ResourceImport zzz-clusterinfo: ")
	require.Contains(t, w.message(), "ResourceImport aaa-clusterinfo: serviceCIDR 10.200.0.0/16 overlaps with 10.200.0.0/16, the Service network of cluster zzz")

	s := w.shown(w.local, w.far)
	s.leader.imports, s.leader.unreadable = s.leader.imports[:1], []string{"zzz-clusterinfo"}
	changes, _ := s.importChanges()
	require.Empty(t, changes, "what the leader has of it cannot be read")
}

// TestOrderOfNewcomers: the older of two new clusters gets what both claim, in whatever order the leader shows them.
func TestOrderOfNewcomers(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t)
		for i, name := range []string{"mmm", "zzz", "aaa", "bbb"} {
			w.importInfo(name, fmt.Sprintf("10.%d.0.0/15", 200+i), fmt.Sprint("192.0.2.", i)) // Each overlaps its neighbor.
			w.far.Now = w.far.Now.Add(time.Second)
		}
		s := w.shown(w.local, w.far)
		rand.New(rand.NewPCG(seed, 3)).Shuffle(len(s.leader.imports), func(i, j int) {
			s.leader.imports[i], s.leader.imports[j] = s.leader.imports[j], s.leader.imports[i]
		})
		require.Equal(t, []string{"aaa-clusterinfo", "mmm-clusterinfo"}, sortedKeys(s.accept().infos), "seed %d", seed)
	}
}
