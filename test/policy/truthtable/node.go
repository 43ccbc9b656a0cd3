// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policyreject"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// nodeSwitch is the switch of a Node, as the agent sees it.
type nodeSwitch struct {
	switchpair.Identity
	bridge of.Switch
	flows  openflow.Client
	// connections is nil in an agent that does not end connections.
	connections *connections
}

// mtu is the MTU of Pods.
const mtu = 1450

// startAgent starts the parts of a Node's agent that concern policies.
func (c *cluster) startAgent(ctx context.Context, world *policy.World, n nodeSwitch, dir string) error {
	interfaces := interfacestore.NewInterfaceStore()
	for i, pod := range slices.Concat(world.Pods, markerPods) {
		if pod.Node == n.Name() {
			interfaces.AddInterface(connected(pod, i))
		}
	}
	c.interfaces[n.Name()] = interfaces
	policies := agentpolicy.New(c.sourceOf(n.Name()), n.flows, atOnce{}, interfaces, filepath.Join(dir, n.Name()), problem.NewRecorder())
	policies.EnableAntreaPolicies(n.flows, true)
	policies.ReportStatus(n.Name(), c.report)
	names := fqdn.New(fqdn.Config{Switch: n.bridge, Flows: n.flows, MTU: mtu})
	names.SetRealizer(slowRealizer{policies, n.Name(), &c.realizing})
	policies.FollowNames(names)
	for _, run := range []func(context.Context) error{names.Run, n.responder(interfaces).Run} {
		c.done.Go(func() {
			if err := run(ctx); err != nil {
				fmt.Println("a part of the agent of", n.Name(), "has ended:", err)
			}
		})
	}
	cutter := policies.Cutter(n.connections, nil)
	c.done.Go(func() { cutter.Run(ctx) })
	c.agents[n.Name()] = policies
	c.done.Go(func() { policies.Run(ctx) })
	<-policies.Synced()
	c.switches = append(c.switches, n)
	return n.changeServices(ctx, &policy.World{}, world)
}

// responder answers what policies reject.
func (n nodeSwitch) responder(interfaces interfacestore.InterfaceStore) *policyreject.Responder {
	gateway := config.GatewayConfig{Name: "antrea-gw0", MAC: n.GatewayMAC(), IPv4: n.GatewayIPv4(), IPv6: n.GatewayIPv6(), OFPort: config.GatewayOFPort}
	return policyreject.NewResponder(n.bridge, n.flows, policyreject.Node{Interfaces: interfaces, Gateway: gateway, TunnelPort: config.TunnelOFPort})
}

// changeServices installs, moves and removes the Services that are dialed, as AntreaProxy does.
func (n nodeSwitch) changeServices(ctx context.Context, before, after *policy.World) error {
	had, has := n.servicePorts(before), n.servicePorts(after)
	for name := range had {
		if _, kept := has[name]; kept {
			continue
		}
		if err := n.flows.UninstallService(name); err != nil {
			return fmt.Errorf("remove the port %s of a Service: %w", name, err)
		}
	}
	for name, port := range has {
		if reflect.DeepEqual(had[name], port) {
			continue
		}
		// AntreaProxy also tries again until the policies that name the Service match it.
		err := wait.PollUntilContextTimeout(ctx, time.Millisecond, settleTimeout, true, func(context.Context) (bool, error) {
			err := n.flows.InstallService(port)
			if errors.Is(err, openflow.ErrPoliciesBehind) {
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("install the port %s of a Service: %w", name, err)
		}
	}
	return nil
}

// servicePorts returns the ports of the Services of a world, by name.
func (n nodeSwitch) servicePorts(world *policy.World) map[string]openflow.ServicePort {
	ports := map[string]openflow.ServicePort{}
	for _, s := range world.ClusterIPs {
		server := world.Pods[s.Place]
		here := server.Node == n.Name()
		for suffix, ends := range map[string][3]netip.Addr{"": {s.IPv4, server.IPv4, netip.IPv4Unspecified()}, "/IPv6": {s.IPv6, server.IPv6, netip.IPv6Unspecified()}} {
			name := fmt.Sprintf("%s/%s:%d/%s%s", s.Namespace, s.Name, s.Port, s.Protocol, suffix)
			port := openflow.ServicePort{
				Name: name, Protocol: s.Protocol, Frontends: []openflow.Frontend{
					{Address: netip.AddrPortFrom(ends[0], s.Port)}, {Address: netip.AddrPortFrom(ends[2], s.NodePort), NodePort: true, External: true, Local: s.Local},
				},
				Cluster:   []openflow.Endpoint{{Address: netip.AddrPortFrom(ends[1], s.TargetPort), OnThisNode: here, PodNetwork: true}},
				Elsewhere: !here,
			}
			if here {
				port.Local = port.Cluster
			}
			ports[name] = port
		}
	}
	return ports
}
