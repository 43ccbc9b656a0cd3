// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// frontendKey identifies a frontend: the switch can translate packets to it in one way only.
type frontendKey struct {
	protocol corev1.Protocol
	address  netip.AddrPort
	nodePort bool
}

func keyOf(protocol corev1.Protocol, f openflow.Frontend) frontendKey {
	return frontendKey{protocol, f.Address, f.NodePort}
}

// claim is a Service's wish to have a frontend.
type claim struct {
	service key
	rank    rank
	created int64
}

// compare orders the claims of one frontend; the first one is fulfilled. The order depends on the objects alone, so it is the
// same on all Nodes and after a restart.
func (c claim) compare(d claim) int {
	return cmp.Or(cmp.Compare(c.rank, d.rank), cmp.Compare(c.created, d.created),
		strings.Compare(c.service.Namespace, d.service.Namespace), strings.Compare(c.service.Name, d.service.Name))
}

// claims has all claims of each frontend, in their order. A Service has at most one for each.
type claims map[frontendKey][]claim

// owner returns the Service that gets the frontend.
func (c claims) owner(k frontendKey) key {
	if len(c[k]) == 0 {
		return key{}
	}
	return c[k][0].service
}

// add and remove change a claim. If another Service gets the frontend by that, they call changed with all that have a claim.
func (c claims) add(k frontendKey, added claim, changed func(key)) {
	former := c.owner(k)
	i, _ := slices.BinarySearchFunc(c[k], added, claim.compare)
	c[k] = slices.Insert(c[k], i, added)
	c.notify(k, former, changed)
}

func (c claims) remove(k frontendKey, removed claim, changed func(key)) {
	former := c.owner(k)
	i, found := slices.BinarySearchFunc(c[k], removed, claim.compare)
	if !found {
		return
	}
	if len(c[k]) == 1 {
		delete(c, k)
	} else {
		c[k] = slices.Delete(c[k], i, i+1)
	}
	c.notify(k, former, changed)
}

func (c claims) notify(k frontendKey, former key, changed func(key)) {
	if c.owner(k) == former {
		return
	}
	for _, other := range c[k] {
		changed(other.service)
	}
}

// claims calls do with each claim of the Service.
func (s *service) claims(do func(frontendKey, claim)) {
	for i := range s.ports {
		for _, frontends := range s.ports[i].frontends {
			for _, f := range frontends {
				do(keyOf(s.ports[i].protocol, f.Frontend), claim{s.key, f.rank, s.created})
			}
		}
	}
}
