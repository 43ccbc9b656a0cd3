// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// unknownPatience is the time for which the members may be unknown before Egresses without a Node say so: agents that start do not know them at first.
const unknownPatience = 15 * time.Second

// ErrMembersUnknown is the reason of a Node that does not know who could have an address. The reason of a Node that knows takes precedence.
var ErrMembersUnknown = errors.New("does not know which Nodes are alive")

// handover is the time for which a Node waits for another one that is alive to give up an address.
const handover = 700 * time.Millisecond

// input is all that a decision depends on.
type input struct {
	node     string
	egresses []*v1beta1.Egress
	pools    map[string]*v1beta1.ExternalIPPool
	// separate is set if pools may have subnets of their own.
	separate bool
	members  *memberlist.Snapshot
	// limit is the number of addresses that a Node may have.
	limit func(node string) int
	// refuse returns why no Node may take an address, nil if one may.
	refuse func(netip.Addr) error
	// places are the addresses of pools that this Node has.
	places map[netip.Addr]place
	// waiting has the time since which this Node waits for an address.
	waiting map[netip.Addr]time.Time
	now     time.Time
	// unknownSince is the time since which the members are unknown. ready are the Nodes that are ready.
	unknownSince time.Time
	ready        []string
}

// decision lists the steps of this Node.
type decision struct {
	add, remove []netip.Addr
	// subnets are the subnets of the addresses that this Node should have.
	subnets map[netip.Addr]config.EgressSubnet
	// waiting replaces the input's. again is the time after which to decide again; 0 if only events matter.
	waiting map[netip.Addr]time.Time
	again   time.Duration
	// failures says why an Egress has no Node, for those that this Node has to report.
	failures map[string]error
}

// pooled returns the address of an Egress with a pool; invalid if it has none, or one that the controller has not given it: an address outside of the pool, or of
// another object.
func pooled(e *v1beta1.Egress) netip.Addr {
	refused := slices.ContainsFunc(e.Status.Conditions, func(c v1beta1.EgressCondition) bool {
		return c.Type == v1beta1.IPAllocated && c.Status == corev1.ConditionFalse
	})
	if e.Spec.ExternalIPPool == "" || refused {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(e.Spec.EgressIP)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// decide returns what this Node has to do. A Node takes an address once the one that has it has given it up, has ended, or does not answer for the
// time of a handover. While the members are unknown, it takes none, and keeps those that Egresses say it has.
func decide(in input) *decision {
	d := &decision{waiting: map[netip.Addr]time.Time{}, failures: map[string]error{}, subnets: map[netip.Addr]config.EgressSubnet{}}
	mine := sets.New[netip.Addr]()
	if in.members.Unknown != nil {
		for _, e := range in.egresses {
			if addr := pooled(e); addr.IsValid() && e.Status.EgressNode == in.node {
				mine.Insert(addr)
			}
		}
	} else {
		mine = d.own(in)
	}
	present := sets.KeySet(in.places)
	d.remove = sortedAddrs(present.Difference(mine))
	if in.members.Unknown != nil {
		d.reportUnknown(in)
		return d
	}
	for addr, at := range in.places {
		if mine.Has(addr) && at != placeOf(addr, d.subnets[addr]) {
			d.remove = append(d.remove, addr) // it comes back at its place
			present.Delete(addr)
		}
	}
	for _, addr := range sortedAddrs(mine.Difference(present)) {
		if !in.held(addr) {
			d.add = append(d.add, addr)
			continue
		}
		since, ok := in.waiting[addr]
		if !ok {
			since = in.now
		}
		left := since.Add(handover).Sub(in.now)
		if left <= 0 {
			d.add = append(d.add, addr)
			continue
		}
		d.waiting[addr] = since
		if d.again == 0 || left < d.again {
			d.again = left
		}
	}
	return d
}

// reportUnknown records that Egresses have no Node because the members are unknown, for those that this Node reports. Nodes that know them give
// addresses Nodes, or report themselves; their reason stays.
func (d *decision) reportUnknown(in input) {
	if left := in.unknownSince.Add(unknownPatience).Sub(in.now); left > 0 {
		d.again = left
		return
	}
	for _, e := range in.egresses {
		if pooled(e).IsValid() && e.Status.EgressNode == "" && Reporter(in.ready, e.Name) == in.node {
			d.failures[e.Name] = fmt.Errorf("the agent of Node %s %w: %w", in.node, ErrMembersUnknown, in.members.Unknown)
		}
	}
}

// withPools returns the Egresses that have an address of a pool.
func withPools(egresses []*v1beta1.Egress) (found []Egress) {
	for _, e := range egresses {
		if addr := pooled(e); addr.IsValid() {
			found = append(found, Egress{e.Name, e.CreationTimestamp.Time, e.Spec.ExternalIPPool, addr})
		}
	}
	return found
}

// own returns the addresses that this Node should have, and records the failures.
func (d *decision) own(in input) sets.Set[netip.Addr] {
	scheduled := withPools(in.egresses)
	nodes := Schedule(scheduled, in.members.Rings, in.limit)
	mine := sets.New[netip.Addr]()
	for _, e := range scheduled {
		node, ok := nodes[e.Name]
		subnet, refused := in.refused(e)
		switch {
		case !ok && in.held(e.Addr):
			// An administrator has given it to a Node.
		case !ok:
			// One Node reports it: any that all agree on.
			if reporter, err := in.members.Owner("", e.Addr, nil); err == nil && reporter == in.node {
				_, reason := in.members.Owner(e.Pool, e.Addr, func(node string) bool { return in.limit(node) > 0 })
				if reason == nil {
					reason = memberlist.ErrNoNode // all are full
				}
				d.failures[e.Name] = reason
			}
		case node != in.node:
		case refused != nil:
			d.failures[e.Name] = refused
		default:
			mine.Insert(e.Addr)
			d.subnets[e.Addr] = subnet
		}
	}
	return mine
}

// refused returns the subnet of an Egress, or why no Node may have its address.
func (in input) refused(e Egress) (config.EgressSubnet, error) {
	pool := in.pools[e.Pool]
	if pool == nil {
		return config.EgressSubnet{}, errors.New("its ExternalIPPool does not exist")
	}
	subnet, err := SubnetOf(pool, in.separate)
	if err == nil {
		err = in.refuse(e.Addr)
	}
	return subnet, err
}

// held reports whether another Node that is alive has the address as far as Egresses say.
func (in input) held(addr netip.Addr) bool {
	return slices.ContainsFunc(in.egresses, func(e *v1beta1.Egress) bool {
		holder := e.Status.EgressNode
		return pooled(e) == addr && holder != "" && holder != in.node && sameAddr(e.Status.EgressIP, addr) && in.members.Alive.Has(holder)
	})
}

func sameAddr(text string, addr netip.Addr) bool {
	parsed, err := netip.ParseAddr(text)
	return err == nil && parsed.Unmap() == addr
}

func sortedAddrs(addrs sets.Set[netip.Addr]) []netip.Addr {
	return slices.SortedFunc(slices.Values(addrs.UnsortedList()), netip.Addr.Compare)
}
