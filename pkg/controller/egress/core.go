// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// holding is an address that an Egress has from a pool.
type holding struct {
	pool string
	addr netip.Addr
	// version is the object's version at which the address is written; empty if the object shows it. While it is the version of the
	// object, the result of the write is unknown.
	version string
}

// shown reports whether the object shows the address.
func (h holding) shown(e *v1beta1.Egress) bool {
	addr, err := parseAddr(e.Spec.EgressIP)
	return err == nil && addr == h.addr
}

// core remembers what was allocated: the objects show it later.
type core struct {
	held map[types.UID]holding
}

func newCore() core { return core{held: map[types.UID]holding{}} }

// addressChange is a new spec.egressIP of an Egress; an invalid address is none.
type addressChange struct {
	egress *v1beta1.Egress
	addr   netip.Addr
}

// statusChange has the conditions that an Egress ought to have.
type statusChange struct {
	egress     *v1beta1.Egress
	conditions []v1beta1.EgressCondition
}

// usageChange is the usage that the status of a pool ought to have.
type usageChange struct {
	pool  *v1beta1.ExternalIPPool
	usage v1beta1.IPPoolUsage
}

// plan has all writes that are due. An Egress is in one of the first two lists at most: its status follows when its address is written.
type plan struct {
	addresses []addressChange
	statuses  []statusChange
	usages    []usageChange
}

// planning is the state of one computation.
type planning struct {
	*core
	pools map[string]*pool
	// owners have the Egresses by address, failures the reasons why an Egress has none.
	owners   map[netip.Addr]*v1beta1.Egress
	failures map[types.UID]error
	// moved are the Egresses whose address has left their pool.
	moved map[types.UID]bool
}

