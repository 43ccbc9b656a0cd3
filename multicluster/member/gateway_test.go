// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
)

// putNode makes a Node with addresses in 172.18.0.0/16; it is a candidate with at least one annotation.
func (w *world) putNode(name, internal, external string, ready bool, annotations map[string]string) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	w.local.Put(nodeObjects, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: corev1.NodeSpec{PodCIDR: "10.244.0.0/24"},
	}, map[string]any{
		"addresses":  []any{map[string]any{"type": "InternalIP", "address": internal}, map[string]any{"type": "ExternalIP", "address": external}},
		"conditions": []any{map[string]any{"type": "Ready", "status": string(status)}},
	})
}

func annotated(more ...string) map[string]string {
	out := map[string]string{v1alpha1.GatewayAnnotation: ""}
	if len(more) > 0 {
		out[v1alpha1.GatewayIPAnnotation] = more[0]
	}
	return out
}

// gateway returns the only Gateway as text, or an empty text.
func (w *world) gateway() string {
	gateways := changetest.List[v1alpha1.Gateway](w.local, gatewayObjects)
	require.LessOrEqual(w.t, len(gateways), 1)
	if len(gateways) == 0 {
		return ""
	}
	g := gateways[0]
	return fmt.Sprintf("%s %s %s %s", g.Name, g.GatewayIP, g.InternalIP, g.ServiceCIDR)
}

func TestGatewaySelection(t *testing.T) {
	w := newWorld(t)
	w.putNode("node-1", "172.18.1.1", "192.0.2.1", true, nil)
	w.putNode("node-2", "172.18.1.2", "192.0.2.2", true, annotated())
	w.putNode("node-3", "172.18.1.3", "192.0.2.3", true, annotated())
	w.settle()
	require.Equal(t, "node-2 172.18.1.2 172.18.1.2 10.100.0.0/16", w.gateway())
	w.putNode("node-1", "172.18.1.1", "192.0.2.1", true, annotated())
	w.settle()
	require.Equal(t, "node-2 172.18.1.2 172.18.1.2 10.100.0.0/16", w.gateway(), "a candidate does not take over")
	w.putNode("node-2", "172.18.1.2", "192.0.2.2", true, annotated("203.0.113.7"))
	w.settle()
	require.Equal(t, "node-2 203.0.113.7 172.18.1.2 10.100.0.0/16", w.gateway())

	w.putNode("node-2", "172.18.1.2", "192.0.2.2", false, annotated())
	w.settle()
	require.Equal(t, "node-1 172.18.1.1 172.18.1.1 10.100.0.0/16", w.gateway())
	w.putNode("node-1", "172.18.1.1", "192.0.2.1", true, annotated("nonsense"))
	w.settle()
	require.Equal(t, "node-3 172.18.1.3 172.18.1.3 10.100.0.0/16", w.gateway())
	w.settings.ExternalGatewayIP = true
	w.settle()
	require.Equal(t, "node-3 192.0.2.3 172.18.1.3 10.100.0.0/16", w.gateway())
	w.local.Remove(nodeObjects, "", "node-3")
	w.putNode("node-1", "172.18.1.1", "192.0.2.1", true, nil)
	w.settle()
	require.Empty(t, w.gateway())
}

func TestClusterInfoFollowsTheGateway(t *testing.T) {
	w := newWorld(t)
	w.settings.PodCIDRs = []string{"10.244.0.0/16"}
	w.putNode("node-1", "172.18.1.1", "", true, annotated())
	w.settle()
	e := changetest.List[v1alpha1.ResourceExport](w.far, resourceExports)
	require.Len(t, e, 1)
	require.Equal(t, "west-clusterinfo", e[0].Name)
	require.Equal(t, &v1alpha1.ClusterInfo{
		ClusterID: "west", ServiceCIDR: "10.100.0.0/16", GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: "172.18.1.1"}}, PodCIDRs: []string{"10.244.0.0/16"},
	}, e[0].Spec.ClusterInfo)
	require.Equal(t, v1alpha1.ResourceExportSpec{ClusterID: "west", Name: "west", Namespace: system, Kind: "ClusterInfo", ClusterInfo: e[0].Spec.ClusterInfo}, e[0].Spec)
	w.putNode("node-1", "172.18.1.1", "", true, annotated("172.18.9.9"))
	w.settle()
	require.Equal(t, "172.18.9.9", changetest.List[v1alpha1.ResourceExport](w.far, resourceExports)[0].Spec.ClusterInfo.GatewayInfos[0].GatewayIP)
}

