// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
)

const (
	system = "kube-system"
	area   = "antrea-multicluster"
)

var (
	nodeObjects     = change.Type{Resource: corev1.SchemeGroupVersion.WithResource("nodes"), Kind: "Node"}
	resourceImports = change.Type{Resource: v1alpha1.ResourceImports, Kind: v1alpha1.ResourceImportKind}
)

// world is the member "west" and its leader's Common Area.
type world struct {
	t          *testing.T
	local, far *changetest.API
	connection connection
	// unready is set while the leader has not shown everything.
	unready    bool
	unreadable []string
	refused    map[string]string
	recovering bool
	settings   Settings
	// refusedPolicies and unreadPolicies are refused and unread of policies.
	refusedPolicies map[string]string
	unreadPolicies  error
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, local: changetest.New(), far: changetest.New(), connection: connection{up: true}}
	w.local.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w.far.Now = w.local.Now
	w.join()
	return w
}

func (w *world) join() {
	w.local.Put(clusterSets, &v1alpha2.ClusterSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "set"}, Spec: v1alpha2.ClusterSetSpec{
			ClusterID: "west", Namespace: area, Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north", Server: "https://192.0.2.1:6443", Secret: "token"}},
		},
	}, nil)
}

// shown is the snapshot of what two APIs show.
func (w *world) shown(local, far *changetest.API) *snapshot {
	s := &snapshot{
		now: metav1.NewTime(w.local.Now), namespace: system, settings: w.settings, serviceCIDR: netip.MustParsePrefix("10.100.0.0/16"), connection: w.connection,
		serviceExports: changetest.List[mcs.ServiceExport](local, serviceExports), services: map[key]*corev1.Service{}, slices: map[key][]*discoveryv1.EndpointSlice{},
		nodes: changetest.List[corev1.Node](local, nodeObjects), gateways: changetest.List[v1alpha1.Gateway](local, gatewayObjects), namespaces: map[string]bool{"default": true, "prod": true},
		imported: imported{
			endpoints:      changetest.List[Endpoints](local, coreEndpoints),
			serviceImports: changetest.List[mcs.ServiceImport](local, serviceImports), infos: changetest.List[v1alpha1.ClusterInfoImport](local, infoImports),
		},
	}
	s.policies = w.policies(local)
	if sets := changetest.List[v1alpha2.ClusterSet](local, clusterSets); len(sets) > 0 {
		s.set = sets[0]
	}
	for _, service := range changetest.List[corev1.Service](local, coreServices) {
		s.services[keyOf(service)] = service
		if ours(service) {
			s.imported.services = append(s.imported.services, service)
		}
	}
	for _, e := range changetest.List[discoveryv1.EndpointSlice](local, endpointSlices) {
		s.slices[serviceOf(e)] = append(s.slices[serviceOf(e)], e)
		if ours(e) {
			s.imported.slices = append(s.imported.slices, e)
		}
	}
	if s.set != nil && !w.unready {
		s.leader = leader{
			ready: true, imports: changetest.List[v1alpha1.ResourceImport](far, resourceImports), unreadable: w.unreadable,
			exports: changetest.List[v1alpha1.ResourceExport](far, resourceExports), refused: w.refused, recovering: w.recovering,
		}
	}
	return s
}

// makeAll makes changes in an API, and gives new Services a ClusterIP as Kubernetes does.
func makeAll(api *changetest.API, changes []change.Change) {
	for _, c := range changes {
		if c.Type == coreServices && c.Verb == change.Create {
			c.Content["spec"].(map[string]any)["clusterIP"] = fmt.Sprintf("10.100.200.%d", api.Len(coreServices))
		}
		_ = api.Make(c) // A change that conflicts is decided on again.
	}
}

// settle writes what is due until nothing is.
func (w *world) settle() {
	w.t.Helper()
	for range 20 {
		s := w.shown(w.local, w.far)
		local, _ := s.localChanges()
		far := s.exportChanges()
		if len(local)+len(far) == 0 {
			return
		}
		makeAll(w.local, local)
		makeAll(w.far, far)
	}
	s := w.shown(w.local, w.far)
	local, _ := s.localChanges()
	require.Fail(w.t, "changes do not end", "%v %v", local, s.exportChanges())
}

func service(namespace, name, clusterIP string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIP, Ports: []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}},
	}
}

func (w *world) exportService(s *corev1.Service, ready bool) {
	w.local.Put(coreServices, s, nil)
	w.local.Put(endpointSlices, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(ready)}}},
	}, nil)
	w.local.Put(serviceExports, &mcs.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}, nil)
}