// plan returns what has to be written so that all Egresses have addresses of their pools. It depends on the order of nothing but the
// creation of Egresses, and keeps what was allocated.
func (c *core) plan(egresses []*v1beta1.Egress, pools []*v1beta1.ExternalIPPool) plan {
	egresses = slices.SortedFunc(slices.Values(egresses), func(a, b *v1beta1.Egress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	p := &planning{
		core: c, pools: map[string]*pool{}, owners: map[netip.Addr]*v1beta1.Egress{}, failures: map[types.UID]error{}, moved: map[types.UID]bool{},
	}
	for _, source := range pools {
		p.pools[source.Name] = newPool(source)
	}
	p.forget(egresses)
	for _, step := range []func(*v1beta1.Egress, *pool){p.keep, p.claim, p.reserve, p.allocate} {
		for _, e := range egresses {
			if name := e.Spec.ExternalIPPool; name != "" {
				step(e, p.pools[name])
			}
		}
	}
	var out plan
	for _, e := range egresses {
		p.write(e, &out)
	}
	used := map[string]int64{}
	for _, h := range c.held {
		used[h.pool]++
	}
	for _, source := range slices.SortedFunc(slices.Values(pools), func(a, b *v1beta1.ExternalIPPool) int { return cmp.Compare(a.Name, b.Name) }) {
		usage := v1beta1.IPPoolUsage{Total: p.pools[source.Name].total(), Used: used[source.Name]}
		if source.Status.Usage != usage {
			out.usages = append(out.usages, usageChange{source, usage})
		}
	}
	return out
}

// forget releases the addresses of Egresses that were deleted, or that have another pool or none.
func (p *planning) forget(egresses []*v1beta1.Egress) {
	current := map[types.UID]*v1beta1.Egress{}
	for _, e := range egresses {
		current[e.UID] = e
	}
	for uid, h := range p.held {
		if e := current[uid]; e == nil || !h.unknown(e) && (e.Spec.ExternalIPPool != h.pool || p.pools[h.pool] == nil) {
			delete(p.held, uid)
		}
	}
}

// unknown reports whether the address may have been written to the object or not.
func (h holding) unknown(e *v1beta1.Egress) bool {
	return h.version == e.ResourceVersion && !h.shown(e)
}

// keep reserves what an Egress has, or will have when its object shows it. A write that was begun is finished, even if the pool has changed.
func (p *planning) keep(e *v1beta1.Egress, pool *pool) {
	h, found := p.held[e.UID]
	if !found {
		return
	}
	same := e.Spec.EgressIP == "" || h.shown(e)
	if h.unknown(e) || same && pool != nil && pool.contains(h.addr) {
		p.hold(e, h.pool, h.addr)
		return
	}
	p.moved[e.UID] = same
	delete(p.held, e.UID)
}

// claim gives an Egress the address that its object names.
func (p *planning) claim(e *v1beta1.Egress, pool *pool) {
	if _, held := p.held[e.UID]; held || pool == nil || e.Spec.EgressIP == "" || p.moved[e.UID] {
		return
	}
	addr, err := parseAddr(e.Spec.EgressIP)
	switch other := p.owners[addr]; {
	case err != nil:
		p.failures[e.UID] = fmt.Errorf("IP %s is not valid", e.Spec.EgressIP)
	case !pool.contains(addr):
		p.failures[e.UID] = fmt.Errorf("IP %s is not within the IP range of ExternalIPPool %s", addr, pool.name)
	case other != nil:
		p.failures[e.UID] = fmt.Errorf("IP %s is allocated to Egress %s", addr, other.Name)
	default:
		p.hold(e, pool.name, addr)
	}
}

// allocate gives an Egress that names no address a free one.
func (p *planning) allocate(e *v1beta1.Egress, pool *pool) {
	if _, held := p.held[e.UID]; held || pool == nil || e.Spec.EgressIP != "" && !p.moved[e.UID] {
		return
	}
	addr, err := pool.free(func(addr netip.Addr) bool { return p.owners[addr] != nil })
	if err != nil {
		p.failures[e.UID] = err
		return
	}
	p.hold(e, pool.name, addr)
}

// reserve keeps an address from being allocated as long as an object shows it.
func (p *planning) reserve(e *v1beta1.Egress, _ *pool) {
	if addr, err := parseAddr(e.Spec.EgressIP); err == nil && p.owners[addr] == nil {
		p.owners[addr] = e
	}
}

func (p *planning) hold(e *v1beta1.Egress, pool string, addr netip.Addr) {
	p.owners[addr] = e
	h := holding{pool: pool, addr: addr}
	if !h.shown(e) {
		h.version = e.ResourceVersion
	}
	p.held[e.UID] = h
}

// write adds what has to be written for an Egress.
func (p *planning) write(e *v1beta1.Egress, out *plan) {
	name := e.Spec.ExternalIPPool
	h, held := p.held[e.UID]
	missing := name != "" && p.pools[name] == nil
	switch {
	case held && !h.shown(e):
		out.addresses = append(out.addresses, addressChange{e, h.addr})
		return
	case !held && e.Spec.EgressIP != "" && (missing || p.moved[e.UID]):
		out.addresses = append(out.addresses, addressChange{e, netip.Addr{}})
		return
	case missing:
		p.failures[e.UID] = fmt.Errorf("ExternalIPPool %s does not exist", name)
	}
	if conditions := conditionsOf(e, p.failures[e.UID]); !slices.Equal(conditions, e.Status.Conditions) {
		out.statuses = append(out.statuses, statusChange{e, conditions})
	}
}

// Reasons and messages of conditions.
const (
	allocated         = "Allocated"
	allocatedMessage  = "EgressIP is successfully allocated"
	allocationError   = "AllocationError"
	allocationMessage = "Cannot allocate EgressIP from ExternalIPPool: "
)

// conditionsOf returns the conditions that an Egress ought to have. Times are not set for those that are new.
func conditionsOf(e *v1beta1.Egress, failure error) []v1beta1.EgressCondition {
	conditions := slices.DeleteFunc(slices.Clone(e.Status.Conditions), func(c v1beta1.EgressCondition) bool {
		return e.Spec.ExternalIPPool == "" && c.Type == v1beta1.IPAllocated
	})
	if e.Spec.ExternalIPPool == "" {
		return conditions
	}
	wanted := v1beta1.EgressCondition{Type: v1beta1.IPAllocated, Status: corev1.ConditionTrue, Reason: allocated, Message: allocatedMessage}
	if failure != nil {
		wanted.Status, wanted.Reason, wanted.Message = corev1.ConditionFalse, allocationError, allocationMessage+failure.Error()
	}
	i := slices.IndexFunc(conditions, func(c v1beta1.EgressCondition) bool { return c.Type == v1beta1.IPAllocated })
	if i < 0 {
		return append(conditions, wanted)
	}
	if conditions[i].Status == wanted.Status {
		wanted.LastTransitionTime = conditions[i].LastTransitionTime
	}
	conditions[i] = wanted
	return conditions
}
