// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

// families says of which IP versions an address may be.
type families struct{ v4, v6 bool }

var anyFamily = families{true, true}

func (f families) accept(addr netip.Addr) bool { return addr.Is4() && f.v4 || addr.Is6() && f.v6 }

// claimant is an Egress or a Service. One of the two is nil.
type claimant struct {
	metav1.Object
	egress  *v1beta1.Egress
	service *corev1.Service

	kind, name string
	// pool is the pool of which it wants an address; empty if it wants none.
	pool string
	// asks is the address that it asks for, if it asks for one. An Egress may ask for what was allocated to it before.
	asks string
	// shows is the address that it shows to have; invalid if it shows none.
	shows    netip.Addr
	families families
	// shares is set if it may have the same address as others that share.
	shares bool
	// passive claimants get nothing and are not written. They keep the address that they show: with their feature gate on, they have it again.
	passive bool
}

// egressClaimant reads an Egress, which has no effect unless enabled is set.
func egressClaimant(e *v1beta1.Egress, enabled bool) *claimant {
	c := &claimant{Object: e, egress: e, kind: v1beta1.EgressKind, name: e.Name, families: anyFamily, passive: !enabled}
	if addr, err := externalip.ParseAddr(e.Spec.EgressIP); err == nil && e.Spec.ExternalIPPool != "" {
		c.shows = addr
	}
	if enabled {
		c.pool, c.asks = e.Spec.ExternalIPPool, e.Spec.EgressIP
	}
	return c
}

// serviceClaimant reads a Service, which has no effect unless enabled is set, but for the address that it shows to have from a pool.
func serviceClaimant(s *corev1.Service, enabled bool) *claimant {
	c := &claimant{
		Object: s, service: s, kind: "Service", name: s.Namespace + "/" + s.Name, asks: s.Spec.LoadBalancerIP,
		families: anyFamily, shares: externalip.Shares(s), passive: !enabled,
	}
	pool := externalip.Pool(s)
	if enabled {
		c.pool = pool
	}
	if enabled || pool != "" {
		c.shows = externalip.Address(s)
	}
	if len(s.Spec.IPFamilies) > 0 {
		c.families = families{slices.Contains(s.Spec.IPFamilies, corev1.IPv4Protocol), slices.Contains(s.Spec.IPFamilies, corev1.IPv6Protocol)}
	}
	return c
}

// before orders claimants: the oldest is first.
func (c *claimant) before(other *claimant) int {
	return cmp.Or(
		c.GetCreationTimestamp().Compare(other.GetCreationTimestamp().Time), cmp.Compare(c.kind, other.kind), cmp.Compare(c.name, other.name))
}

// asksFor reports whether the claimant would take the address.
func (c *claimant) asksFor(addr netip.Addr) bool {
	asked, err := externalip.ParseAddr(c.asks)
	return c.asks == "" || err == nil && asked == addr
}

// reserves reports whether no other claimant is given what this one shows.
func (c *claimant) reserves() bool { return c.pool != "" || c.service != nil || c.passive }

// showsAnything reports whether the object has an address, or a name, that may have to go.
func (c *claimant) showsAnything() bool {
	if c.service != nil {
		return len(c.service.Status.LoadBalancer.Ingress) > 0
	}
	return c.egress.Spec.EgressIP != ""
}
