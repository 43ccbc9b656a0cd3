// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

type exportEdit = func(*v1alpha1.ResourceExport)

// exportOf returns east's export of Service default/web, of its Endpoints, or of another kind, as a member writes it.
func exportOf(kind string, edits ...exportEdit) *v1alpha1.ResourceExport {
	e := &v1alpha1.ResourceExport{
		ObjectMeta: metav1.ObjectMeta{
			Labels:     map[string]string{"sourceClusterID": "east", "sourceKind": kind},
			Finalizers: []string{"resourceexport.antrea.io/finalizer"},
		},
		Spec: v1alpha1.ResourceExportSpec{ClusterID: "east", Kind: kind},
	}
	switch kind {
	case "Service", "Endpoints":
		e.Labels["sourceName"], e.Labels["sourceNamespace"] = "web", "default"
		e.Spec.Name, e.Spec.Namespace = "web", "default"
	}
	switch kind {
	case "Service":
		e.Name = "east-default-web-service"
		e.Spec.Service = &v1alpha1.ServiceExport{ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	case "Endpoints":
		e.Name = "east-default-web-endpoints"
		e.Spec.Endpoints = &v1alpha1.Endpoints{Subsets: []v1alpha1.EndpointSubset{{
			Addresses: []v1alpha1.EndpointAddress{{IP: "10.96.7.9"}}, Ports: []v1alpha1.EndpointPort{{Port: 80, Protocol: "TCP"}},
		}}}
	case "ClusterInfo":
		e.Name, e.Spec.Name, e.Spec.Namespace = "east-clusterinfo", "east", "kube-system"
		e.Spec.ClusterInfo = &v1alpha1.ClusterInfo{
			ClusterID: "east", ServiceCIDR: "10.96.0.0/16", GatewayInfos: []v1alpha1.GatewayInfo{{GatewayIP: "192.0.2.7"}}, PodCIDRs: []string{"10.10.0.0/16", ""},
			WireGuard: &v1alpha1.WireGuardInfo{PublicKey: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="},
		}
	case "AntreaClusterNetworkPolicy":
		e.Name, e.Spec.Name = "isolation", "isolation"
		e.Spec.ClusterNetworkPolicy = map[string]any{
			"priority": int64(5), "appliedTo": []any{map[string]any{"podSelector": map[string]any{}}}, "ingress": []any{map[string]any{"action": "Drop"}},
		}
	case "LabelIdentity":
		e.Name, e.Finalizers = "east-356a192b7913b04c", nil // SHA-1 of "1"
		e.Spec.LabelIdentity = &v1alpha1.LabelIdentityExport{NormalizedLabel: "1"}
	}
	for _, edit := range edits {
		edit(e)
	}
	return e
}

func spec(edit func(*v1alpha1.ResourceExportSpec)) exportEdit {
	return func(e *v1alpha1.ResourceExport) { edit(&e.Spec) }
}

func label(key, value string) exportEdit {
	return func(e *v1alpha1.ResourceExport) { e.Labels[key] = value }
}

func finalizers(list ...string) exportEdit {
	return func(e *v1alpha1.ResourceExport) { e.Finalizers = list }
}

func TestExportsOfMembers(t *testing.T) {
	of := func(kind string, edits ...exportEdit) string { return encoded(t, exportOf(kind, edits...)) }
	rename := func(namespace, name string) exportEdit {
		return func(e *v1alpha1.ResourceExport) {
			e.Spec.Namespace, e.Spec.Name, e.Labels["sourceNamespace"], e.Labels["sourceName"] = namespace, name, namespace, name
		}
	}
	deleted := func(e *v1alpha1.ResourceExport) { e.DeletionTimestamp = &metav1.Time{} }
	removed := func(e *v1alpha1.ResourceExport) { now := metav1.Now(); e.DeletionTimestamp = &now }
	west, plain, gone := account("west-token"), account("plain"), account("gone")
	const (
		anothers  = "Member cluster is not authorized to modify or delete ResourceExports owned by another member"
		immutable = "Spec.Namespace, Spec.Name and Spec.Kind are immutable"
		kind      = "Member cluster is not authorized to export this kind"
		name      = "Invalid ResourceExport name for this member cluster"
		ours      = "resourceexport.antrea.io/finalizer"
		unbound   = `ServiceAccount "plain" is not permitted to write or delete ResourceExports: it has no multicluster.antrea.io/cluster-id annotation`
	)
	for _, d := range []decision{
		{name: "Service", user: east, wanted: of("Service")},
		{name: "Endpoints", user: east, wanted: of("Endpoints")},
		{name: "ClusterInfo", user: east, wanted: of("ClusterInfo")},
		{name: "LabelIdentity", user: east, wanted: of("LabelIdentity")},
		{name: "a policy", user: east, wanted: of("AntreaClusterNetworkPolicy"), want: kind},
		{name: "no kind", user: east, wanted: "{}", want: kind},
		{name: "Service without payload", user: east, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.Service = nil })),
			want: "Member cluster is not authorized to create a Service ResourceExport without Spec.Service"},
		{name: "Endpoints without payload", user: east, wanted: of("Endpoints", spec(func(s *v1alpha1.ResourceExportSpec) { s.Endpoints = nil })),
			want: "Member cluster is not authorized to create an Endpoints ResourceExport without Spec.Endpoints"},
		{name: "ClusterInfo without payload", user: east, wanted: of("ClusterInfo", spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterInfo = nil })), want: "spec.clusterInfo is missing"},
		{name: "LabelIdentity without payload", user: east, wanted: of("LabelIdentity", spec(func(s *v1alpha1.ResourceExportSpec) { s.LabelIdentity = nil })),
			want: "Invalid ResourceExport for this member cluster"},
		{name: "an impossible Namespace", user: east, wanted: of("Service", rename("a/b", "web")), want: "Spec.Namespace must be a valid DNS-1123 label"},
		{name: "an impossible name", user: east, wanted: of("Service", rename("default", "we b")), want: "Spec.Name must be a valid DNS-1123 label"},
		{name: "another ClusterID", user: east, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterID = "west" })),
			want: "Member cluster is not authorized to spoof ClusterID in ResourceExport"},
		{name: "another ClusterID in the label", user: east, wanted: of("Service", label("sourceClusterID", "west")),
			want: "Member cluster is not authorized to spoof SourceClusterID in ResourceExport"},
		{name: "another kind in the label", user: east, wanted: of("Service", label("sourceKind", "Endpoints")), want: "Member cluster is not authorized to spoof SourceKind label in ResourceExport"},
		{name: "another name in the label", user: east, wanted: of("Endpoints", label("sourceName", "db")), want: "Member cluster is not authorized to spoof source labels in ResourceExport"},
		{name: "another Namespace in the label", user: east, wanted: of("Endpoints", label("sourceNamespace", "x")), want: "Member cluster is not authorized to spoof source labels in ResourceExport"},
		{name: "another name", user: east, wanted: of("Service", func(e *v1alpha1.ResourceExport) { e.Name = "west-default-web-service" }), want: name},
		{name: "the name of another kind", user: east, wanted: of("Service", func(e *v1alpha1.ResourceExport) { e.Name = "east-default-web-endpoints" }), want: name},
		{name: "another name of a ClusterInfo", user: east, wanted: of("ClusterInfo", func(e *v1alpha1.ResourceExport) { e.Name = "west-clusterinfo" }), want: name},
		{name: "another name of a label", user: east, wanted: of("LabelIdentity", func(e *v1alpha1.ResourceExport) { e.Name = "east-0000000000000000" }), want: name},
		{name: "another ClusterID in the ClusterInfo", user: east, wanted: of("ClusterInfo", spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterInfo.ClusterID = "west" })),
			want: "Member cluster is not authorized to spoof ClusterInfo.ClusterID"},
		{name: "no finalizer", user: east, wanted: of("Service", finalizers()), want: "Member cluster is not authorized to create a ResourceExport without the ResourceExport finalizer"},
		{name: "another finalizer", user: east, wanted: of("Service", finalizers("x")), want: "without the ResourceExport finalizer"},
		{name: "one more finalizer", user: east, wanted: of("Service", finalizers(ours, "x")),
			want: `to add the finalizer "x"; allowed: resourceexport.antrea.io/finalizer, resourceexport.finalizers.antrea.io`},
		{name: "a finalizer of a label", user: east, wanted: of("LabelIdentity", finalizers("x")), want: `to add the finalizer "x"`},
		{name: "one more finalizer later", user: east, wanted: of("Service", finalizers(ours, "x")), former: of("Service"), want: `to add the finalizer "x"`},
		{name: "an old finalizer stays", user: east, wanted: of("Service", finalizers(ours, "x")), former: of("Service", finalizers(ours, "x"))},
		{name: "one more finalizer by an administrator", user: admin, wanted: of("Service", finalizers(ours, "x")), former: of("Service")},
		{name: "the former finalizer", user: east, wanted: of("Service", finalizers("resourceexport.finalizers.antrea.io"))},
		{name: "finalizer replaced", user: east, wanted: of("Service"), former: of("Service", finalizers("resourceexport.finalizers.antrea.io"))},
		{name: "finalizer removed", user: east, wanted: of("Service", finalizers()), former: of("Service"), want: "Member cluster is not authorized to remove the ResourceExport finalizer"},
		{name: "an old one without finalizer", user: east, wanted: of("Service", finalizers()), former: of("Service", finalizers())},
		{name: "moved", user: east, wanted: of("Service", rename("default-web", "service")), former: of("Service"), want: immutable},
		{name: "another kind later", user: east, wanted: of("Endpoints"), former: of("Service"), want: immutable},
		{name: "no kind later", user: east, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.Kind = "" })), former: of("Service"), want: immutable},
		{name: "a ClusterInfo from another Namespace", user: east, wanted: of("ClusterInfo", spec(func(s *v1alpha1.ResourceExportSpec) { s.Namespace = "x" })), former: of("ClusterInfo")},
		{name: "other ports", user: east, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.Service.ServiceSpec.Ports[0].Port = 81 })), former: of("Service")},
		{name: "changed by another member", user: west, wanted: of("Service"), former: of("Service"), want: anothers},
		{name: "taken over", user: west, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterID = "west" })), former: of("Service"), want: anothers},
		{name: "given away", user: east, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterID = "west" })), former: of("Service"), want: "to spoof ClusterID"},
		{name: "deleted", user: east, former: of("Service")},
		{name: "deleted by another member", user: west, former: of("Service"), want: anothers},
		{name: "empty annotation", user: account("empty-token"), wanted: of("Service"), want: "ClusterID annotation on ServiceAccount is empty"},
		{name: "unknown account", user: gone, wanted: of("Service"), want: "ServiceAccount not found"},
		{name: "deleted by an unknown account", user: gone, former: of("Service", deleted), want: "ServiceAccount not found"},
		{name: "going, deleted by an unknown account", user: gone, former: of("Service", removed)},
		{name: "by an account that is not a member's", user: plain, wanted: of("Service"), want: unbound},
		{name: "changed by an account that is not a member's", user: plain, wanted: of("Service", finalizers()), former: of("Service"), want: unbound},
		{name: "deleted by an account that is not a member's", user: plain, former: of("Service"), want: unbound},
		{name: "created by the controller", user: controller, wanted: of("Service"), want: `ServiceAccount "antrea-mc-controller" is not permitted`},
		{name: "by an account elsewhere", user: "system:serviceaccount:default:east-token", wanted: of("Service", finalizers())},
		{name: "by a strange name", user: "system:serviceaccount:", wanted: of("Service"), want: "has the beginning of the name of one"},
		{name: "by an administrator", user: admin, wanted: of("Service", finalizers())},
		{name: "without payload by an administrator", user: admin, wanted: of("Service", spec(func(s *v1alpha1.ResourceExportSpec) { s.Service = nil })), want: "spec.service is missing"},
		{name: "a policy by an administrator", user: admin, wanted: of("AntreaClusterNetworkPolicy")},
		{name: "an unreadable policy by an administrator", user: admin, wanted: of("AntreaClusterNetworkPolicy", spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterNetworkPolicy = "x" })), want: "want an object"},
		{name: "an administrator's policy with the member's ID changed", user: east, wanted: of("AntreaClusterNetworkPolicy"), former: of("AntreaClusterNetworkPolicy"), want: anothers},
		{name: "an administrator's policy with the member's ID made a Service", user: east, wanted: of("Service"), former: of("AntreaClusterNetworkPolicy"), want: anothers},
		{name: "an administrator's policy with the member's ID deleted", user: east, former: of("AntreaClusterNetworkPolicy"), want: anothers},
		{name: "a Service made a policy", user: east, wanted: of("AntreaClusterNetworkPolicy"), former: of("Service"), want: immutable},
		{name: "a policy deleted by an administrator", user: admin, former: of("AntreaClusterNetworkPolicy")},
		{name: "a policy by an account without an ID", user: plain, wanted: of("AntreaClusterNetworkPolicy"), want: unbound},
		{name: "finalizer removed by the controller", user: controller, wanted: of("Service", finalizers()), former: of("Service")},
		{name: "deleted by the controller", user: controller, former: of("Service")},
	} {
		t.Run(d.name, func(t *testing.T) { d.check(t, (*state).leader, ExportPath) })
	}
}
