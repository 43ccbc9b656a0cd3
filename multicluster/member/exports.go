// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// verdict is the condition of a ServiceExport.
type verdict struct {
	reason, message string
}

var (
	valid        = verdict{"Succeed", "The Service is exported successfully"}
	notFound     = verdict{"ServiceNotFound", "Service does not exist"}
	notSupported = verdict{"ServiceTypeNotSupported", "Service of ExternalName type is not supported"}
	isImported   = verdict{"ImportedService", "The Service is imported, not allowed to export"}
	noEndpoints  = verdict{"ServiceWithoutEndpoints", "Service has no Endpoints"}
	noClusterIP  = verdict{"ServiceNoClusterIP", "Service does not have a valid ClusterIP"}
	nameTooLong  = verdict{"ServiceNameTooLong", "The imported Service would be called " + v1alpha1.ImportedPrefix + "NAME, which may have 63 characters at most"}
	noPorts      = verdict{"ServiceWithoutPorts", "Service has no ports"}
)

const (
	// conflictingName is the reason of an export whose ResourceExport another one has.
	conflictingName = "NameConflict"
	// refusedByLeader is the reason of an export that the leader's API does not take.
	refusedByLeader = "RefusedByLeader"
)

// judge returns why a Service cannot be exported, or valid.
func judge(service *corev1.Service, slices []*discoveryv1.EndpointSlice) verdict {
	switch {
	case service == nil || service.DeletionTimestamp != nil:
		return notFound
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return notSupported
	case ours(service):
		return isImported
	case !hasReadyEndpoint(slices):
		return noEndpoints
	case !clusterIPv4(service).IsValid():
		return noClusterIP
	case len(service.Spec.Ports) == 0:
		return noPorts
	case len(v1alpha1.ImportedName(service.Name)) > maxServiceName:
		return nameTooLong
	}
	return valid
}

func hasReadyEndpoint(all []*discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(all, func(s *discoveryv1.EndpointSlice) bool {
		return s.AddressType == discoveryv1.AddressTypeIPv4 && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready)
		})
	})
}

// clusterIPv4 returns the IPv4 ClusterIP of a Service, or an invalid address.
func clusterIPv4(service *corev1.Service) netip.Addr {
	for _, text := range append(slices.Clone(service.Spec.ClusterIPs), service.Spec.ClusterIP) {
		if addr, err := netip.ParseAddr(text); err == nil && addr.Is4() {
			return addr
		}
	}
	return netip.Addr{}
}

