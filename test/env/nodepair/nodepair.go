// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodepair makes two Nodes out of network namespaces on the running kernel, joined by a wire (a veth pair), each with
// one Pod. The kernel's router and a VXLAN device replace Open vSwitch: they treat the packets of an established connection
// in the same way. A firewall mark stands in for the epoch.
//
// nodepair.go defines the addresses and the life of a pair, configure.go the devices and routes, direct.go the same without a tunnel,
// mark.go the rule that marks.
package nodepair

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// Names of the devices.
const (
	Uplink = "up0"  // a Node's end of the wire
	Tunnel = "vx0"  // a Node's VXLAN device
	PodIf  = "h0"   // the host side of the Pod's veth pair
	InPod  = "eth0" // the Pod's own side

	// Without a tunnel: the gateway's interface, and the other end of its veth pair, which belongs to the stand-in of Open vSwitch.
	GatewayIf = "gw0"
	SwitchIf  = "gw0p"
)

// TunnelPort is the UDP port of the VXLAN devices.
const TunnelPort = 4789

// WireMTU is the MTU of the wire.
const WireMTU = 1500

// Options say what is special about a pair.
type Options struct {
	// Inner6 and Outer6 choose IPv6 for the Pods and for the Nodes.
	Inner6, Outer6 bool
	// Bare leaves out Pods, tunnel and netfilter rules: only the wire with its two ends remains.
	Bare bool
	// Direct replaces the tunnel by routes: packets are on the wire as Pods send them. Inner6 and Outer6 must be the same.
	Direct bool
}

// Pair is two Nodes.
type Pair struct {
	Options
	Nodes [2]*Node
}

// Node is a Node's network namespace, and its Pod's. Each belongs to a thread.
type Node struct {
	// Pod is nil in a bare pair.
	Host, Pod        *proc.Thread
	PodIP, Transport netip.Addr
	// PodNetwork is the prefix that the other Node routes into the tunnel, or to this Node.
	PodNetwork netip.Prefix
	// Gateway is the MAC address that the Pod sends to, TunnelMAC the inner destination address of packets from the tunnel, or without
	// one the address of the gateway's interface.
	PodMAC, Gateway, UplinkMAC, TunnelMAC net.HardwareAddr
}

// New makes a pair. On error nothing is left.
func New(o Options) (_ *Pair, err error) {
	if o.Direct && o.Inner6 != o.Outer6 {
		return nil, fmt.Errorf("the options of a pair of Nodes are %+v: without a tunnel, Inner6 and Outer6 must be the same", o)
	}
	p := &Pair{Options: o}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	for i := range p.Nodes {
		if p.Nodes[i], err = newNode(i, o); err != nil {
			return nil, err
		}
	}
	a, b := p.Nodes[0], p.Nodes[1]
	wire := fmt.Sprintf("ip link add %s address %s type veth peer name %s address %s netns %d", Uplink, a.UplinkMAC, Uplink, b.UplinkMAC, b.Host.ID())
	if err := Run(a.Host, wire); err != nil {
		return nil, err
	}
	for i, n := range p.Nodes {
		if err := p.configure(n, p.Nodes[1-i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func newNode(i int, o Options) (*Node, error) {
	last := byte(i + 1)
	n := &Node{
		PodMAC: net.HardwareAddr{0x0a, 0, 0, 0, 0, last}, Gateway: net.HardwareAddr{0x0a, 0, 0, 0, 1, last},
		UplinkMAC: net.HardwareAddr{2, 0, 0, 0, 2, last}, TunnelMAC: net.HardwareAddr{2, 0, 0, 0, 3, last},
		PodIP: netip.AddrFrom4([4]byte{10, 10, last, 2}), PodNetwork: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 10, last, 0}), 24),
		Transport: netip.AddrFrom4([4]byte{192, 168, 77, byte(11 + i)}),
	}
	if o.Inner6 {
		n.PodIP = netip.MustParseAddr(fmt.Sprintf("fd00:10:%d::2", last))
		n.PodNetwork = netip.PrefixFrom(n.PodIP, 64).Masked()
	}
	if o.Outer6 {
		n.Transport = netip.MustParseAddr(fmt.Sprintf("fd00:77::%d", 11+i))
	}
	var err error
	if n.Host, err = NewNamespace(); err != nil {
		return nil, err
	}
	if !o.Bare {
		if n.Pod, err = NewNamespace(); err != nil {
			n.Host.Close()
			return nil, err
		}
	}
	return n, nil
}

// Close frees the namespaces, with everything in them, and ends the programs that were started in them.
func (p *Pair) Close() {
	for _, n := range p.Nodes {
		if n == nil {
			continue
		}
		n.Host.Close()
		if n.Pod != nil {
			n.Pod.Close()
		}
	}
}

// PodMTU is the wire's MTU without the tunnel's headers.
func (o Options) PodMTU() int {
	switch {
	case o.Direct:
		return WireMTU
	case o.Outer6:
		return WireMTU - 70
	}
	return WireMTU - 50
}

// PodZone is the conntrack zone of the Pods' connections. Without a tunnel the host has entries of its own, in zone 0.
func (o Options) PodZone() uint16 {
	if o.Direct {
		return 65520
	}
	return 0
}

// NewNamespace starts a thread in a network namespace of its own, with loopback up.
func NewNamespace() (*proc.Thread, error) {
	thread := proc.NewThread()
	err := thread.Do(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
	if err != nil {
		err = fmt.Errorf("new network namespace: %w", err)
	} else {
		err = Run(thread, "ip link set lo up")
	}
	if err != nil {
		thread.Close()
		return nil, err
	}
	return thread, nil
}

// Run runs a shell script in a namespace. The script stops at the first command that fails.
func Run(in proc.Doer, script string) error {
	return in.Do(func() error {
		out, err := exec.Command("sh", "-euc", script).CombinedOutput()
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", script, err), errors.New(string(out)))
		}
		return nil
	})
}
