// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
)

// tellPods changes the Pod networks of a cluster that is imported.
func (w *world) tellPods(cluster string, networks ...string) {
	for _, i := range changetest.List[v1alpha1.ResourceImport](w.far, resourceImports) {
		if i.Name == v1alpha1.ClusterInfoName(cluster) {
			i.Spec.ClusterInfo.PodCIDRs = networks
			w.far.Put(resourceImports, i, nil)
			return
		}
	}
	require.Fail(w.t, "it is not imported", cluster)
}

// pods returns the Pod networks of the ClusterInfoImports by the names of clusters.
func (w *world) pods() map[string][]string {
	out := map[string][]string{}
	for _, i := range changetest.List[v1alpha1.ClusterInfoImport](w.local, infoImports) {
		out[i.Spec.ClusterID] = i.Spec.PodCIDRs
	}
	return out
}

// TestSquattedPods: a younger cluster that tells the Pod network of an older one does not get it, whatever their names are, in members that know both,
// in those that know only the younger one, and in those that have just joined, which write all ClusterInfoImports within one second.
func TestSquattedPods(t *testing.T) {
	const shared = "10.50.0.0/16"
	taken := "its Pod networks have no effect: 10.50.0.0/16 overlaps with 10.50.0.0/16, a Pod network of cluster "
	for _, test := range []struct {
		name         string
		between      time.Duration // at the leader
		forgets      []string
		keeps, loses string
	}{
		{"knows both", time.Second, nil, "zzz", "aaa"},
		{"knows the younger one", time.Second, []string{"zzz"}, "zzz", "aaa"},
		{"knows the older one", time.Second, []string{"aaa"}, "zzz", "aaa"},
		{"has just joined", time.Second, []string{"aaa", "zzz"}, "zzz", "aaa"},
		// All members have to decide alike: the first name has it.
		{"knows both, of one second", 0, nil, "aaa", "zzz"},
		{"knows the last one, of one second", 0, []string{"aaa"}, "aaa", "zzz"},
		{"knows the first one, of one second", 0, []string{"zzz"}, "aaa", "zzz"},
		{"has just joined, of one second", 0, []string{"aaa", "zzz"}, "aaa", "zzz"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.importInfo("zzz", "10.200.0.0/16", "192.0.2.1")
			w.tellPods("zzz", shared)
			w.settle()
			require.Equal(t, map[string][]string{"zzz": {shared}}, w.pods())
			w.far.Now = w.far.Now.Add(test.between)
			w.importInfo("aaa", "10.210.0.0/16", "192.0.2.2")
			w.tellPods("aaa", "10.51.0.0/16", shared)
			w.settle()
			for _, name := range test.forgets {
				w.local.Remove(infoImports, system, v1alpha1.ClusterInfoName(name))
			}
			w.settle()
			ages := map[int64]bool{}
			for _, i := range changetest.List[v1alpha1.ClusterInfoImport](w.local, infoImports) {
				ages[i.CreationTimestamp.Unix()] = true
			}
			require.Len(t, ages, 1, "agents cannot tell which one is older")
			networks := map[string][]string{"zzz": {shared}, "aaa": {"10.51.0.0/16", shared}}
			want := map[string][]string{test.keeps: networks[test.keeps], test.loses: nil}
			require.Equal(t, want, w.pods())
			require.Equal(t, "ResourceImport "+test.loses+"-clusterinfo: "+taken+test.keeps, w.message())
			require.Equal(t, []string{"aaa-clusterinfo 10.210.0.0/16 192.0.2.2", "zzz-clusterinfo 10.200.0.0/16 192.0.2.1"}, w.ways(), "Services stay connected")

			w.tellPods(test.keeps)
			w.settle()
			require.Equal(t, map[string][]string{test.keeps: nil, test.loses: networks[test.loses]}, w.pods())
			require.Equal(t, "Member Connected", w.message())
		})
	}
}

