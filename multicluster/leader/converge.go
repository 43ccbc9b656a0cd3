// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
	"github.com/antrea-oncache/antrea/multicluster/policy"
)

// origin is the object that several clusters export.
type origin struct {
	kind, namespace, name string
}

// verdicts say why an export is not imported, by its name; nil if it is.
type verdicts map[string]error

// wanted are the ResourceImports that there ought to be, by name, with the origins that have them.
type wanted struct {
	imports  map[string]*v1alpha1.ResourceImport
	origins  map[string]origin
	verdicts verdicts
}

func originOf(e *v1alpha1.ResourceExport) origin {
	return origin{e.Spec.Kind, e.Spec.Namespace, e.Spec.Name}
}

// nameOf is the name of the ResourceImport of an origin; a ClusterInfo has one for each cluster.
func nameOf(o origin, clusterID string) string {
	switch o.kind {
	case v1alpha1.ClusterInfoKind:
		return v1alpha1.ClusterInfoName(clusterID)
	case v1alpha1.ClusterNetworkPolicyKind:
		return v1alpha1.PolicyImportName(o.name)
	}
	return v1alpha1.ImportName(o.namespace, o.name, o.kind)
}

// originOfImport is the origin of a ResourceImport as its spec says.
func originOfImport(i *v1alpha1.ResourceImport) origin {
	kind := i.Spec.Kind
	if kind == v1alpha1.ServiceImportKind {
		kind = v1alpha1.ServiceKind
	}
	return origin{kind, i.Spec.Namespace, i.Spec.Name}
}

// converge decides which exports are imported, and as what.
func (s *snapshot) converge(leaving map[string]bool) *wanted {
	w := &wanted{map[string]*v1alpha1.ResourceImport{}, map[string]origin{}, verdicts{}}
	existing := map[string]*v1alpha1.ResourceImport{}
	for _, i := range s.imports {
		existing[i.Name] = i
	}
	live := s.live(leaving, w.verdicts)
	// Services before their Endpoints. An imported origin keeps its name; of two that would have the same name the older export wins.
	slices.SortStableFunc(live, func(a, b *v1alpha1.ResourceExport) int {
		has := func(e *v1alpha1.ResourceExport) int {
			if i := existing[nameOf(originOf(e), e.Spec.ClusterID)]; i != nil && originOfImport(i) == originOf(e) {
				return 0
			}
			return 1
		}
		return cmp.Or(
			-cmp.Compare(a.Spec.Kind, b.Spec.Kind), cmp.Compare(has(a), has(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name),
		)
	})
	groups, order := map[string][]*v1alpha1.ResourceExport{}, []string(nil)
	for _, e := range live {
		name := nameOf(originOf(e), e.Spec.ClusterID)
		if groups[name] == nil {
			order = append(order, name)
			w.origins[name] = originOf(e)
		}
		if w.origins[name] != originOf(e) {
			o := w.origins[name]
			w.verdicts[e.Name] = fmt.Errorf("ResourceImport %s is of %s/%s", name, o.namespace, o.name)
			continue
		}
		groups[name] = append(groups[name], e)
	}
	for _, name := range order {
		w.imports[name] = s.merge(w, name, existing[name], groups[name])
	}
	maps.DeleteFunc(w.imports, func(_ string, i *v1alpha1.ResourceImport) bool { return i == nil })
	s.holdPolicies(w, existing)
	return w
}

// mostExports is the number of Services and Endpoints that a member can export, half of each.
const mostExports = 2000

// live returns the exports that can be imported: readable, and neither being deleted nor of a member that leaves, nor too many of one member.
func (s *snapshot) live(leaving map[string]bool, v verdicts) (live []*v1alpha1.ResourceExport) {
	byAge := slices.SortedStableFunc(slices.Values(s.exports), func(a, b *v1alpha1.ResourceExport) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	number, policies := map[string]int{}, 0
	for _, e := range byAge {
		if !converges(e.Spec.Kind) || e.DeletionTimestamp != nil || ofMember(e) && leaving[e.Spec.ClusterID] {
			continue
		}
		switch e.Spec.Kind {
		case v1alpha1.ClusterInfoKind:
		case v1alpha1.ClusterNetworkPolicyKind:
			if policies++; policies > policy.Most {
				v[e.Name] = fmt.Errorf("there are more than %d exports of policies", policy.Most)
				continue
			}
		default:
			if number[e.Spec.ClusterID]++; number[e.Spec.ClusterID] > mostExports {
				v[e.Name] = fmt.Errorf("cluster %.100s exports more than %d Services", e.Spec.ClusterID, mostExports/2)
				continue
			}
		}
		if v[e.Name] = s.check(e); v[e.Name] == nil {
			live = append(live, e)
		}
	}
	return live
}

// merge returns the ResourceImport of exports of one origin, which are in the order of their age; nil if none of them is accepted.
func (s *snapshot) merge(w *wanted, name string, existing *v1alpha1.ResourceImport, exports []*v1alpha1.ResourceExport) *v1alpha1.ResourceImport {
	o := originOf(exports[0])
	out := &v1alpha1.ResourceImport{ObjectMeta: meta(s.namespace, name), Spec: v1alpha1.ResourceImportSpec{Kind: o.kind, Namespace: o.namespace, Name: o.name}}
	switch o.kind {
	case v1alpha1.ClusterInfoKind:
		out.Spec.ClusterInfo = exports[0].Spec.ClusterInfo
		return out
	case v1alpha1.ClusterNetworkPolicyKind:
		out.Spec.ClusterNetworkPolicy = w.choosePolicy(existing, exports)
		return out
	case v1alpha1.ServiceKind:
		out.Spec.Kind = v1alpha1.ServiceImportKind
		out.Spec.ServiceImport = &mcs.ServiceImport{Spec: mcs.ServiceImportSpec{Type: mcs.ClusterSetIP, Ports: choosePorts(existing, exports)}}
		for _, e := range exports {
			if ports := portsOf(e); !samePorts(ports, out.Spec.ServiceImport.Spec.Ports) {
				w.verdicts[e.Name] = fmt.Errorf("%s: it has the ports %s, but the ports %s are imported", v1alpha1.ConvergeFailureMessage, text(ports), text(out.Spec.ServiceImport.Spec.Ports))
			}
		}
		return out
	}
	out.Spec.Endpoints = &v1alpha1.Endpoints{Subsets: w.mergeSubsets(o, exports)}
	if len(out.Spec.Endpoints.Subsets) == 0 {
		return nil
	}
	return out
}

// mergeSubsets returns the subsets of exports of one origin, in the order of the clusters, without exports whose Services are not imported. Where
// members would refuse the sum, the younger export is left out.
func (w *wanted) mergeSubsets(o origin, exports []*v1alpha1.ResourceExport) []v1alpha1.EndpointSubset {
	var sum, out []v1alpha1.EndpointSubset
	var accepted []*v1alpha1.ResourceExport
	for _, e := range exports {
		service := v1alpha1.ExportName(e.Spec.ClusterID, o.namespace, o.name, v1alpha1.ServiceKind)
		if err, known := w.verdicts[service]; !known || err != nil {
			w.verdicts[e.Name] = fmt.Errorf("ResourceExport %s is not imported", service)
			continue
		}
		with := slices.Concat(sum, e.Spec.Endpoints.Subsets)
		if err := endpoints.Check("spec.endpoints.subsets", with); err != nil {
			w.verdicts[e.Name] = fmt.Errorf("%s: the sum with older exports is refused: %w", v1alpha1.ConvergeFailureMessage, err)
			continue
		}
		sum, accepted = with, append(accepted, e)
	}
	slices.SortFunc(accepted, func(a, b *v1alpha1.ResourceExport) int { return cmp.Compare(a.Spec.ClusterID, b.Spec.ClusterID) })
	for _, e := range accepted {
		out = append(out, e.Spec.Endpoints.Subsets...)
	}
	return out
}

// choosePorts returns the ports that are imported already if one of the exports has them, otherwise the ports of the oldest one.
func choosePorts(existing *v1alpha1.ResourceImport, exports []*v1alpha1.ResourceExport) []mcs.ServicePort {
	if existing != nil && existing.Spec.ServiceImport != nil {
		ports := existing.Spec.ServiceImport.Spec.Ports
		if slices.ContainsFunc(exports, func(e *v1alpha1.ResourceExport) bool { return samePorts(portsOf(e), ports) }) {
			return ports
		}
	}
	return portsOf(exports[0])
}

// portsOf returns the ports of an exported Service.
func portsOf(e *v1alpha1.ResourceExport) []mcs.ServicePort {
	var ports []mcs.ServicePort
	for _, p := range e.Spec.Service.ServiceSpec.Ports {
		ports = append(ports, mcs.ServicePort{Name: p.Name, Port: p.Port, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP)})
	}
	return ports
}

// samePorts compares without regard to the order.
func samePorts(a, b []mcs.ServicePort) bool {
	sorted := func(ports []mcs.ServicePort) []mcs.ServicePort {
		return slices.SortedFunc(slices.Values(ports), func(x, y mcs.ServicePort) int {
			return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Protocol, y.Protocol))
		})
	}
	return equality.Semantic.DeepEqual(sorted(a), sorted(b))
}

