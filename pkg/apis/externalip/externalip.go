// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalip reads the addresses of an ExternalIPPool, and what a Service says about its address of one. The annotations are Antrea's.
package externalip

import (
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

const (
	// PoolAnnotation is the annotation of a Service of type LoadBalancer with the name of its pool.
	PoolAnnotation = "service.antrea.io/external-ip-pool"
	// ShareAnnotation is the annotation, "true" or "false", of a Service that may have the same address as others that have it.
	ShareAnnotation = "service.antrea.io/allow-shared-load-balancer-ip"
)

// Pool returns the pool of which the Service wants an address; "" if it wants none.
func Pool(s *corev1.Service) string {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return ""
	}
	return s.Annotations[PoolAnnotation]
}

// Shares reports whether the Service may have the same address as others that share.
func Shares(s *corev1.Service) bool {
	shares, err := strconv.ParseBool(s.Annotations[ShareAnnotation])
	return err == nil && shares
}

// Address returns the address that the Service has; invalid if it has none.
func Address(s *corev1.Service) netip.Addr {
	if len(s.Status.LoadBalancer.Ingress) == 0 {
		return netip.Addr{}
	}
	addr, err := ParseAddr(s.Status.LoadBalancer.Ingress[0].IP)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}
