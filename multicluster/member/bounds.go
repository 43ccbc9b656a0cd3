// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/endpoints"
)

// Bounds of what the leader may send; the bounds of Endpoints are in package endpoints.
const (
	maxServiceName = 63
	maxImports     = 10_000
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
	return endpoints.CheckPorts("spec.serviceImport.spec.ports", ports)
}

// checkEndpoints refuses Endpoints of which no EndpointSlices can be made.
func checkEndpoints(r *v1alpha1.ResourceImport) error {
	if err := checkNames(r); err != nil {
		return err
	}
	if r.Spec.Endpoints == nil {
		return errNoPayload
	}
	return endpoints.Check("spec.endpoints.subsets", r.Spec.Endpoints.Subsets)
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
