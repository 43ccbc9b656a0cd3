// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
)

const area = "antrea-multicluster"

// world is a Common Area with a core that follows it.
type world struct {
	t    *testing.T
	api  *changetest.API
	core *core
}

func newWorld(t *testing.T) *world {
	w := &world{t, changetest.New(), newCore()}
	w.api.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w.api.Put(clusterSets, &v1alpha2.ClusterSet{
		ObjectMeta: meta(area, "set"), Spec: v1alpha2.ClusterSetSpec{ClusterID: "north", Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north"}}},
	}, nil)
	return w
}

func shown(api *changetest.API, now time.Time) *snapshot {
	return &snapshot{
		now: now, namespace: area, set: changetest.List[v1alpha2.ClusterSet](api, clusterSets)[0],
		announces: changetest.List[v1alpha1.MemberClusterAnnounce](api, announces),
		exports:   changetest.List[v1alpha1.ResourceExport](api, resourceExports), imports: changetest.List[v1alpha1.ResourceImport](api, resourceImports),
	}
}

// settle writes what is due until nothing is, and returns the number of rounds.
func (w *world) settle() {
	w.t.Helper()
	for range 20 {
		changes := w.core.plan(shown(w.api, w.api.Now))
		if len(changes) == 0 {
			return
		}
		for _, c := range changes {
			_ = w.api.Make(c) // A change that conflicts is decided on again.
		}
	}
	require.Fail(w.t, "changes do not end", "%v", w.core.plan(shown(w.api, w.api.Now)))
}

func (w *world) announce(cluster string) {
	w.api.Put(announces, &v1alpha1.MemberClusterAnnounce{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: area, Name: v1alpha1.AnnounceName(cluster), Annotations: map[string]string{v1alpha1.TouchAnnotation: w.api.Now.Format(time.RFC3339)},
			Finalizers: []string{v1alpha1.AnnounceFinalizer(cluster)},
		},
		ClusterID: cluster, ClusterSetID: "set", LeaderClusterID: "north",
	}, nil)
}

func export(cluster, namespace, name, kind string) *v1alpha1.ResourceExport {
	return &v1alpha1.ResourceExport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: area, Name: v1alpha1.ExportName(cluster, namespace, name, kind), Labels: map[string]string{v1alpha1.SourceClusterIDLabel: cluster},
			Finalizers: []string{v1alpha1.ResourceExportFinalizer},
		},
		Spec: v1alpha1.ResourceExportSpec{ClusterID: cluster, Namespace: namespace, Name: name, Kind: kind},
	}
}

// exportService exports a Service with a port, and an address.
func (w *world) exportService(cluster, namespace, name string, port int32, ip string) {
	service := export(cluster, namespace, name, v1alpha1.ServiceKind)
	service.Spec.Service = &v1alpha1.ServiceExport{ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}}}
	w.api.Put(resourceExports, service, nil)
	endpoints := export(cluster, namespace, name, v1alpha1.EndpointsKind)
	endpoints.Spec.Endpoints = &v1alpha1.Endpoints{Subsets: []v1alpha1.EndpointSubset{{
		Addresses: []v1alpha1.EndpointAddress{{IP: ip}}, Ports: []v1alpha1.EndpointPort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}},
	}}}
	w.api.Put(resourceExports, endpoints, nil)
}

func (w *world) withdraw(cluster, namespace, name string) {
	for _, kind := range []string{v1alpha1.ServiceKind, v1alpha1.EndpointsKind} {
		w.api.Remove(resourceExports, area, v1alpha1.ExportName(cluster, namespace, name, kind))
	}
}