// TestPodNetworks: Pod networks that are not free are left out, all of one cluster, which keeps its Services, and no other cluster's.
func TestPodNetworks(t *testing.T) {
	many := make([]string, v1alpha1.MaxPodCIDRs)
	for i := range many {
		many[i] = fmt.Sprintf("10.60.%d.0/24", i)
	}
	for _, test := range []struct {
		name string
		told []string
		want string
	}{
		{"64", many, ""},
		{"65", append(many, ""), "it has 65 podCIDRs, allowed: 64"},
		{"nonsense", []string{"10.60.0.0/16", "x"}, `podCIDRs: "x" is not a network of IPv4`},
		{"IPv6", []string{"fd00::/64"}, `podCIDRs: "fd00::/64" is not a network of IPv4`},
		{"too large", []string{"12.0.0.0/7"}, "podCIDRs: network 12.0.0.0/7 is not one of hosts"},
		{"no hosts", []string{"224.0.0.0/8"}, "podCIDRs: network 224.0.0.0/8 is not one of hosts"},
		{"own Services", []string{"10.100.7.0/24"}, "10.100.7.0/24 overlaps with 10.100.0.0/16, the Service network of this cluster"},
		{"own Pods, of no Node", []string{"10.244.200.0/24"}, "10.244.200.0/24 overlaps with 10.244.0.0/16, a Pod network of this cluster"},
		{"a Node's Pods", []string{"10.245.0.0/16"}, "10.245.0.0/16 overlaps with 10.245.9.0/24, a Pod network of this cluster"},
		{"a Node", []string{"172.18.0.0/16"}, "172.18.0.0/16 overlaps with 172.18.1.1/32, an address of Node node-1"},
		{"its own Services", []string{"10.210.0.0/24"}, "10.210.0.0/24 overlaps with 10.210.0.0/16, the Service network of cluster mmm"},
		{"its own Gateway", []string{"192.0.2.2/31"}, "192.0.2.2/31 overlaps with 192.0.2.2/32, the Gateway of cluster mmm"},
		{"an older one's Services", []string{"10.60.0.0/16", "10.200.7.0/24"}, "10.200.7.0/24 overlaps with 10.200.0.0/16, the Service network of cluster old"},
		{"an older one's Gateway", []string{"192.0.2.0/31"}, "192.0.2.0/31 overlaps with 192.0.2.1/32, the Gateway of cluster old"},
		{"an older one's Pods, with host bits", []string{"10.50.1.1/24"}, "10.50.1.0/24 overlaps with 10.50.0.0/16, a Pod network of cluster old"},
		{"a younger one's Services", []string{"10.220.0.0/16"}, "10.220.0.0/16 overlaps with 10.220.0.0/16, the Service network of cluster aaa"},
		{"a younger one's Gateway", []string{"192.0.2.4/32"}, "192.0.2.4/32 overlaps with 192.0.2.4/32, the Gateway of cluster aaa"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.PodCIDRs = []string{"10.244.0.0/16"}
			w.putNode("node-1", "172.18.1.1", "", true, nil)
			w.local.Put(nodeObjects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}, Spec: corev1.NodeSpec{PodCIDR: "10.245.9.0/24"}}, nil)
			for i, name := range []string{"old", "mmm", "aaa"} {
				w.importInfo(name, fmt.Sprintf("10.%d.0.0/16", 200+10*i), fmt.Sprint("192.0.2.", []int{1, 2, 4}[i]))
				w.tellPods(name, fmt.Sprintf("10.%d.0.0/16", 50+20*i))
				w.far.Now = w.far.Now.Add(time.Second)
			}
			w.tellPods("mmm", test.told...)
			w.settle()
			want := map[string][]string{"old": {"10.50.0.0/16"}, "mmm": nil, "aaa": {"10.90.0.0/16"}}
			if test.want == "" {
				want["mmm"] = test.told
				require.Equal(t, "Member Connected", w.message())
			} else {
				require.Contains(t, w.message(), "ResourceImport mmm-clusterinfo: its Pod networks have no effect: ")
				require.Contains(t, w.message(), test.want)
			}
			require.Equal(t, want, w.pods())
		})
	}
}

