// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoints has the rules for Endpoints that clusters exchange. The leader's webhook refuses exports that break them, the leader leaves out older
// ones, and members refuse imports that do: an import has the Endpoints of all members.
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

// CheckPorts refuses ports that a Service cannot have. field is the place of the list in its object, for errors, here and below.
func CheckPorts(field string, ports []v1alpha1.EndpointPort) error {
	if len(ports) == 0 {
		return fmt.Errorf("%s is empty; a Service that clusters share has ports", field)
	}
	if len(ports) > maxPorts {
		return fmt.Errorf("%s has %d ports; allowed: %d", field, len(ports), maxPorts)
	}
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	names, numbers := map[string]bool{}, map[number]bool{}
	for i, p := range ports {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := checkPort(at, p); err != nil {
			return err
		}
		n := number{p.Protocol, p.Port}
		if names[p.Name] || numbers[n] {
			return fmt.Errorf("%s (name %q, port %d, protocol %s) has the name or the port of another one; want different ones", at, p.Name, p.Port, p.Protocol)
		}
		names[p.Name], numbers[n] = true, true
	}
	if len(ports) > 1 && names[""] {
		return fmt.Errorf("%s has a port without a name; several ports need names", field)
	}
	return nil
}

func checkPort(at string, p v1alpha1.EndpointPort) error {
	switch {
	case p.Port < 1 || p.Port > 65535:
		return fmt.Errorf("%s.port is %d; allowed: 1 to 65535", at, p.Port)
	case p.Name != "" && len(validation.IsDNS1123Label(p.Name)) > 0:
		return fmt.Errorf("%s.name %.100q is not a DNS-1123 label", at, p.Name)
	}
	switch p.Protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return nil
	}
	return fmt.Errorf("%s.protocol is %.20q; allowed: TCP, UDP, SCTP", at, p.Protocol)
}

// Check refuses subsets of which no EndpointSlices can be made.
func Check(field string, subsets []v1alpha1.EndpointSubset) error {
	addresses := 0
	for _, subset := range subsets {
		addresses += len(subset.Addresses)
	}
	if addresses > MaxAddresses {
		return fmt.Errorf("%s has %d addresses; allowed: %d", field, addresses, MaxAddresses)
	}
	for i, subset := range subsets {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := CheckPorts(at+".ports", subset.Ports); err != nil {
			return err
		}
		for j, a := range subset.Addresses {
			if _, err := Unicast(fmt.Sprintf("%s.addresses[%d].ip", at, j), a.IP); err != nil {
				return err
			}
		}
	}
	if n := len(ByPorts(subsets)); n > maxPortSets {
		return fmt.Errorf("%s has %d different lists of ports; allowed: %d", field, n, maxPortSets)
	}
	return nil
}

// Unicast reads an IPv4 address that a host outside of this one can have.
func Unicast(field, text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() || !addr.IsGlobalUnicast() {
		return netip.Addr{}, fmt.Errorf("%s is %.100q; want a unicast IPv4 address, such as 10.96.0.10", field, text)
	}
	return addr, nil
}