func (w *world) valid(name string) *metav1.Condition {
	for _, e := range changetest.List[mcs.ServiceExport](w.local, serviceExports) {
		if e.Name == name {
			return meta.FindStatusCondition(e.Status.Conditions, mcs.ServiceExportValid)
		}
	}
	return nil
}

func TestExport(t *testing.T) {
	w := newWorld(t)
	w.exportService(service("default", "nginx", "10.100.7.9", 80), true)
	w.settle()
	exports := changetest.List[v1alpha1.ResourceExport](w.far, resourceExports)
	require.Len(t, exports, 2)
	require.Equal(t, "west-default-nginx-endpoints", exports[0].Name)
	require.Equal(t, map[string]string{"sourceName": "nginx", "sourceNamespace": "default", "sourceClusterID": "west", "sourceKind": "Endpoints"}, exports[0].Labels)
	require.Equal(t, []string{"resourceexport.antrea.io/finalizer"}, exports[0].Finalizers)
	require.Equal(t, []v1alpha1.EndpointSubset{{
		Addresses: []v1alpha1.EndpointAddress{{IP: "10.100.7.9"}}, Ports: []v1alpha1.EndpointPort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
	}}, exports[0].Spec.Endpoints.Subsets)
	require.EqualValues(t, 80, exports[1].Spec.Service.ServiceSpec.Ports[0].Port)
	require.Equal(t, "Succeed", w.valid("nginx").Reason)
	require.Equal(t, "The Service is exported successfully", w.valid("nginx").Message)

	// Endpoints that are not ready are none. The leader lets the exports go.
	w.exportService(service("default", "nginx", "10.100.7.9", 80), false)
	w.settle()
	require.Equal(t, "ServiceWithoutEndpoints", w.valid("nginx").Reason)
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.far, resourceExports) {
		require.NotNil(t, e.DeletionTimestamp)
	}
}

func TestWhatCannotBeExported(t *testing.T) {
	external, headless, imported, long := service("default", "external", "", 80), service("default", "headless", "None", 80), service("default", "imported", "10.100.0.5", 80), service("default", "", "10.100.0.6", 80)
	external.Spec.Type = corev1.ServiceTypeExternalName
	imported.Annotations = map[string]string{v1alpha1.ImportedServiceAnnotation: "true"}
	long.Name = "a-service-whose-name-has-more-than-53-characters-in-all"
	w := newWorld(t)
	for _, s := range []*corev1.Service{external, headless, imported, long} {
		w.exportService(s, true)
	}
	w.local.Put(serviceExports, &mcs.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "missing"}}, nil)
	s := w.shown(w.local, w.far)
	makeAll(w.local, s.serviceExportChanges())
	require.Empty(t, s.exportChanges())
	for name, reason := range map[string]string{
		"external": "ServiceTypeNotSupported", "headless": "ServiceNoClusterIP", "imported": "ImportedService", "missing": "ServiceNotFound", long.Name: "ServiceNameTooLong",
	} {
		require.Equal(t, reason, w.valid(name).Reason)
		require.Equal(t, metav1.ConditionFalse, w.valid(name).Status)
	}
}

// TestNothingIsSaidBeforeItIsWritten: Valid is true when the leader has the export, not before.
func TestNothingIsSaidBeforeItIsWritten(t *testing.T) {
	w := newWorld(t)
	w.unready = true
	w.exportService(service("default", "nginx", "10.100.7.9", 80), true)
	w.settle()
	require.Nil(t, w.valid("nginx"))
	require.Zero(t, w.far.Len(resourceExports))
}

// TestRemovedMember: a member that the leader removes exports nothing again, so that the leader can finish.
func TestRemovedMember(t *testing.T) {
	w := newWorld(t)
	w.exportService(service("default", "nginx", "10.100.7.9", 80), true)
	w.settle()
	w.connection = connection{message: "the leader is removing this member"}
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.far, resourceExports) {
		w.far.Remove(resourceExports, area, e.Name)
	}
	w.lettingGo()
	w.settle()
	require.Zero(t, w.far.Len(resourceExports))
	w.connection.up = true
	w.settle()
	require.Equal(t, 2, w.far.Len(resourceExports))
}

func TestConflict(t *testing.T) {
	for i, name := range []string{"west-default-nginx-endpoints", "west-default-nginx-service"} {
		t.Run(name, func(t *testing.T) { conflict(t, i) })
	}
}