// TestPodNetworksAsAgentsReadThem: without host bits and empty texts.
func TestPodNetworksAsAgentsReadThem(t *testing.T) {
	w := newWorld(t)
	w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
	w.tellPods("east", "", "10.60.1.1/16", "", "10.61.0.0/24")
	w.settle()
	require.Equal(t, map[string][]string{"east": {"10.60.0.0/16", "10.61.0.0/24"}}, w.pods())
	require.Equal(t, "Member Connected", w.message())
}

// TestPodsOfARefusedCluster: a cluster whose new ClusterInfo is refused keeps its Pod networks, as long as an older one does not tell them.
func TestPodsOfARefusedCluster(t *testing.T) {
	w := newWorld(t)
	for i, name := range []string{"ccc", "bbb", "aaa"} {
		w.importInfo(name, fmt.Sprintf("10.%d.0.0/16", 200+i), fmt.Sprint("192.0.2.", i))
		w.far.Now = w.far.Now.Add(time.Second)
	}
	w.tellPods("bbb", "10.50.0.0/16")
	w.settle()
	w.importInfo("bbb", "10.0.0.0/4", "192.0.2.1")
	w.tellPods("aaa", "10.50.0.0/16")
	w.settle()
	require.Equal(t, map[string][]string{"ccc": nil, "bbb": {"10.50.0.0/16"}, "aaa": nil}, w.pods())
	require.Contains(t, w.message(), "ResourceImport bbb-clusterinfo: serviceCIDR: ")
	require.Contains(t, w.message(), "ResourceImport aaa-clusterinfo: its Pod networks have no effect: 10.50.0.0/16 overlaps with 10.50.0.0/16, a Pod network of cluster bbb")

	w.tellPods("ccc", "10.50.0.0/16")
	unread := w.shown(w.local, w.far)
	unread.leader.imports, unread.leader.unreadable = unread.leader.imports[2:], []string{"bbb-clusterinfo"}
	require.Equal(t, []string{"10.50.0.0/16"}, unread.accept().infos["bbb-clusterinfo"].PodCIDRs, "what the leader has of it cannot be read")
	require.Empty(t, unread.accept().infos["ccc-clusterinfo"].PodCIDRs)
	w.settle()
	require.Equal(t, map[string][]string{"ccc": {"10.50.0.0/16"}, "bbb": nil, "aaa": nil}, w.pods())
	require.Len(t, w.ways(), 3)
}

// TestOrderOfPods: in whatever order the leader shows clusters, the oldest ones keep their Pod networks.
func TestOrderOfPods(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t)
		for i, name := range []string{"mmm", "zzz", "aaa", "bbb"} {
			w.importInfo(name, fmt.Sprintf("10.%d.0.0/16", 200+i), fmt.Sprint("192.0.2.", i))
			w.tellPods(name, fmt.Sprintf("10.%d.0.0/15", 50+i&^1), fmt.Sprintf("10.6%d.0.0/16", i)) // Two overlap each.
			w.far.Now = w.far.Now.Add(time.Second)
		}
		s := w.shown(w.local, w.far)
		rand.New(rand.NewPCG(seed, 4)).Shuffle(len(s.leader.imports), func(i, j int) {
			s.leader.imports[i], s.leader.imports[j] = s.leader.imports[j], s.leader.imports[i]
		})
		told := map[string]int{}
		for name, info := range s.accept().infos {
			told[name] = len(info.PodCIDRs)
		}
		require.Equal(t, map[string]int{"mmm-clusterinfo": 2, "zzz-clusterinfo": 0, "aaa-clusterinfo": 2, "bbb-clusterinfo": 0}, told, "seed %d", seed)
	}
}