func (w *world) imported(name string) *v1alpha1.ResourceImport {
	for _, i := range changetest.List[v1alpha1.ResourceImport](w.api, resourceImports) {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// addresses returns what the import of Endpoints has.
func (w *world) addresses(namespace, name string) (out []string) {
	if i := w.imported(v1alpha1.ImportName(namespace, name, v1alpha1.EndpointsKind)); i != nil {
		for _, subset := range i.Spec.Endpoints.Subsets {
			for _, a := range subset.Addresses {
				out = append(out, a.IP)
			}
		}
	}
	return out
}

// condition returns the only condition of an export.
func (w *world) condition(name string) v1alpha1.ResourceCondition {
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.api, resourceExports) {
		if e.Name == name {
			require.Len(w.t, e.Status.Conditions, 1)
			return e.Status.Conditions[0]
		}
	}
	require.Fail(w.t, "no export", name)
	return v1alpha1.ResourceCondition{}
}

func TestExportsOfTwoClustersAreOneImport(t *testing.T) {
	w := newWorld(t)
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.exportService("east", "default", "nginx", 80, "10.200.7.9")
	w.settle()
	service := w.imported("default-nginx-service")
	require.Equal(t, v1alpha1.ServiceImportKind, service.Spec.Kind)
	require.Equal(t, "ClusterSetIP", service.Spec.ServiceImport.Spec.Type)
	require.EqualValues(t, 80, service.Spec.ServiceImport.Spec.Ports[0].Port)
	require.Equal(t, []string{"10.200.7.9", "10.100.7.9"}, w.addresses("default", "nginx"))
	require.Equal(t, "Succeeded", w.condition("west-default-nginx-endpoints").Type)

	w.withdraw("east", "default", "nginx")
	w.settle()
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
	w.withdraw("west", "default", "nginx")
	w.settle()
	require.Zero(t, w.api.Len(resourceImports))
	require.Zero(t, w.api.Len(resourceExports))
}

// TestOtherPorts: the ports that are imported stay, and nothing of the cluster with different ports is, until it is the only cluster.
func TestOtherPorts(t *testing.T) {
	w := newWorld(t)
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.settle()
	w.api.Now = w.api.Now.Add(time.Minute)
	w.exportService("east", "default", "nginx", 8080, "10.200.7.9")
	w.settle()
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
	c := w.condition("east-default-nginx-service")
	require.Equal(t, "Failure", c.Type)
	require.Equal(t, corev1.ConditionFalse, c.Status)
	require.Equal(t, "ConvergeFailure", c.Reason)
	require.Equal(t, "ResourceExport can't be converged to ResourceImport: it has the ports http TCP/8080, but the ports http TCP/80 are imported", c.Message)
	require.Equal(t, "Failure", w.condition("east-default-nginx-endpoints").Type)

	w.withdraw("west", "default", "nginx")
	w.settle()
	require.Equal(t, []string{"10.200.7.9"}, w.addresses("default", "nginx"))
	require.EqualValues(t, 8080, w.imported("default-nginx-service").Spec.ServiceImport.Spec.Ports[0].Port)
	require.Equal(t, "Succeeded", w.condition("east-default-nginx-service").Type)
}

// TestAmbiguousNames: the names of two Services make one name of a ResourceImport. The first one has it.
func TestAmbiguousNames(t *testing.T) {
	w := newWorld(t)
	w.exportService("west", "prod", "web-api", 80, "10.100.0.1")
	w.settle()
	w.exportService("east", "prod-web", "api", 80, "10.200.0.1")
	w.settle()
	require.Equal(t, []string{"10.100.0.1"}, w.addresses("prod", "web-api"))
	require.Equal(t, "prod", w.imported("prod-web-api-service").Spec.Namespace)
	require.Equal(t, "ResourceImport prod-web-api-service is of prod/web-api", w.condition("east-prod-web-api-service").Message)
	w.withdraw("west", "prod", "web-api")
	w.settle()
	require.Equal(t, "prod-web", w.imported("prod-web-api-service").Spec.Namespace)
	require.Equal(t, []string{"10.200.0.1"}, w.addresses("prod-web", "api"))
}

// TestBadExports: what cannot be read is refused, says why, and does not harm the rest.
func TestBadExports(t *testing.T) {
	w := newWorld(t)
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	for i, kind := range []string{v1alpha1.ServiceKind, v1alpha1.EndpointsKind} {
		w.api.Put(resourceExports, export("east", "default", "nginx", kind), nil)
		other := export("south", "default", fmt.Sprint("s", i), kind)
		other.Labels = nil
		w.api.Put(resourceExports, other, nil)
	}
	info := export("east", "kube-system", "east", v1alpha1.ClusterInfoKind)
	info.Name = v1alpha1.ClusterInfoName("east")
	w.api.Put(resourceExports, info, nil)
	w.api.Put(resourceExports, export("admin", "", "policy", v1alpha1.ClusterNetworkPolicyKind), nil)
	w.api.Put(resourceExports, export("admin", "", "label", v1alpha1.LabelIdentityKind), nil)
	w.settle()
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
	require.Equal(t, 2, w.api.Len(resourceImports))
	require.Equal(t, "it has no payload of its kind", w.condition("east-default-nginx-service").Message)
	require.Equal(t, "it has no payload of its kind", w.condition("east-clusterinfo").Message)
	require.Contains(t, w.condition("south-default-s0-service").Message, "label sourceClusterID")
}

func TestClusterInfo(t *testing.T) {
	w := newWorld(t)
	info := export("west", "kube-system", "west", v1alpha1.ClusterInfoKind)
	info.Name = v1alpha1.ClusterInfoName("west")
	info.Spec.ClusterInfo = &v1alpha1.ClusterInfo{ClusterID: "west", ServiceCIDR: "10.100.0.0/16", GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: "172.18.2.2"}}}
	w.api.Put(resourceExports, info, nil)
	w.settle()
	require.Equal(t, info.Spec.ClusterInfo, w.imported("west-clusterinfo").Spec.ClusterInfo)
	info.Spec.ClusterInfo.GatewayInfos[0].GatewayIP = "172.18.2.3"
	w.api.Put(resourceExports, info, nil)
	w.settle()
	require.Equal(t, "172.18.2.3", w.imported("west-clusterinfo").Spec.ClusterInfo.GatewayInfos[0].GatewayIP)
	w.api.Remove(resourceExports, area, info.Name)
	w.settle()
	require.Zero(t, w.api.Len(resourceImports)+w.api.Len(resourceExports))
}