// text writes ports for a person, the first ones if there are many.
func text(ports []mcs.ServicePort) string {
	var texts []string
	for i, p := range ports {
		if i == 5 {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, fmt.Sprintf("%.63s %.4s/%d", p.Name, p.Protocol, p.Port))
	}
	return strings.Join(texts, ", ")
}

// importChanges returns what has to be written so that the ResourceImports are right, and what of the exports is accepted. A ResourceImport of an
// origin that is not built here stays as it is. One of a policy is changed in place whatever it has: members would be without the policy until it is
// made again.
func (s *snapshot) importChanges(leaving map[string]bool) (changes []change.Change, w *wanted) {
	w = s.converge(leaving)
	existing := map[string]bool{}
	for _, i := range s.malformed { // One that is deleted is made again once it is gone.
		existing[i.GetName()] = true
		if i.GetDeletionTimestamp() == nil {
			changes = append(changes, mended(i, w.imports[i.GetName()])...)
		}
	}
	for _, i := range s.imports {
		existing[i.Name] = true
		want := w.imports[i.Name]
		switch {
		case i.DeletionTimestamp != nil:
		case want == nil && converges(originOfImport(i).kind), want != nil && originOfImport(i) != w.origins[i.Name] && !isPolicy(want):
			changes = append(changes, change.ToDelete(resourceImports, i))
		case want != nil:
			changed := *i
			changed.Spec = want.Spec
			changed.Spec.ClusterIDs = i.Spec.ClusterIDs
			changes = append(changes, change.ToUpdate(resourceImports, i, &changed)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.imports)) {
		if !existing[name] {
			changes = append(changes, change.ToCreate(resourceImports, w.imports[name]))
		}
	}
	// Gateways come first: a round of writes may be long.
	slices.SortStableFunc(changes, func(a, b change.Change) int { return isOfCluster(b) - isOfCluster(a) })
	return changes, w
}

// isOfCluster returns 1 for a change of a ClusterInfo.
func isOfCluster(c change.Change) int {
	if strings.HasSuffix(c.Name, v1alpha1.ClusterInfoName("")) {
		return 1
	}
	return 0
}
