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
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// Bounds of a payload. An import contains the Endpoints of all members, and has to fit into one object.
const (
	maxObject    = 256 << 10
	maxPorts     = 100  // Kubernetes' limit for an EndpointSlice
	maxAddresses = 1000 // Kubernetes' limit for Endpoints, and for an EndpointSlice
	maxSubsets   = 100
	maxPortLists = 16 // of an import, in each member
	maxGateways  = 16
	maxNetworks  = 64
	maxLabel     = 16 << 10
)

// shortestNetwork is the smallest length of a prefix that a cluster can call its own: one of 0 would draw all traffic.
const shortestNetwork = 8

// payload says why the payload of a kind could not be imported. Policies and external entities are refused: nothing would act on them. Nothing
// acts on label identities either, but members of Antrea send them and do not need an answer.
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
	case v1alpha1.LabelIdentityKind:
		if spec.LabelIdentity == nil {
			return missing("labelIdentity")
		}
		return count("bytes", "spec.labelIdentity.normalizedLabel", len(spec.LabelIdentity.NormalizedLabel), maxLabel)
	}
	return fmt.Sprintf("spec.kind is %q, which this version does not exchange between clusters; it exchanges Service, Endpoints and ClusterInfo", spec.Kind)
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
	return ports("spec.service.serviceSpec.ports", converted)
}

// ports refuses a list that members would not import.
func ports(field string, list []v1alpha1.EndpointPort) string {
	if len(list) == 0 {
		return field + " is empty; a Service that clusters share has ports"
	}
	if refusal := count("ports", field, len(list), maxPorts); refusal != "" {
		return refusal
	}
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	names, numbers := map[string]bool{}, map[number]bool{}
	for i, p := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		if refusal := port(at, p.Name, p.Port, p.Protocol); refusal != "" {
			return refusal
		}
		n := number{p.Protocol, p.Port}
		if names[p.Name] || numbers[n] {
			return fmt.Sprintf("%s (name %q, port %d, protocol %s) has the name or the port of another one; want different ones", at, p.Name, p.Port, p.Protocol)
		}
		names[p.Name], numbers[n] = true, true
	}
	if len(list) > 1 && names[""] {
		return field + " has a port without a name; several ports need names"
	}
	return ""
}

func port(at, name string, number int32, protocol corev1.Protocol) string {
	switch {
	case number < 1 || number > 65535:
		return fmt.Sprintf("%s.port is %d; allowed: 1 to 65535", at, number)
	case name != "" && len(validation.IsDNS1123Label(name)) > 0:
		return fmt.Sprintf("%s.name %q is not a DNS-1123 label", at, name)
	}
	switch protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return ""
	}
	return fmt.Sprintf("%s.protocol is %q; allowed: TCP, UDP, SCTP", at, protocol)
}

func subsets(list []v1alpha1.EndpointSubset) string {
	const field = "spec.endpoints.subsets"
	addresses := 0
	for i := range list {
		addresses += len(list[i].Addresses)
	}
	if refusal := first(count("subsets", field, len(list), maxSubsets), count("addresses", field, addresses, maxAddresses)); refusal != "" {
		return refusal
	}
	for i := range list {
		if refusal := subset(fmt.Sprintf("%s[%d]", field, i), &list[i]); refusal != "" {
			return refusal
		}
	}
	return count("different lists of ports", field, portLists(list), maxPortLists)
}

func subset(at string, s *v1alpha1.EndpointSubset) string {
	if refusal := ports(at+".ports", s.Ports); refusal != "" {
		return refusal
	}
	for i := range s.Addresses {
		if refusal := address(fmt.Sprintf("%s.addresses[%d].ip", at, i), s.Addresses[i].IP); refusal != "" {
			return refusal
		}
	}
	return ""
}

// portLists returns the number of different lists of ports of subsets with addresses. Members make an EndpointSlice for each one.
func portLists(list []v1alpha1.EndpointSubset) int {
	lists := map[string]bool{}
	for i := range list {
		if len(list[i].Addresses) == 0 {
			continue
		}
		var ids []string
		for _, p := range list[i].Ports {
			ids = append(ids, fmt.Sprintf("%s %s %d", p.Name, p.Protocol, p.Port))
		}
		slices.Sort(ids)
		lists[strings.Join(ids, ",")] = true
	}
	return len(lists)
}

// address refuses addresses that other clusters cannot reach, or that Kubernetes refuses in an EndpointSlice.
func address(field, text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() || !a.IsGlobalUnicast() {
		return fmt.Sprintf("%s is %q; want a unicast IPv4 address, such as 10.96.0.10", field, text)
	}
	return ""
}

func clusterInfo(info *v1alpha1.ClusterInfo) string {
	const field = "spec.clusterInfo"
	if refusal := first(
		count("Gateways", field+".gatewayInfos", len(info.GatewayInfos), maxGateways),
		count("networks", field+".podCIDRs", len(info.PodCIDRs), maxNetworks),
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

// overlap refuses a Service network that overlaps another member's: the flows of the other clusters would lead to one of both.
func (c Config) overlap(spec *v1alpha1.ResourceExportSpec) (string, error) {
	own, err := netip.ParsePrefix(spec.ClusterInfo.ServiceCIDR)
	if err != nil {
		return "", nil // there is none
	}
	exports, err := c.Objects.ClusterInfos()
	if err != nil {
		return "", fmt.Errorf("reading the ResourceExports of kind ClusterInfo in Namespace %s: %w", c.Namespace, err)
	}
	for _, other := range exports {
		if other.Spec.ClusterInfo == nil || other.Spec.ClusterID == spec.ClusterID || other.DeletionTimestamp != nil {
			continue
		}
		if theirs, err := netip.ParsePrefix(other.Spec.ClusterInfo.ServiceCIDR); err == nil && theirs.Overlaps(own) {
			return fmt.Sprintf("spec.clusterInfo.serviceCIDR %s overlaps %s of member %q; the Service networks of a ClusterSet must not overlap", own, theirs, other.Spec.ClusterID), nil
		}
	}
	return "", nil
}

// labelIdentityName is the name of the ResourceExport of a label identity.
func labelIdentityName(clusterID, label string) string {
	hash := sha1.Sum([]byte(label))
	return clusterID + "-" + hex.EncodeToString(hash[:])[:16]
}
