// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"errors"
	"fmt"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
)

var errNoPayload = errors.New("it has no payload of its kind")

// converges reports whether exports of a kind are imported here. Others are left as they are.
func converges(kind string) bool {
	switch kind {
	case v1alpha1.ServiceKind, v1alpha1.EndpointsKind, v1alpha1.ClusterInfoKind, v1alpha1.ClusterNetworkPolicyKind:
		return true
	}
	return false
}

// check refuses an export that cannot be imported, or that members would refuse: what it is merged with would be lost with it. The webhook
// refuses most of it, and more; an export may be older than the webhook.
func (s *snapshot) check(e *v1alpha1.ResourceExport) error {
	if !ofMember(e) {
		return s.policies.CheckExport(e)
	}
	want := v1alpha1.ExportName(e.Spec.ClusterID, e.Spec.Namespace, e.Spec.Name, e.Spec.Kind)
	if e.Spec.Kind == v1alpha1.ClusterInfoKind {
		want = v1alpha1.ClusterInfoName(e.Spec.ClusterID)
	}
	switch {
	case e.Spec.ClusterID == "":
		return errors.New("spec.clusterID is empty")
	case e.Spec.Kind != v1alpha1.ClusterInfoKind && (e.Spec.Name == "" || e.Spec.Namespace == ""):
		return errors.New("spec.name or spec.namespace is empty")
	case e.Name != want:
		return fmt.Errorf("metadata.name must be %.260s", want)
	case e.Labels[v1alpha1.SourceClusterIDLabel] != e.Spec.ClusterID:
		return fmt.Errorf("label %s is %q, but spec.clusterID is %.100q", v1alpha1.SourceClusterIDLabel, e.Labels[v1alpha1.SourceClusterIDLabel], e.Spec.ClusterID)
	case e.Spec.Kind == v1alpha1.ServiceKind && (e.Spec.Service == nil || len(e.Spec.Service.ServiceSpec.Ports) == 0):
		return errNoPayload
	case e.Spec.Kind == v1alpha1.EndpointsKind && e.Spec.Endpoints == nil:
		return errNoPayload
	case e.Spec.Kind == v1alpha1.ClusterInfoKind && e.Spec.ClusterInfo == nil:
		return errNoPayload
	case e.Spec.Kind == v1alpha1.ClusterInfoKind && e.Spec.ClusterInfo.ClusterID != e.Spec.ClusterID:
		return fmt.Errorf("spec.clusterInfo.clusterID is %.100q, but spec.clusterID is %.100q", e.Spec.ClusterInfo.ClusterID, e.Spec.ClusterID)
	case e.Spec.Kind == v1alpha1.ServiceKind:
		var ports []v1alpha1.EndpointPort
		for _, p := range portsOf(e) {
			ports = append(ports, v1alpha1.EndpointPort{Name: p.Name, Port: p.Port, Protocol: p.Protocol})
		}
		return endpoints.CheckPorts("spec.service.serviceSpec.ports", ports)
	case e.Spec.Kind == v1alpha1.EndpointsKind:
		return endpoints.Check("spec.endpoints.subsets", e.Spec.Endpoints.Subsets)
	}
	return nil
}
