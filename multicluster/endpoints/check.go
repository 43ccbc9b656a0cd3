// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoints has the rules for Endpoints that clusters exchange. The leader leaves out exports that break them, and members refuse imports
// that do: an import has the Endpoints of all members.
package endpoints

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// Bounds of an import. EndpointSlices have at most 1,000 endpoints and 100 ports in Kubernetes.
const (
	MaxAddresses = 1000
	maxPorts     = 100
	maxPortSets  = 16
)

// CheckPorts refuses ports that Kubernetes would not accept for a Service.
func CheckPorts(ports []v1alpha1.EndpointPort) error {
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

// Check refuses subsets of which no EndpointSlices can be made.
func Check(subsets []v1alpha1.EndpointSubset) error {
	addresses := 0
	for _, subset := range subsets {
		if err := CheckPorts(subset.Ports); err != nil {
			return err
		}
		for _, a := range subset.Addresses {
			if _, err := Unicast(a.IP); err != nil {
				return err
			}
		}
		addresses += len(subset.Addresses)
	}
	if groups := ByPorts(subsets); len(groups) > maxPortSets || addresses > MaxAddresses {
		return fmt.Errorf("it has %d addresses and %d lists of ports, allowed: %d and %d", addresses, len(groups), MaxAddresses, maxPortSets)
	}
	return nil
}

// Unicast reads an IPv4 address that a host outside of this one can have.
func Unicast(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() || !addr.IsGlobalUnicast() {
		return netip.Addr{}, fmt.Errorf("%.100q is not an IPv4 address of a host", text)
	}
	return addr, nil
}
