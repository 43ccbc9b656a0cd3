// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
	"github.com/antrea-oncache/antrea/multicluster/policy"
)

// Bounds of a payload, in addition to the bounds in package endpoints. An import contains the Endpoints of all members, and has to fit into one object.
const (
	maxObject   = 256 << 10
	maxSubsets  = 100
	maxGateways = 16
	maxLabel    = 16 << 10
)

// shortestNetwork is the smallest length of a prefix that a cluster can call its own: one of 0 would draw all traffic.
const shortestNetwork = 8

// payload says why the payload of a kind could not be imported. External entities are refused: nothing would act on them. Nothing acts on label
// identities either, but members of Antrea send them and do not need an answer.
func payload(spec *v1alpha1.ResourceExportSpec) string {
	missing := func(field string) string {
		return fmt.Sprintf("spec.%s is missing: spec.kind is %s", field, spec.Kind)
	}
	switch spec.Kind {
	case v1alpha1.ServiceKind:
		if spec.Service == nil {
			return missing("service")
		}
		return servicePorts(spec.Service.ServiceSpec.Ports)
	case v1alpha1.EndpointsKind:
		if spec.Endpoints == nil {
			return missing("endpoints")
		}
		return subsets(spec.Endpoints.Subsets)
	case v1alpha1.ClusterInfoKind:
		if spec.ClusterInfo == nil {
			return missing("clusterInfo")
		}
		return clusterInfo(spec.ClusterInfo)
	case v1alpha1.ClusterNetworkPolicyKind:
		return refusal(policy.CheckExport(spec))
	case v1alpha1.LabelIdentityKind:
		if spec.LabelIdentity == nil {
			return missing("labelIdentity")
		}
		return count("bytes", "spec.labelIdentity.normalizedLabel", len(spec.LabelIdentity.NormalizedLabel), maxLabel)
	}
	return fmt.Sprintf("spec.kind is %q, which this version does not exchange between clusters; it exchanges Service, Endpoints, ClusterInfo and AntreaClusterNetworkPolicy", spec.Kind)
}

func count(what, field string, n, limit int) string {
	if n > limit {
		return fmt.Sprintf("%s has %d %s; allowed: %d", field, n, what, limit)
	}
	return ""
}

// servicePorts refuses ports that a Service cannot have. Kubernetes fills in TCP for a protocol that is missing.
func servicePorts(list []corev1.ServicePort) string {
	converted := make([]v1alpha1.EndpointPort, len(list))
	for i := range list {
		converted[i] = v1alpha1.EndpointPort{Name: list[i].Name, Port: list[i].Port, Protocol: cmp.Or(list[i].Protocol, corev1.ProtocolTCP)}
	}
	return refusal(endpoints.CheckPorts("spec.service.serviceSpec.ports", converted))
}

func subsets(list []v1alpha1.EndpointSubset) string {
	const field = "spec.endpoints.subsets"
	return first(count("subsets", field, len(list), maxSubsets), refusal(endpoints.Check(field, list)))
}

// refusal is the text of an error; "" allows.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// address refuses addresses that other clusters cannot reach.
func address(field, text string) string {
	_, err := endpoints.Unicast(field, text)
	return refusal(err)
}

func clusterInfo(info *v1alpha1.ClusterInfo) string {
	const field = "spec.clusterInfo"
	if refusal := first(
		count("Gateways", field+".gatewayInfos", len(info.GatewayInfos), maxGateways),
		count("networks", field+".podCIDRs", len(info.PodCIDRs), v1alpha1.MaxPodCIDRs),
		network(field+".serviceCIDR", info.ServiceCIDR),
	); refusal != "" {
		return refusal
	}
	for i, gateway := range info.GatewayInfos {
		if refusal := address(fmt.Sprintf("%s.gatewayInfos[%d].gatewayIP", field, i), gateway.GatewayIP); refusal != "" {
			return refusal
		}
	}
	for i, text := range info.PodCIDRs {
		if refusal := network(fmt.Sprintf("%s.podCIDRs[%d]", field, i), text); refusal != "" {
			return refusal
		}
	}
	if w := info.WireGuard; w != nil && w.PublicKey != "" {
		if key, err := base64.StdEncoding.DecodeString(w.PublicKey); err != nil || len(key) != 32 {
			return fmt.Sprintf("%s.wireGuard.publicKey %q is not a public key of WireGuard: 32 bytes in base64", field, w.PublicKey)
		}
	}
	return ""
}

// network refuses networks that no cluster has. An empty text is none.
func network(field, text string) string {
	if text == "" {
		return ""
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() || p.Bits() < shortestNetwork || !p.Masked().Addr().IsGlobalUnicast() {
		return fmt.Sprintf("%s is %q; want an IPv4 network with a prefix of %d bits or more, such as 10.96.0.0/12", field, text, shortestNetwork)
	}
	return ""
}

// labelIdentityName is the name of the ResourceExport of a label identity.
func labelIdentityName(clusterID, label string) string {
	hash := sha1.Sum([]byte(label))
	return clusterID + "-" + hex.EncodeToString(hash[:])[:16]
}