func conflict(t *testing.T, refusedExport int) {
	w := newWorld(t)
	w.exportService(service("default", "nginx", "10.100.7.9", 80), true)
	w.settle()
	refused := changetest.List[v1alpha1.ResourceExport](w.far, resourceExports)[refusedExport]
	w.far.Put(resourceExports, refused, map[string]any{"conditions": []any{map[string]any{"type": "Failure", "status": "False", "message": "other ports"}}})
	w.settle()
	e := changetest.List[mcs.ServiceExport](w.local, serviceExports)[0]
	require.Equal(t, "other ports", meta.FindStatusCondition(e.Status.Conditions, mcs.ServiceExportConflict).Message)
	w.far.Put(resourceExports, refused, map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": "True"}}})
	w.settle()
	e = changetest.List[mcs.ServiceExport](w.local, serviceExports)[0]
	require.Nil(t, meta.FindStatusCondition(e.Status.Conditions, mcs.ServiceExportConflict))
}

func (w *world) importService(namespace, name string, port int32, ips ...string) {
	imported := &v1alpha1.ResourceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: v1alpha1.ImportName(namespace, name, v1alpha1.ServiceKind)},
		Spec: v1alpha1.ResourceImportSpec{Kind: v1alpha1.ServiceImportKind, Namespace: namespace, Name: name, ServiceImport: &mcs.ServiceImport{
			Spec: mcs.ServiceImportSpec{Type: mcs.ClusterSetIP, Ports: []mcs.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}},
		}},
	}
	w.far.Put(resourceImports, imported, nil)
	w.far.Put(resourceImports, endpointsImport(namespace, name, port, ips...), nil)
	w.importInfo("south", "10.200.0.0/16", "192.0.2.200") // It has the addresses.
}

func endpointsImport(namespace, name string, port int32, ips ...string) *v1alpha1.ResourceImport {
	imported := &v1alpha1.ResourceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: v1alpha1.ImportName(namespace, name, v1alpha1.EndpointsKind)},
		Spec:       v1alpha1.ResourceImportSpec{Kind: v1alpha1.EndpointsKind, Namespace: namespace, Name: name, Endpoints: &v1alpha1.Endpoints{}},
	}
	for _, ip := range ips {
		imported.Spec.Endpoints.Subsets = append(imported.Spec.Endpoints.Subsets, v1alpha1.EndpointSubset{
			Addresses: []v1alpha1.EndpointAddress{{IP: ip}}, Ports: []v1alpha1.EndpointPort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}},
		})
	}
	return imported
}

// derivedAddresses returns the addresses of all derived EndpointSlices of a Service.
func (w *world) derivedAddresses(namespace, name string) (out []string) {
	for _, e := range w.shown(w.local, w.far).imported.slices {
		if (serviceOf(e) == key{Namespace: namespace, Name: name}) {
			for _, endpoint := range e.Endpoints {
				out = append(out, endpoint.Addresses...)
			}
		}
	}
	return out
}

func TestImport(t *testing.T) {
	w := newWorld(t)
	w.importService("default", "nginx", 80, "10.200.0.7", "10.100.7.9", "10.200.0.7")
	w.settle()
	s := changetest.List[corev1.Service](w.local, coreServices)
	require.Len(t, s, 1)
	require.Equal(t, "antrea-mc-nginx", s[0].Name)
	require.Equal(t, "true", s[0].Annotations["multicluster.antrea.io/imported-service"])
	require.EqualValues(t, 80, s[0].Spec.Ports[0].Port)
	require.Empty(t, s[0].Spec.Selector)
	slices := changetest.List[discoveryv1.EndpointSlice](w.local, endpointSlices)
	require.Len(t, slices, 1)
	require.Equal(t, map[string]string{"kubernetes.io/service-name": "antrea-mc-nginx", "endpointslice.kubernetes.io/managed-by": "antrea-mc-controller"}, slices[0].Labels)
	require.Equal(t, []string{"10.100.7.9", "10.200.0.7"}, w.derivedAddresses("default", "antrea-mc-nginx"))
	endpoints := changetest.List[Endpoints](w.local, coreEndpoints)
	require.Len(t, endpoints, 1)
	require.Equal(t, "true", endpoints[0].Labels["endpointslice.kubernetes.io/skip-mirror"])
	imports := changetest.List[mcs.ServiceImport](w.local, serviceImports)
	require.Equal(t, "nginx", imports[0].Name)
	require.Equal(t, []string{"10.100.200.0"}, imports[0].Spec.IPs)

	w.importService("default", "nginx", 8080, "10.200.0.8")
	w.settle()
	require.Equal(t, []string{"10.200.0.8"}, w.derivedAddresses("default", "antrea-mc-nginx"))
	require.EqualValues(t, 8080, changetest.List[corev1.Service](w.local, coreServices)[0].Spec.Ports[0].Port)

	w.far.Remove(resourceImports, area, "default-nginx-endpoints")
	w.settle()
	require.Empty(t, w.derivedAddresses("default", "antrea-mc-nginx"))
	require.Zero(t, w.local.Len(coreEndpoints))
	require.Equal(t, 1, w.local.Len(coreServices))
	w.far.Remove(resourceImports, area, "default-nginx-service")
	w.far.Remove(resourceImports, area, "south-clusterinfo")
	w.settle()
	w.requireNothingImported()
}