// exportedObjects returns the ResourceExports that this cluster ought to have, by name, and the verdict about each ServiceExport.
func (s *snapshot) exportedObjects() (map[string]*v1alpha1.ResourceExport, map[key]verdict) {
	exports, verdicts := map[string]*v1alpha1.ResourceExport{}, map[key]verdict{}
	// Dashes join names, so that two Services can have ResourceExports of one name: the one that has it keeps it, otherwise the older one gets it.
	owners := map[string]key{}
	for _, e := range s.leader.exports {
		owners[e.Name] = key{Namespace: e.Spec.Namespace, Name: e.Spec.Name}
	}
	wanted := slices.SortedStableFunc(slices.Values(s.serviceExports), func(a, b *mcs.ServiceExport) int {
		name := func(e *mcs.ServiceExport) string {
			return v1alpha1.ExportName(clusterID(s), e.Namespace, e.Name, v1alpha1.ServiceKind)
		}
		owns := func(e *mcs.ServiceExport) int {
			if owners[name(e)] == keyOf(e) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(owns(a), owns(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range wanted {
		k := keyOf(e)
		if e.DeletionTimestamp != nil {
			continue
		}
		service := s.services[k]
		if verdicts[k] = judge(service, s.slices[k]); verdicts[k] != valid {
			continue
		}
		exported := s.serviceExport(service)
		if other := exports[exported.Name]; other != nil {
			verdicts[k] = verdict{conflictingName, fmt.Sprintf("Service %s/%s is exported, and its ResourceExport has the same name %s", other.Spec.Namespace, other.Spec.Name, other.Name)}
			continue
		}
		endpoints := s.endpointsExport(service)
		exports[exported.Name], exports[endpoints.Name] = exported, endpoints
	}
	if info := s.clusterInfoExport(); info != nil {
		exports[info.Name] = info
	}
	return exports, verdicts
}

// export returns a ResourceExport of a Service or Endpoints without payload.
func (s *snapshot) export(service *corev1.Service, kind string) *v1alpha1.ResourceExport {
	return &v1alpha1.ResourceExport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.set.Spec.Namespace, Name: v1alpha1.ExportName(clusterID(s), service.Namespace, service.Name, kind),
			Labels: map[string]string{
				v1alpha1.SourceNameLabel: service.Name, v1alpha1.SourceNamespaceLabel: service.Namespace,
				v1alpha1.SourceClusterIDLabel: clusterID(s), v1alpha1.SourceKindLabel: kind,
			},
			Finalizers: []string{v1alpha1.ResourceExportFinalizer},
		},
		Spec: v1alpha1.ResourceExportSpec{ClusterID: clusterID(s), Name: service.Name, Namespace: service.Namespace, Kind: kind},
	}
}

func (s *snapshot) serviceExport(service *corev1.Service) *v1alpha1.ResourceExport {
	e := s.export(service, v1alpha1.ServiceKind)
	e.Spec.Service = &v1alpha1.ServiceExport{ServiceSpec: corev1.ServiceSpec{Ports: service.Spec.Ports}}
	return e
}

// endpointsExport exports the ClusterIP: the other clusters' Nodes balance between clusters, this cluster's between Pods.
func (s *snapshot) endpointsExport(service *corev1.Service) *v1alpha1.ResourceExport {
	e := s.export(service, v1alpha1.EndpointsKind)
	subset := v1alpha1.EndpointSubset{Addresses: []v1alpha1.EndpointAddress{{IP: clusterIPv4(service).String()}}}
	for _, p := range service.Spec.Ports {
		subset.Ports = append(subset.Ports, v1alpha1.EndpointPort{Name: p.Name, Port: p.Port, Protocol: p.Protocol})
	}
	e.Spec.Endpoints = &v1alpha1.Endpoints{Subsets: []v1alpha1.EndpointSubset{subset}}
	return e
}

// clusterInfoExport exports how to reach this cluster: nil without a Gateway.
func (s *snapshot) clusterInfoExport() *v1alpha1.ResourceExport {
	gateways := s.gatewaysByAge()
	i := slices.IndexFunc(gateways, func(g *v1alpha1.Gateway) bool { return g.DeletionTimestamp == nil })
	if i < 0 {
		return nil
	}
	gateway := gateways[i]
	return &v1alpha1.ResourceExport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.set.Spec.Namespace, Name: v1alpha1.ClusterInfoName(clusterID(s)),
			Labels:     map[string]string{v1alpha1.SourceClusterIDLabel: clusterID(s), v1alpha1.SourceKindLabel: v1alpha1.ClusterInfoKind},
			Finalizers: []string{v1alpha1.ResourceExportFinalizer},
		},
		Spec: v1alpha1.ResourceExportSpec{
			ClusterID: clusterID(s), Name: clusterID(s), Namespace: s.namespace, Kind: v1alpha1.ClusterInfoKind,
			ClusterInfo: &v1alpha1.ClusterInfo{
				ClusterID: clusterID(s), ServiceCIDR: gateway.ServiceCIDR, GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: gateway.GatewayIP}},
				PodCIDRs: s.settings.PodCIDRs, WireGuard: gateway.WireGuard,
			},
		},
	}
}

// exportChanges returns what has to be written to the leader: nothing while the leader removes this member, whose exports it waits for.
func (s *snapshot) exportChanges() (changes []change.Change) {
	if s.set == nil || !s.leader.ready || !s.connection.up {
		return nil
	}
	wanted, _ := s.exportedObjects()
	for _, e := range s.leader.exports {
		want := wanted[e.Name]
		delete(wanted, e.Name)
		switch {
		case e.DeletionTimestamp != nil: // It is made again when the leader has let it go.
		case want == nil && e.Spec.Kind == v1alpha1.ClusterInfoKind && e.Name == v1alpha1.ClusterInfoName(clusterID(s)):
			// Without a Gateway it stays until this cluster leaves: another cluster could take the network.
		case want == nil && e.Spec.ClusterID == clusterID(s) && exportedHere(e.Spec.Kind), want != nil && !sameSource(e, want):
			changes = append(changes, change.ToDelete(resourceExports, e))
		case want != nil:
			changes = append(changes, change.ToUpdate(resourceExports, e, amended(e, want))...)
		}
	}
	for _, name := range sortedKeys(wanted) {
		changes = append(changes, change.ToCreate(resourceExports, wanted[name]))
	}
	return changes
}

