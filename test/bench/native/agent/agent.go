// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent runs the product's cache (oncache.Manager, its eBPF programs and maps) on a Node without Open vSwitch, in a
// process of its own: the manager works in the network namespace of its process.
//
// agent.go is the process, world.go replaces the agent's other parts for the manager, fill.go fills the maps, and client.go
// is the other end of the socket.
package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/rpc"
	"os"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
)

// lease is the default of the agent's configuration.
const lease = 5 * time.Second

// peer is the name of the other Node.
const peer = "peer"

// Ports of the bridge, which stands for nothing here.
const (
	podPort     = 1
	gatewayPort = 2
)

// Config is the Node that the cache is for. It is passed as JSON on the command line.
type Config struct {
	// Socket is the process's socket; PinPath a directory for the maps on a bpffs.
	Socket, PinPath string
	MaxFlows        uint32
	PodIP           netip.Addr
	PodMAC, Gateway net.HardwareAddr
	VirtualMAC      net.HardwareAddr
	Transport       netip.Addr
	Peer            netip.Addr
	PeerNetwork     netip.Prefix
	// Service is the address of a Service with an Endpoint on the other Node; the zero Addr if there is none.
	Service netip.Addr
	// Direct: the Nodes route packets to each other without a tunnel.
	Direct bool
	// RewritePort is the port of rewritten packets; 0 if hits are encapsulated.
	RewritePort uint16
}

// Agent has the methods that the other end of the socket calls (net/rpc).
type Agent struct {
	config  Config
	world   *world
	manager *oncache.Manager
}

// Run starts the cache in enforcing mode and answers until ctx ends.
func Run(ctx context.Context, c Config) error {
	listener, err := net.Listen("unix", c.Socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	defer os.Remove(c.Socket)
	w := newWorld(c)
	config := oncache.Config{
		PinPath: c.PinPath, MaxFlows: c.MaxFlows, IPv6: c.PodIP.Is6(), Lease: lease, Mode: datapath.ModeEnforce,
		DatapathExists: func() (bool, error) { return true, nil }, // the kernel's router stands in for it
		Rewrite:        c.RewritePort != 0, RewritePort: c.RewritePort,
		Uplink: nodepair.Uplink, TunnelType: "vxlan", TunnelPort: nodepair.TunnelPort, TunnelDevice: nodepair.Tunnel, GatewayMAC: c.Gateway, VirtualMAC: c.VirtualMAC,
	}
	to := reach.ThroughTunnel(c.Peer)
	if c.Direct {
		to = reach.Reach{Kind: reach.Direct, Address: c.Peer}
		config.Direct, config.Gateway = true, oncache.Gateway{Name: nodepair.GatewayIf, OFPort: gatewayPort}
	}
	if c.Transport.Is4() {
		config.UplinkIPv4 = c.Transport
	} else {
		config.UplinkIPv6 = c.Transport
	}
	a := &Agent{config: c, world: w, manager: oncache.New(config, w, w, sysctl.NewRecord(c.Socket+".sysctls"))}
	a.manager.Start(ctx)
	status, err := a.manager.Status()
	if err != nil {
		return err
	}
	if status.State != api.StateActive {
		return fmt.Errorf("the cache is %s: %s", status.State, status.Reason)
	}
	a.manager.SetNodeAnnotation(peer, a.manager.Annotation()) // the other Node is like this one
	change := coherency.Change{Nodes: []coherency.Node{{Name: peer, Reach: to, PodCIDRs: []netip.Prefix{c.PeerNetwork}}}}
	if c.Service.IsValid() {
		change.Services = map[netip.Addr]bool{c.Service: true}
	}
	if err := w.change(change); err != nil {
		return err
	}
	go a.manager.Run(ctx.Done())
	server := rpc.NewServer()
	if err := server.Register(a); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	server.Accept(listener)
	return nil
}

// Nothing is an empty argument or answer.
type Nothing struct{}

// Status answers with the manager's status.
func (a *Agent) Status(_ Nothing, out *api.Status) error {
	s, err := a.manager.Status()
	if err == nil {
		*out = *s
	}
	return err
}

// Ready returns an error while the Pod may not teach the cache.
func (a *Agent) Ready(Nothing, *Nothing) error {
	for _, e := range a.manager.Endpoints() {
		if e.Epoch == 0 {
			return fmt.Errorf("the Pod %s has no epoch yet (%s)", e.Pod, e.OnOVS)
		}
	}
	return nil
}

// Learning switches the rule that marks packets: without it every packet misses, and nothing is learned from it.
func (a *Agent) Learning(on bool, _ *Nothing) error { return a.world.learn(on) }

// Evict voids all entries and header templates, as turning the cache off and on does, and returns how long that took.
func (a *Agent) Evict(_ Nothing, took *time.Duration) error {
	begin := time.Now()
	err := errors.Join(a.manager.SetMode(datapath.ModeOff), a.manager.SetMode(datapath.ModeEnforce))
	*took = time.Since(begin)
	return err
}

// Fill copies a learned entry until each map has this number of additional flows.
func (a *Agent) Fill(flows int, _ *Nothing) error { return fill(a.config.PinPath, flows) }
