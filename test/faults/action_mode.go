// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// deleteRoute deletes a Node's route to the other Node's Pods, which the agent must notice.
func deleteRoute(ctx context.Context, w *world, e event) error {
	pods := w.Nodes[1-e.node].PodCIDR.String()
	if _, err := w.Nodes[e.node].Exec(ctx, "ip", "route", "del", pods); err != nil {
		return err
	}
	return w.waitRoutes(ctx, pods, true)
}

// home is an address of the second Node, and the router there.
type home struct{ address, router netip.Addr }

// routerOf returns the router of the network in which a Node is now.
func (w *world) routerOf(node int) netip.Addr {
	for _, h := range w.homes {
		if h.address == w.Nodes[node].IPv4 {
			return h.router
		}
	}
	return cluster.FabricGateway
}

// homesOf are the addresses between which the second Node moves: in one subnet if the network knows no routes to Pods, else in two, with a router
// between them.
func homesOf(m cluster.Mode, now netip.Addr) [2]home {
	homes := [2]home{{now, cluster.FabricGateway}, {netip.MustParseAddr("192.168.78.12"), netip.MustParseAddr("192.168.78.1")}}
	if m == cluster.NoEncap {
		homes[1] = home{netip.MustParseAddr("192.168.77.22"), cluster.FabricGateway}
	}
	return homes
}

// moveNode gives the second Node the address that it does not have, while its agent does not run.
func moveNode(ctx context.Context, w *world, _ event) error {
	n, to := w.Nodes[1], w.homes[1]
	if n.IPv4 == to.address {
		to = w.homes[0]
	}
	if to.router != cluster.FabricGateway {
		if _, err := w.Fabric.Exec(ctx, "ip", "address", "replace", netip.PrefixFrom(to.router, 24).String(), "dev", "fabric0"); err != nil {
			return err
		}
	}
	if err := n.StopAgent(); err != nil {
		return err
	}
	if err := n.Move(ctx, to.address, to.router); err != nil {
		return err
	}
	return startAgent(ctx, n)
}

// deleteWireGuard deletes a Node's device and with it the key. The agent makes both again.
func deleteWireGuard(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	if err := onLink(n.Space, config.WireGuardDevice, netlink.LinkDel); err != nil {
		return err
	}
	return eventually(ctx, config.WireGuardDevice+" of "+n.Name, func() error {
		return onLink(n.Space, config.WireGuardDevice, func(netlink.Link) error { return nil })
	})
}

// rotateKey gives a Node's device another key, and waits until the agent has published it.
func rotateKey(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	key, err := wgtypes.GeneratePrivateKey()
	if err != nil {
		return err
	}
	err = n.Do(func() error {
		client, err := wgctrl.New()
		if err != nil {
			return err
		}
		return errors.Join(client.ConfigureDevice(config.WireGuardDevice, wgtypes.Config{PrivateKey: &key}), client.Close())
	})
	if err != nil {
		return err
	}
	return eventually(ctx, "the new key of "+n.Name, func() error {
		object, err := w.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err == nil && object.Annotations[wireguard.KeyAnnotation] != key.PublicKey().String() {
			err = fmt.Errorf("its annotation is %q", object.Annotations[wireguard.KeyAnnotation])
		}
		return err
	})
}

// sendInClear sends a datagram of the Node itself to the other Node's Pod past WireGuard: only its destination is a Pod's.
func sendInClear(_ context.Context, w *world, _ event) error {
	from := w.Nodes[0]
	return onLink(from.Space, cluster.Uplink, func(link netlink.Link) error {
		socket, err := afpacket.Open(link.Attrs().Index, false)
		if err != nil {
			return err
		}
		defer socket.Close()
		return socket.Send(afpacket.Frame{Data: wire.Datagram(wire.Leg{
			SourceMAC: link.Attrs().HardwareAddr, DestinationMAC: net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			Source: netip.AddrPortFrom(from.IPv4, echoPort), Destination: netip.AddrPortFrom(w.far.IP, echoPort),
		}, make([]byte, 4))})
	})
}
