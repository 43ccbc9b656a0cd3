// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// endInterval is the least time between two looks at all connections of the host; urgentInterval while some may leave by another subnet than they should.
const (
	endInterval    = 2 * time.Second
	urgentInterval = 200 * time.Millisecond
)

// connections ends connections of the host with a source that their packets should not have any more: the kernel keeps it while packets come,
// without a rule, even if another Node has the address by then. It looks several times, for as long as the datapath may set a former mark.
//
// A TCP connection keeps its source while this Node has the address, as in Antrea: its server knows no other. Others get the new one. TCP connections by
// another subnet than the Nodes' end too: without their mark, they would leave by the Nodes' own.
type connections struct {
	end func(zone uint16, ended func(*conntrack.Connection) bool) error
	// left are the addresses that this Node gives to no new connections any more. pods are the Pods with another Egress than before, by address.
	left map[netip.Addr]leftSource
	pods map[netip.Addr]sourceChange
	// last is the time of the last look. urgent is set if a separate subnet is concerned that it has not seen.
	last   time.Time
	urgent bool
	// excepted are destinations that Egresses left alone.
	excepted exceptions
}

// exceptions are destinations of Pods that flows of a former agent have led out with the Node's address, and the Egress sources of the Pods, by their
// addresses.
type exceptions struct {
	former, present []netip.Prefix
	sources         map[netip.Addr]netip.Addr
	until           time.Time
}

// concern reports whether only flows of the former agent left the destination alone.
func (e *exceptions) concern(destination netip.Addr) bool {
	return containsAddr(e.former, destination) && !containsAddr(e.present, destination)
}

func containsAddr(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// leftSource is the state of an address. While this Node has it, local is set and only connections that are not TCP end.
type leftSource struct {
	local bool
	// until is the time from which one more look is enough; zero after that.
	until time.Time
}

// sourceChange has the Egress address of a Pod before and after a change; invalid for the Node's.
type sourceChange struct {
	former, now netip.Addr
	// separate is set if packets with the former one left by another subnet than the Nodes'.
	separate bool
	until    time.Time
}

func newConnections(end func(uint16, func(*conntrack.Connection) bool) error) *connections {
	return &connections{end: end, left: map[netip.Addr]leftSource{}, pods: map[netip.Addr]sourceChange{}}
}

// leave notes that new connections do not get the address any more, by which packets left by another subnet than the Nodes' if separate is set.
func (c *connections) leave(addr netip.Addr, separate bool, now time.Time) {
	c.left[addr] = leftSource{local: !separate, until: now.Add(markRest)}
	c.urgent = c.urgent || separate
}

// change notes that a Pod has another Egress than before.
func (c *connections) change(pod []netip.Addr, former, sources []openflow.EgressSource, separate func(netip.Addr) bool, now time.Time) {
	for _, addr := range pod {
		had := sourceFor(addr, former)
		c.pods[addr] = sourceChange{had, sourceFor(addr, sources), separate(had), now.Add(markRest)}
		c.urgent = c.urgent || c.pods[addr].separate
	}
}

// sourceFor returns the source of the IP version of addr; invalid if there is none.
func sourceFor(addr netip.Addr, sources []openflow.EgressSource) netip.Addr {
	for _, s := range sources {
		if s.Addr.Is4() == addr.Is4() {
			return s.Addr
		}
	}
	return netip.Addr{}
}

// look ends what has to end. given are the addresses that new connections get, local the Node's. again is the time after which to look again; 0 if
// no connection can be left.
func (c *connections) look(now time.Time, given func(netip.Addr) bool, local sets.Set[netip.Addr]) (again time.Duration, err error) {
	due := len(c.pods) > 0 || len(c.excepted.sources) > 0
	for addr, l := range c.left {
		if given(addr) {
			delete(c.left, addr)
			continue
		}
		if l.local && !local.Has(addr) {
			l = leftSource{until: now.Add(markRest)}
			c.left[addr] = l
		}
		due = due || !l.until.IsZero()
	}
	interval := endInterval
	if c.urgent {
		interval = urgentInterval
	}
	switch wait := c.last.Add(interval).Sub(now); {
	case !due:
		return 0, nil
	case wait > 0:
		return wait, nil
	}
	if err := c.end(conntrack.HostZone, c.mustEnd); err != nil {
		return endInterval, err
	}
	c.last, c.urgent = now, false
	return c.settle(now), nil
}

// settle forgets what is done.
func (c *connections) settle(now time.Time) (again time.Duration) {
	for addr, l := range c.left {
		switch {
		case now.Before(l.until):
			again = endInterval
		case l.local:
			c.left[addr] = leftSource{local: true}
		default:
			delete(c.left, addr)
		}
	}
	if now.Before(c.excepted.until) {
		again = endInterval
	} else {
		c.excepted = exceptions{}
	}
	for addr, change := range c.pods {
		if now.Before(change.until) {
			again = endInterval
		} else {
			delete(c.pods, addr)
		}
	}
	return again
}

// mustEnd reports whether a connection has a source that its packets should not have.
func (c *connections) mustEnd(connection *conntrack.Connection) bool {
	pod, source := connection.Original.Source, connection.Reply.Destination
	if pod == source {
		return false // it is not translated
	}
	tcp := connection.Original.Protocol == unix.IPPROTO_TCP
	if l, left := c.left[source]; left && !(tcp && l.local) {
		return true
	}
	change, changed := c.pods[pod]
	switch {
	case !changed:
		wanted, ok := c.excepted.sources[pod]
		return ok && !tcp && source != wanted && c.excepted.concern(connection.Original.Destination)
	case tcp:
		return change.separate && source == change.former && source != change.now
	}
	return source != change.now && (change.now.IsValid() || source == change.former)
}