func exportedHere(kind string) bool {
	return kind == v1alpha1.ServiceKind || kind == v1alpha1.EndpointsKind || kind == v1alpha1.ClusterInfoKind
}

// sameSource reports whether two ResourceExports of one name are of one object. The leader does not let it change.
func sameSource(a, b *v1alpha1.ResourceExport) bool {
	return a.Spec.ClusterID == b.Spec.ClusterID && a.Spec.Kind == b.Spec.Kind && a.Spec.Name == b.Spec.Name && a.Spec.Namespace == b.Spec.Namespace
}

// amended returns a ResourceExport with what it ought to have. Other labels and finalizers stay.
func amended(e, want *v1alpha1.ResourceExport) *v1alpha1.ResourceExport {
	out := *e
	out.Spec = want.Spec
	out.Labels = withAll(e.Labels, want.Labels)
	if !slices.Contains(e.Finalizers, v1alpha1.ResourceExportFinalizer) {
		out.Finalizers = append(slices.Clone(e.Finalizers), v1alpha1.ResourceExportFinalizer)
	}
	return &out
}

// serviceExportChanges returns the conditions that ServiceExports ought to have.
func (s *snapshot) serviceExportChanges() (changes []change.Change) {
	if s.set == nil {
		return nil
	}
	wanted, verdicts := s.exportedObjects()
	written := map[string]*v1alpha1.ResourceExport{}
	for _, e := range s.leader.exports {
		written[e.Name] = e
	}
	for _, e := range s.serviceExports {
		found, judged := verdicts[keyOf(e)]
		if !judged {
			continue
		}
		status := metav1.ConditionFalse
		var refusal string
		if found == valid {
			service := v1alpha1.ExportName(clusterID(s), e.Namespace, e.Name, v1alpha1.ServiceKind)
			endpoints := v1alpha1.ExportName(clusterID(s), e.Namespace, e.Name, v1alpha1.EndpointsKind)
			switch why := cmp.Or(s.leader.refused[service], s.leader.refused[endpoints]); {
			case why != "":
				found = verdict{refusedByLeader, fmt.Sprintf("%.1000s", why)}
			case !s.leader.ready || !isWritten(written[service], wanted[service]) || !isWritten(written[endpoints], wanted[endpoints]):
				continue // Neither true nor false: it is being written.
			default:
				status, refusal = metav1.ConditionTrue, cmp.Or(refusalOf(written[service]), refusalOf(written[endpoints]))
			}
		}
		out := *e
		out.Status.Conditions = slices.Clone(e.Status.Conditions)
		meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
			Type: mcs.ServiceExportValid, Status: status, Reason: found.reason, Message: found.message, LastTransitionTime: s.now, ObservedGeneration: e.Generation,
		})
		setConflict(&out.Status.Conditions, refusal, s.now)
		changes = append(changes, change.ToUpdateStatus(serviceExports, e, &out)...)
	}
	return changes
}

// infoRefusal says why the leader does not take the ClusterInfo, without which other clusters do not reach this one.
func (s *snapshot) infoRefusal() []refusal {
	if s.set == nil {
		return nil
	}
	name := v1alpha1.ClusterInfoName(clusterID(s))
	if why := s.leader.refused[name]; why != "" {
		return []refusal{{object: "ResourceExport " + name, err: fmt.Errorf("%.1000s", why)}}
	}
	return nil
}

func isWritten(e, want *v1alpha1.ResourceExport) bool {
	return e != nil && e.DeletionTimestamp == nil && equality.Semantic.DeepEqual(e.Spec, want.Spec)
}

// refusalOf says why the leader does not import an export; empty if it does.
func refusalOf(e *v1alpha1.ResourceExport) string {
	if e == nil {
		return ""
	}
	for _, c := range e.Status.Conditions {
		if c.Type == v1alpha1.ResourceExportFailure {
			return cmp.Or(c.Message, v1alpha1.ConvergeFailureMessage)
		}
	}
	return ""
}

// setConflict sets the condition Conflict while the leader refuses an export, and removes it afterwards.
func setConflict(conditions *[]metav1.Condition, refusal string, now metav1.Time) {
	if refusal == "" {
		meta.RemoveStatusCondition(conditions, mcs.ServiceExportConflict)
		return
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: mcs.ServiceExportConflict, Status: metav1.ConditionTrue, Reason: v1alpha1.ConvergeFailureReason, Message: refusal, LastTransitionTime: now,
	})
}