func (w *world) importInfo(cluster, network, gateway string) {
	w.far.Put(resourceImports, &v1alpha1.ResourceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: v1alpha1.ClusterInfoName(cluster)},
		Spec: v1alpha1.ResourceImportSpec{Kind: v1alpha1.ClusterInfoKind, Name: cluster, Namespace: system, ClusterInfo: &v1alpha1.ClusterInfo{
			ClusterID: cluster, ServiceCIDR: network, GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: gateway}},
		}},
	}, nil)
}

// networks returns the Service networks of the ClusterInfoImports.
func (w *world) networks() []string {
	out := []string{}
	for _, i := range changetest.List[v1alpha1.ClusterInfoImport](w.local, infoImports) {
		out = append(out, i.Name+" "+i.Spec.ServiceCIDR)
	}
	return out
}

// TestClusterInfosThatWouldDrawTraffic: a leader that announces networks which are this cluster's, another cluster's, or too large, has no effect.
func TestClusterInfosThatWouldDrawTraffic(t *testing.T) {
	for _, tc := range []struct{ network, gateway, want string }{
		{"0.0.0.0/0", "192.0.2.1", "is not one of hosts with a mask of 8 bits at least"},
		{"10.0.0.0/8", "192.0.2.1", "overlaps with 10.100.0.0/16, the Service network of this cluster"},
		{"10.244.0.0/16", "192.0.2.1", "overlaps with 10.244.0.0/24, a Pod network of this cluster"},
		{"172.18.0.0/16", "192.0.2.1", "overlaps with 172.18.1.1/32, an address of Node node-1"},
		{"10.200.0.0/16", "172.18.1.1", "gatewayIP 172.18.1.1 belongs to Node node-1"},
		{"10.200.0.0/16", "10.200.0.1", "gatewayIP 10.200.0.1 belongs to its own Service network"},
		{"10.200.0.0/16", "10.244.0.5", "gatewayIP 10.244.0.5 is in 10.244.0.0/24"},
		{"10.220.0.0/16", "192.0.2.1", "overlaps with 10.220.0.0/16, the Service network of cluster east"},
		{"10.200.0.0/16", "192.0.2.9", "gatewayIP 192.0.2.9 belongs to cluster east"},
		{"192.0.2.0/24", "198.51.100.1", "serviceCIDR 192.0.2.0/24 contains 192.0.2.9, which belongs to cluster east"},
		{"10.200.0.1/16", "192.0.2.1", "is not a network of IPv4"},
		{"fd00::/64", "192.0.2.1", "is not a network of IPv4"},
		{"10.200.0.0/16", "", `gatewayIP is ""; want a unicast IPv4 address`},
	} {
		t.Run(tc.want, func(t *testing.T) {
			w := newWorld(t)
			w.putNode("node-1", "172.18.1.1", "", true, nil)
			w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
			w.settle()
			w.importInfo("away", tc.network, tc.gateway) // It sorts before "east", which has its network already.
			w.settle()
			require.Equal(t, []string{"east-clusterinfo 10.220.0.0/16"}, w.networks())
			require.Contains(t, w.message(), "ResourceImport away-clusterinfo: ")
			require.Contains(t, w.message(), tc.want)
		})
	}
}

func TestClusterInfoImports(t *testing.T) {
	w := newWorld(t)
	w.importInfo("west", "10.100.0.0/16", "172.18.1.1")
	w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
	w.settle()
	require.Equal(t, []string{"east-clusterinfo 10.220.0.0/16"}, w.networks(), "not its own")
	w.importInfo("east", "10.230.0.0/16", "192.0.2.9")
	w.settle()
	require.Equal(t, []string{"east-clusterinfo 10.230.0.0/16"}, w.networks())
	w.importInfo("east", "10.230.0.0/4", "192.0.2.9")
	w.settle()
	require.Equal(t, []string{"east-clusterinfo 10.230.0.0/16"}, w.networks(), "nonsense leaves it")
	w.far.Remove(resourceImports, area, "east-clusterinfo")
	w.settle()
	require.Empty(t, w.networks())
}

// TestImportForOthers: a list of clusters restricts an import.
func TestImportForOthers(t *testing.T) {
	w := newWorld(t)
	w.importService("default", "nginx", 80, "10.200.0.7")
	for _, i := range changetest.List[v1alpha1.ResourceImport](w.far, resourceImports) {
		i.Spec.ClusterIDs = []string{"east"}
		w.far.Put(resourceImports, i, nil)
	}
	w.settle()
	w.requireNothingImported()
}

// TestLeaderIsAway: what was imported stays until the leader shows everything, and the status says that it is away.
func TestLeaderIsAway(t *testing.T) {
	w := newWorld(t)
	w.importService("default", "nginx", 80, "10.200.0.7")
	w.settle()
	w.unready, w.connection = true, connection{message: "no route to host"}
	w.settle()
	require.Equal(t, []string{"10.200.0.7"}, w.derivedAddresses("default", "antrea-mc-nginx"))
	require.Equal(t, "Disconnected from leader: no route to host", w.message())
}