func (w *world) status() v1alpha2.ClusterSetStatus {
	return changetest.List[v1alpha2.ClusterSet](w.api, clusterSets)[0].Status
}

// TestMembers: a member is ready for 30 s after each announce. When it leaves, its exports go, and then its announce.
func TestMembers(t *testing.T) {
	w := newWorld(t)
	w.settle()
	require.Equal(t, "All clusters have an unknown status", w.status().Conditions[0].Message)
	w.announce("west")
	w.announce("east")
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.settle()
	require.EqualValues(t, 2, w.status().ReadyClusters)
	require.Equal(t, corev1.ConditionTrue, w.status().Conditions[0].Status)
	w.api.Now = w.api.Now.Add(timeout - time.Second)
	w.announce("east")
	w.settle()
	require.EqualValues(t, 2, w.status().ReadyClusters)
	w.api.Now = w.api.Now.Add(time.Second)
	w.settle()
	require.EqualValues(t, 1, w.status().ReadyClusters)
	require.EqualValues(t, 2, w.status().TotalClusters)
	require.Equal(t, "NoReadyCluster", w.status().Conditions[0].Reason)
	west := w.status().ClusterStatuses[1]
	require.Equal(t, "west", west.ClusterID)
	require.Equal(t, "Disconnected", west.Conditions[0].Reason)
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"), "a member that is away keeps what it exports")

	w.api.Remove(announces, area, v1alpha1.AnnounceName("west"))
	w.settle()
	require.Equal(t, 1, w.api.Len(announces))
	require.Zero(t, w.api.Len(resourceExports)+w.api.Len(resourceImports))
	w.api.Now = w.api.Now.Add(staleAfter + time.Minute)
	w.settle()
	require.Zero(t, w.api.Len(announces), "a member that is away for a day is gone")
	require.Zero(t, w.status().TotalClusters)
}

// TestOutageOfTheLeader: a leader that was away for more than a day deletes nothing of members that reach it again within the hour, also if their
// clocks are a day behind, and deletes the rest afterwards.
func TestOutageOfTheLeader(t *testing.T) {
	w := newWorld(t)
	w.announce("west")
	w.announce("east")
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.exportService("east", "default", "nginx", 80, "10.200.7.9")
	w.settle()
	w.api.Now = w.api.Now.Add(2 * staleAfter)
	w.core = newCore()
	w.settle()
	require.Equal(t, []string{"10.200.7.9", "10.100.7.9"}, w.addresses("default", "nginx"), "no member can have announced itself yet")
	w.api.Now = w.api.Now.Add(unheardFor)
	w.settle()
	require.Equal(t, 2, w.api.Len(announces))
	now := w.api.Now
	w.api.Now = now.Add(-2 * staleAfter)
	w.announce("west")
	w.api.Now = now.Add(time.Second)
	w.settle()
	require.Equal(t, 1, w.api.Len(announces))
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
}

