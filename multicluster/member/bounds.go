// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// Bounds of what the leader may send. EndpointSlices have at most 1,000 endpoints and 100 ports in Kubernetes.
const (
	maxServiceName = 63
	maxImports     = 10_000
	maxPorts       = 100
	maxAddresses   = 1000
	maxPortSets    = 16
	// A Service network may have a mask of minServiceBits to 32 bits: a shorter one would draw the traffic of half the Internet to a Gateway.
	minServiceBits = 8
)

var errNoPayload = errors.New("it has no payload of its kind")

// checkNames refuses what does not name a Service that can be derived.
func checkNames(r *v1alpha1.ResourceImport) error {
	kind := r.Spec.Kind
	if kind == v1alpha1.ServiceImportKind {
		kind = v1alpha1.ServiceKind
	}
	if problems := validation.IsDNS1123Label(r.Spec.Namespace); len(problems) > 0 {
		return fmt.Errorf("spec.namespace is %.100q: %s", r.Spec.Namespace, problems[0])
	}
	if problems := validation.IsDNS1035Label(v1alpha1.ImportedName(r.Spec.Name)); len(problems) > 0 {
		return fmt.Errorf("spec.name is %.100q, the Service would be called %.100q: %s", r.Spec.Name, v1alpha1.ImportedName(r.Spec.Name), problems[0])
	}
	if want := v1alpha1.ImportName(r.Spec.Namespace, r.Spec.Name, kind); r.Name != want {
		return fmt.Errorf("metadata.name must be %s", want)
	}
	return nil
}

// checkService refuses a ServiceImport of which no Service can be made.
func checkService(r *v1alpha1.ResourceImport) error {
	if err := checkNames(r); err != nil {
		return err
	}
	if r.Spec.ServiceImport == nil {
		return errNoPayload
	}
	spec := r.Spec.ServiceImport.Spec
	if spec.Type != mcs.ClusterSetIP {
		return fmt.Errorf("spec.serviceImport.spec.type is %.20q, supported: %s", spec.Type, mcs.ClusterSetIP)
	}
	ports := make([]v1alpha1.EndpointPort, len(spec.Ports))
	for i, p := range spec.Ports {
		ports[i] = v1alpha1.EndpointPort{Name: p.Name, Port: p.Port, Protocol: p.Protocol}
	}
	return checkPorts(ports)
}

// checkPorts refuses ports that Kubernetes would not accept for a Service.
func checkPorts(ports []v1alpha1.EndpointPort) error {
	if len(ports) == 0 || len(ports) > maxPorts {
		return fmt.Errorf("it has %d ports, allowed: 1 to %d", len(ports), maxPorts)
	}
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	names, numbers := map[string]bool{}, map[number]bool{}
	for _, p := range ports {
		switch p.Protocol {
		case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		default:
			return fmt.Errorf("port %d has protocol %.20q, allowed: TCP, UDP, SCTP", p.Port, p.Protocol)
		}
		if p.Port < 1 || p.Port > 65535 {
			return fmt.Errorf("it has port %d, allowed: 1 to 65535", p.Port)
		}
		if p.Name == "" && len(ports) > 1 {
			return fmt.Errorf("port %d has no name, and there are others", p.Port)
		}
		if problems := validation.IsDNS1123Label(p.Name); p.Name != "" && len(problems) > 0 {
			return fmt.Errorf("port %d has name %.100q: %s", p.Port, p.Name, problems[0])
		}
		n := number{p.Protocol, p.Port}
		if names[p.Name] || numbers[n] {
			return fmt.Errorf("two ports have name %q, or are %s %d", p.Name, p.Protocol, p.Port)
		}
		names[p.Name], numbers[n] = true, true
	}
	return nil
}

// checkEndpoints refuses Endpoints of which no EndpointSlices can be made.
func checkEndpoints(r *v1alpha1.ResourceImport) error {
	if err := checkNames(r); err != nil {
		return err
	}
	if r.Spec.Endpoints == nil {
		return errNoPayload
	}
	addresses := 0
	for _, subset := range r.Spec.Endpoints.Subsets {
		if err := checkPorts(subset.Ports); err != nil {
			return err
		}
		for _, a := range subset.Addresses {
			if _, err := unicast(a.IP); err != nil {
				return err
			}
		}
		addresses += len(subset.Addresses)
	}
	if groups := byPorts(r.Spec.Endpoints.Subsets); len(groups) > maxPortSets || addresses > maxAddresses {
		return fmt.Errorf("it has %d addresses and %d lists of ports, allowed: %d and %d", addresses, len(groups), maxAddresses, maxPortSets)
	}
	return nil
}

// unicast reads an IPv4 address that a host outside of this one can have.
func unicast(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() || !addr.IsGlobalUnicast() {
		return netip.Addr{}, fmt.Errorf("%.100q is not an IPv4 address of a host", text)
	}
	return addr, nil
}

// network reads an IPv4 prefix that has no bits beyond its mask.
func network(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4() || prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("%.100q is not a network of IPv4, such as 10.96.0.0/12", text)
	}
	if prefix.Bits() < minServiceBits || !prefix.Addr().IsGlobalUnicast() {
		return netip.Prefix{}, fmt.Errorf("network %s is not one of hosts with a mask of %d bits at least", prefix, minServiceBits)
	}
	return prefix, nil
}