func TestLeaving(t *testing.T) {
	w := newWorld(t)
	w.putNode("node-1", "172.18.1.1", "", true, annotated())
	w.importService("default", "nginx", 80, "10.200.0.7")
	w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
	w.local.Put(serviceImports, &mcs.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}}, nil)
	w.settle()
	w.local.Remove(clusterSets, system, "set")
	w.settle()
	w.local.Remove(serviceImports, "default", "mine") // A user's own stays until then.
	w.requireNothingImported()
}

// TestRandomObjects: after random changes in both clusters, with a core that stops in the middle of its writes and sees old states, exports and
// imports agree with the objects, and nothing is left when the cluster leaves the set.
func TestRandomObjects(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomObjects(t, rand.New(rand.NewPCG(seed, 2))) })
	}
}

func randomObjects(t *testing.T, r *rand.Rand) {
	w := newWorld(t)
	names := [][2]string{{"prod", "web-api"}, {"default", "nginx"}, {"default", "db"}}
	local, far := w.local.Copy(), w.far.Copy()
	wantExports, wantImports, wantPolicies := map[string]bool{}, map[string][]string{}, map[string]any{}
	for range 60 {
		name := names[r.IntN(len(names))]
		id := name[0] + "/" + name[1]
		switch r.IntN(10) {
		case 8:
			content := policyOf(1 + r.IntN(3))
			w.importPolicy(name[1], content)
			wantPolicies[name[1]] = content
		case 9:
			w.changePolicies(r, name[1], wantPolicies)
		case 0:
			ready := r.IntN(4) > 0
			w.exportService(service(name[0], name[1], "10.100.7.9", int32(80+r.IntN(2))), ready)
			wantExports[id] = ready
		case 1:
			w.local.Remove(serviceExports, name[0], name[1])
			wantExports[id] = false
		case 2, 3:
			ip := fmt.Sprintf("10.200.0.%d", 1+r.IntN(9))
			w.importService(name[0], name[1], int32(80+r.IntN(2)), ip, "10.200.1.1")
			wantImports[id] = []string{ip, "10.200.1.1"}
		case 4:
			for _, kind := range []string{v1alpha1.ServiceKind, v1alpha1.EndpointsKind} {
				w.far.Remove(resourceImports, area, v1alpha1.ImportName(name[0], name[1], kind))
			}
			wantImports[id] = nil
		case 5:
			w.putNode(fmt.Sprint("node-", r.IntN(3)), fmt.Sprintf("172.18.1.%d", 1+r.IntN(3)), "", r.IntN(3) > 0, annotated())
		case 6:
			w.importInfo("east", fmt.Sprintf("10.%d.0.0/16", 220+r.IntN(3)), "192.0.2.9")
		case 7:
			local, far = w.local.Copy(), w.far.Copy()
		}
		seen := w.shown(w.local, w.far)
		if r.IntN(3) == 0 {
			seen = w.shown(local, far) // The watches are behind.
		}
		changes, _ := seen.localChanges()
		exports := seen.exportChanges()
		makeAll(w.local, changes[:r.IntN(len(changes)+1)]) // The program may be killed.
		makeAll(w.far, exports[:r.IntN(len(exports)+1)])
		w.lettingGo()
	}
	for range 3 {
		w.settle()
		w.lettingGo()
	}
	var exported, want []string
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.far, resourceExports) {
		if e.Spec.Kind == v1alpha1.ServiceKind {
			exported = append(exported, e.Spec.Namespace+"/"+e.Spec.Name)
		}
	}
	for _, name := range names {
		if wantExports[name[0]+"/"+name[1]] {
			want = append(want, name[0]+"/"+name[1])
		}
		addresses := wantImports[name[0]+"/"+name[1]]
		require.Equal(t, addresses, w.derivedAddresses(name[0], v1alpha1.ImportedName(name[1])))
	}
	w.requirePolicies(wantPolicies)
	slices.Sort(exported)
	slices.Sort(want)
	require.Equal(t, want, exported)
	w.gateway()
	w.local.Remove(clusterSets, system, "set")
	w.settle()
	w.requireNothingImported()
}

// lettingGo is the leader, which removes the finalizers of exports that are being deleted.
func (w *world) lettingGo() {
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.far, resourceExports) {
		if e.DeletionTimestamp != nil {
			e.Finalizers = nil
			w.far.Put(resourceExports, e, nil)
			w.far.Remove(resourceExports, e.Namespace, e.Name)
		}
	}
}
