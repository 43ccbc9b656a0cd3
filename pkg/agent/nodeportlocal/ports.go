// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"
)

// Range is the range of ports of the Node that may lead to Pods. Reserved ports are never used.
type Range struct {
	First, Last uint16
	Reserved    []uint16
}

func (r Range) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

func (r Range) has(number uint16) bool {
	for _, reserved := range r.Reserved {
		if number == reserved {
			return false
		}
	}
	return number >= r.First && number <= r.Last
}

// owner identifies a port of a Pod, of one IP version, to which a port of the Node leads.
type owner struct {
	pod    types.NamespacedName
	family string
	podPort
}

// nodePort is a port of the Node. Protocols and IP versions have numbers of their own.
type nodePort struct {
	family, protocol string
	number           uint16
}

// ports numbers ports of the Node, and holds them.
type ports struct {
	Range
	bind func(nodePort) (io.Closer, error)

	owners map[nodePort]owner
	held   map[owner]uint16
	socket map[nodePort]io.Closer
	// next is the first port to try, by IP version.
	next map[string]uint16
	// full are the failures of the present plan, by IP version and protocol.
	full map[nodePort]error
}

func newPorts(r Range, bind func(nodePort) (io.Closer, error)) *ports {
	return &ports{Range: r, bind: bind, owners: map[nodePort]owner{}, held: map[owner]uint16{}, socket: map[nodePort]io.Closer{},
		next: map[string]uint16{familyIPv4: r.First, familyIPv6: r.First}, full: map[nodePort]error{}}
}

// adopt gives an owner that has no port the number if that is free.
func (p *ports) adopt(o owner, number uint16) bool {
	port := nodePort{o.family, o.protocol, number}
	if _, taken := p.owners[port]; taken || p.held[o] != 0 || !p.has(number) {
		return false
	}
	socket, err := p.bind(port)
	if err != nil {
		return false
	}
	p.owners[port], p.held[o], p.socket[port] = o, number, socket
	return true
}

// take returns the port of an owner, which is the next free one if it has none.
func (p *ports) take(o owner) (uint16, error) {
	if number := p.held[o]; number != 0 {
		return number, nil
	}
	kind := nodePort{family: o.family, protocol: o.protocol}
	if err := p.full[kind]; err != nil {
		return 0, err
	}
	number := p.next[o.family]
	for range int(p.Last) - int(p.First) + 1 {
		candidate := number
		if number++; candidate == p.Last {
			number = p.First
		}
		if p.adopt(o, candidate) {
			p.next[o.family] = number
			return candidate, nil
		}
	}
	p.full[kind] = fmt.Errorf("all %s %s ports of nodePortLocal.portRange %s are in use on the Node: want a larger range, or fewer ports of Services with the annotation %s",
		o.family, o.protocol, p.Range, ServiceAnnotation)
	return 0, p.full[kind]
}

// keep gives up the ports of all owners but these.
func (p *ports) keep(owners map[owner]bool) {
	for port, o := range p.owners {
		if owners[o] {
			continue
		}
		_ = p.socket[port].Close()
		delete(p.socket, port)
		delete(p.owners, port)
		delete(p.held, o)
	}
}
