// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// ClusterOverhead is the number of bytes that WireGuard adds to a packet between clusters: as in Antrea, what it adds over IPv6 (40 + 8 + 32), since the
// other end may be Antrea's.
const ClusterOverhead = 80

// ClusterPeer is the gateway Node of another cluster.
type ClusterPeer struct {
	// Cluster is its name.
	Cluster  string
	Key      wgtypes.Key
	Endpoint netip.AddrPort
	// Address is the source and the destination of the packets inside, an IPv4 address.
	Address netip.Addr
}

func (p ClusterPeer) network() netip.Prefix { return netip.PrefixFrom(p.Address, p.Address.BitLen()) }

// routedDevice is a device with its routes.
type routedDevice interface {
	device
	routes() ([]netip.Prefix, error)
	remove() error
}

// ClusterDevice is the device of a gateway Node that encrypts packets to gateway Nodes of other clusters. Its methods must not be called concurrently.
type ClusterDevice struct {
	want   settings
	device routedDevice
}

// NewClusterDevice does nothing yet. port is the UDP port of encrypted packets, mtu the MTU of the uplink.
func NewClusterDevice(port uint16, mtu int) *ClusterDevice {
	return &ClusterDevice{settings{port: port, mtu: min(mtu-ClusterOverhead, largestMTU)}, betweenClusters}
}

// RemoveClusterDevice removes the device of a former agent, if there is one.
func RemoveClusterDevice() error { return betweenClusters.remove() }

// Remove removes the device, with its key, if there is one.
func (c *ClusterDevice) Remove() error { return c.device.remove() }

// Set makes the device, with the key that it has, or a new one, and gives it this address and these peers, with their routes. It returns the device's
// public key, and by cluster why packets to it are not encrypted: they must not be sent. Without a device there is no key, and all fail. An error about no
// cluster is about a former peer or route. No two peers have one key or one address.
func (c *ClusterDevice) Set(address netip.Addr, peers []ClusterPeer) (own wgtypes.Key, failed map[string]error, err error) {
	failed = map[string]error{}
	c.want.addresses = []netip.Prefix{netip.PrefixFrom(address, address.BitLen())}
	have, err := c.prepare()
	if err != nil {
		for _, p := range peers {
			failed[p.Cluster] = err
		}
		return own, failed, err
	}
	own = have.private.PublicKey()
	want, networks := map[wgtypes.Key]peer{}, []netip.Prefix(nil)
	for _, p := range peers {
		if p.Key == own {
			failed[p.Cluster] = fmt.Errorf("its public key %s is this cluster's, want one of its own", own)
			continue
		}
		want[p.Key] = peer{endpoint: p.Endpoint, allowed: []netip.Prefix{p.network()}}
		networks = append(networks, p.network())
	}
	refused := map[netip.Prefix]error{}
	err = c.applyEach(planPeers(want, have.peers, true), refused)
	routes, routesErr := c.setRoutes(networks, refused)
	have, readErr := c.device.read()
	for _, p := range peers {
		if failed[p.Cluster] != nil || have.up && have.encrypts(p) && slices.Contains(routes, p.network()) {
			continue
		}
		why := errors.Join(refused[p.network()], routesErr, readErr)
		if why == nil {
			why = errors.New("another program has changed it")
		}
		failed[p.Cluster] = fmt.Errorf("device %s has no peer for it, or no route: %w", config.ClusterWireGuardDevice, why)
	}
	return own, failed, errors.Join(err, routesErr, readErr)
}

// prepare makes the device, without peers and routes.
func (c *ClusterDevice) prepare() (have state, err error) {
	if have, err = c.device.read(); err != nil {
		return have, err
	}
	ops := planDevice(c.want, have)
	if len(ops) == 0 {
		return have, nil
	}
	if err := c.device.apply(ops, c.want); err != nil {
		return have, err
	}
	return c.device.read()
}

// setRoutes returns the routes that the device has then.
func (c *ClusterDevice) setRoutes(want []netip.Prefix, refused map[netip.Prefix]error) (have []netip.Prefix, err error) {
	if have, err = c.device.routes(); err != nil {
		return nil, err
	}
	ops := planRoutes(want, have)
	if len(ops) == 0 {
		return have, nil
	}
	failed := c.applyEach(ops, refused)
	have, err = c.device.routes()
	return have, errors.Join(failed, err)
}

// applyEach runs each operation, so that one that the kernel refuses harms no other peer. It adds errors about a wanted peer to refused, and returns the
// others.
func (c *ClusterDevice) applyEach(ops []operation, refused map[netip.Prefix]error) error {
	var errs []error
	for _, op := range ops {
		err := c.device.apply([]operation{op}, c.want)
		switch {
		case err == nil:
		case op.kind == setPeer:
			refused[op.peer.allowed[0]] = err
		case op.kind == addRoute:
			refused[op.network] = err
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// encrypts reports whether packets to the peer's address are encrypted with its key. Where they go may change: WireGuard follows the peer.
func (s state) encrypts(p ClusterPeer) bool {
	return slices.Equal(s.peers[p.Key].allowed, []netip.Prefix{p.network()})
}
