// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnelprobe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// ReasonUnreachable is the problem of a Node whose gateway does not answer through the tunnel; of this Node, if no
// other Node does.
const ReasonUnreachable problem.Reason = "NodeUnreachable"

// peersInterval is the time between two looks at which Nodes there are.
const peersInterval = 5 * time.Second

// Config configures a Probe.
type Config struct {
	// NodeName is the name of this Node, Gateways the addresses of its gateway.
	NodeName string
	Gateways []netip.Addr
	// Peers lists the other Nodes that are ready, with an address of a family in Gateways.
	Peers func() []Peer
	// Proof returns the gateway of a peer that has answered an earlier agent, SetProof replaces it.
	Proof    func() netip.Addr
	SetProof func(gateway netip.Addr)
	Problems problem.Reporter
}

// Probe asks other Nodes. Make it with New, and run it.
type Probe struct {
	config Config
	core   *core
	id     uint16
	// sockets are by family, IPv6 or not; missing while they cannot be opened.
	sockets  map[bool]*socket
	answers  chan netip.Addr
	failed   chan *socket
	sequence uint16
	// reported are the Nodes with a problem.
	reported map[string]bool
}

// New returns a Probe that does nothing before Run.
func New(c Config) *Probe {
	random := make([]byte, 2)
	// Read never fails (crypto/rand).
	_, _ = rand.Read(random)
	return &Probe{
		config: c, id: binary.BigEndian.Uint16(random), sockets: map[bool]*socket{}, answers: make(chan netip.Addr, 16),
		failed: make(chan *socket), reported: map[string]bool{},
	}
}

// Run asks until ctx ends.
func (p *Probe) Run(ctx context.Context) {
	p.core = newCore(time.Now(), p.config.Proof())
	defer p.closeSockets()
	tick := time.NewTicker(round)
	defer tick.Stop()
	var listed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case from := <-p.answers:
			if p.core.answer(time.Now(), from) {
				p.config.SetProof(from)
			}
		case s := <-p.failed:
			p.drop(s)
		case now := <-tick.C:
			if now.Sub(listed) >= peersInterval {
				p.core.setPeers(p.config.Peers())
				listed = now
			}
			p.openSockets(ctx)
			for _, peer := range p.core.ask(now) {
				p.ask(peer)
			}
			p.report(p.core.verdict(now))
		}
	}
}

func (p *Probe) ask(peer Peer) {
	s := p.sockets[peer.Gateway.Is6()]
	if s == nil {
		return
	}
	p.sequence++
	if err := s.send(peer.Gateway, p.sequence); err != nil {
		klog.V(2).InfoS("Could not ask a Node through the tunnel", "node", peer.Name, "gateway", peer.Gateway, "reason", err)
	}
}

// openSockets opens those that are missing: one can be opened only while the gateway has its address.
func (p *Probe) openSockets(ctx context.Context) {
	for _, address := range p.config.Gateways {
		if p.sockets[address.Is6()] != nil {
			continue
		}
		s, err := newSocket(address, p.id)
		if err != nil {
			klog.V(2).InfoS("Could not ask Nodes through the tunnel", "reason", err)
			continue
		}
		p.sockets[address.Is6()] = s
		go p.receive(ctx, s)
	}
}

func (p *Probe) receive(ctx context.Context, s *socket) {
	for {
		from, err := s.receive()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			klog.V(2).InfoS("Could not receive answers through the tunnel", "reason", err)
			select {
			case p.failed <- s:
			case <-ctx.Done():
			}
			return
		}
		select {
		case p.answers <- from:
		case <-ctx.Done():
			return
		}
	}
}

// drop closes a socket that cannot receive. The next round opens another one.
func (p *Probe) drop(s *socket) {
	s.close()
	maps.DeleteFunc(p.sockets, func(_ bool, open *socket) bool { return open == s })
}

func (p *Probe) closeSockets() {
	for _, s := range p.sockets {
		p.drop(s)
	}
}

// report makes problems of the verdict, and ends those that it no longer has.
func (p *Probe) report(missed []string, alone bool) {
	now := map[string]string{}
	for _, name := range missed {
		now[name] = "its gateway no longer answers echo requests through the tunnel, although the Node is ready: packets between its Pods and this Node's " +
			"may be lost; look at the problems and logs of its agent, and at firewalls between the Nodes"
	}
	if alone {
		now[p.config.NodeName] = "no other Node answers echo requests through the tunnel: packets between Pods of this Node and of others may be lost; look at the other " +
			"problems of this Node, and at firewalls that drop tunnel packets, or ICMP from the gateway"
	}
	for name := range p.reported {
		if now[name] == "" {
			delete(p.reported, name)
			p.config.Problems.Resolve(ReasonUnreachable, subject(name))
		}
	}
	for name, message := range now {
		p.reported[name] = true
		p.config.Problems.Report(ReasonUnreachable, subject(name), fmt.Sprintf("Node %s: %s", name, message))
	}
}

func subject(node string) problem.Subject { return problem.Subject{Kind: "Node", Name: node} }