// TestRandomExports: after random exports, withdrawals and departures, with a core that stops in the middle of its writes, forgets everything, and
// sees an old state, each import agrees with its exports, and no import or export is left when all members have left.
func TestRandomExports(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomExports(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func randomExports(t *testing.T, r *rand.Rand) {
	w := newWorld(t)
	clusters, names := []string{"west", "east", "east-1", "south"}, [][2]string{{"prod", "web-api"}, {"prod-web", "api"}, {"default", "nginx"}}
	old := w.api.Copy()
	for range 60 {
		cluster, name := clusters[r.IntN(len(clusters))], names[r.IntN(len(names))]
		w.api.Now = w.api.Now.Add(time.Duration(r.IntN(5)) * time.Second)
		switch r.IntN(12) {
		case 9, 10:
			w.exportPolicy(fmt.Sprint("admin-", r.IntN(3)), cluster, fmt.Sprint("policy-", r.IntN(2)), r.IntN(4))
		case 11:
			w.api.Remove(resourceExports, area, fmt.Sprint("admin-", r.IntN(3)))
		case 0, 1, 2, 3:
			w.exportService(cluster, name[0], name[1], int32(80+r.IntN(2)), fmt.Sprintf("10.%d.0.%d", slices.Index(clusters, cluster), r.IntN(5)))
		case 4:
			w.withdraw(cluster, name[0], name[1])
		case 5:
			w.announce(cluster)
		case 6:
			w.api.Remove(announces, area, v1alpha1.AnnounceName(cluster))
		case 7:
			w.core = newCore() // The program was killed.
		case 8:
			old = w.api.Copy()
		}
		seen := w.api
		if r.IntN(3) == 0 {
			seen = old // The watch is behind.
		}
		for _, c := range w.core.plan(shown(seen, w.api.Now)) {
			if r.IntN(10) == 0 {
				break // The program is killed, or the API goes away.
			}
			_ = w.api.Make(c)
		}
	}
	w.settle()
	requireConverged(t, w)
	for _, cluster := range clusters {
		w.announce(cluster)
		w.api.Remove(announces, area, v1alpha1.AnnounceName(cluster))
	}
	w.settle()
	policies := requirePolicies(t, w)
	require.Equal(t, policies, w.api.Len(resourceImports), "policies go with no member")
	for i := range 3 {
		w.api.Remove(resourceExports, area, fmt.Sprint("admin-", i))
	}
	w.settle()
	require.Zero(t, w.api.Len(announces)+w.api.Len(resourceExports)+w.api.Len(resourceImports))
}

// requireConverged compares all imports with the exports that say they succeeded.
func requireConverged(t *testing.T, w *world) {
	t.Helper()
	want := map[string][]string{}
	services := map[string]bool{}
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.api, resourceExports) {
		require.Nil(t, e.DeletionTimestamp, "%s: nothing waits for ever", e.Name)
		if w.condition(e.Name).Type != v1alpha1.ResourceExportSucceeded || !ofMember(e) {
			continue
		}
		i := w.imported(v1alpha1.ImportName(e.Spec.Namespace, e.Spec.Name, e.Spec.Kind))
		require.NotNil(t, i, e.Name)
		require.Equal(t, originOf(e), originOfImport(i))
		if e.Spec.Kind == v1alpha1.ServiceKind {
			services[i.Name] = true
			require.True(t, samePorts(portsOf(e), i.Spec.ServiceImport.Spec.Ports), e.Name)
		} else {
			want[i.Name] = append(want[i.Name], e.Spec.Endpoints.Subsets[0].Addresses[0].IP)
			require.Equal(t, "Succeeded", w.condition(v1alpha1.ExportName(e.Spec.ClusterID, e.Spec.Namespace, e.Spec.Name, v1alpha1.ServiceKind)).Type)
		}
	}
	require.Equal(t, len(want)+len(services)+requirePolicies(t, w), w.api.Len(resourceImports))
	for _, i := range changetest.List[v1alpha1.ResourceImport](w.api, resourceImports) {
		if i.Spec.Kind == v1alpha1.EndpointsKind {
			got := w.addresses(i.Spec.Namespace, i.Spec.Name)
			slices.Sort(got)
			slices.Sort(want[i.Name])
			require.Equal(t, want[i.Name], got)
		}
	}
}