func (w *world) requireNothingImported() {
	w.t.Helper()
	s := w.shown(w.local, w.far)
	require.Empty(w.t, s.imported.services)
	require.Empty(w.t, s.imported.slices)
	require.Zero(w.t, w.local.Len(clusterPolicies))
	require.Zero(w.t, w.local.Len(coreEndpoints)+w.local.Len(serviceImports)+w.local.Len(infoImports)+w.local.Len(gatewayObjects))
}

// TestForeignServiceStays: neither the Service nor its endpoints are touched, and the status names it.
func TestForeignServiceStays(t *testing.T) {
	w := newWorld(t)
	w.local.Put(coreServices, service("default", "antrea-mc-nginx", "10.100.0.1", 443), nil)
	w.importService("default", "nginx", 80, "10.200.0.7")
	w.importService("prod", "web", 80, "10.200.0.8")
	w.settle()
	require.Empty(t, w.derivedAddresses("default", "antrea-mc-nginx"))
	require.Equal(t, []string{"10.200.0.8"}, w.derivedAddresses("prod", "antrea-mc-web"))
	require.Contains(t, w.message(), "Service default/antrea-mc-nginx: it exists and was not made by an import")
}

func (w *world) message() string {
	return changetest.List[v1alpha2.ClusterSet](w.local, clusterSets)[0].Status.Conditions[0].Message
}

// TestNonsenseLeavesWhatWas: a leader that sends what cannot be used takes nothing away, and harms no other import.
func TestNonsenseLeavesWhatWas(t *testing.T) {
	many := endpointsImport("default", "nginx", 80)
	for i := range endpoints.MaxAddresses + 1 {
		many.Spec.Endpoints.Subsets = append(many.Spec.Endpoints.Subsets, endpointsImport("", "", 80, fmt.Sprintf("10.200.%d.%d", i/250, i%250)).Spec.Endpoints.Subsets...)
	}
	empty := endpointsImport("default", "nginx", 80)
	empty.Spec.Endpoints = nil
	for want, nonsense := range map[string]*v1alpha1.ResourceImport{
		"spec.endpoints.subsets has 1001 addresses; allowed: 1000":                                    many,
		"it has no payload of its kind":                                                               empty,
		`spec.endpoints.subsets[0].addresses[0].ip is "127.0.0.1"; want a unicast IPv4 address`:       endpointsImport("default", "nginx", 80, "127.0.0.1"),
		`spec.endpoints.subsets[0].addresses[0].ip is "fd00::1"; want a unicast IPv4 address`:         endpointsImport("default", "nginx", 80, "fd00::1"),
		`spec.endpoints.subsets[0].addresses[0].ip is "169.254.169.254"; want a unicast IPv4 address`: endpointsImport("default", "nginx", 80, "169.254.169.254"),
		"spec.endpoints.subsets[0].ports[0].port is 0; allowed: 1 to 65535":                           endpointsImport("default", "nginx", 0, "10.200.0.9"),
		"spec.endpoints.subsets[0].ports[0].port is 1000000; allowed: 1 to 65535":                     endpointsImport("default", "nginx", 1_000_000, "10.200.0.9"),
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			w.importService("default", "nginx", 80, "10.200.0.7")
			w.settle()
			w.far.Put(resourceImports, nonsense, nil)
			w.importService("prod", "web", 80, "10.200.0.8")
			w.settle()
			require.Equal(t, []string{"10.200.0.7"}, w.derivedAddresses("default", "antrea-mc-nginx"))
			require.Equal(t, []string{"10.200.0.8"}, w.derivedAddresses("prod", "antrea-mc-web"))
			require.Contains(t, w.message(), "ResourceImport default-nginx-endpoints: "+want)
		})
	}
}

func TestUnreadableImport(t *testing.T) {
	w := newWorld(t)
	w.importService("default", "nginx", 80, "10.200.0.7")
	w.settle()
	w.far.Remove(resourceImports, area, "default-nginx-service")
	w.unreadable = []string{"default-nginx-service"}
	w.settle()
	require.Equal(t, []string{"10.200.0.7"}, w.derivedAddresses("default", "antrea-mc-nginx"))
	require.Contains(t, w.message(), "it does not have the form of a ResourceImport")
}
