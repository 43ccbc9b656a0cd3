// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// KeyAnnotation is the public key of a Node, in base64.
const KeyAnnotation = "node.antrea.io/wireguard-public-key"

// peer is a peer of the device: packets from and to the allowed networks belong to it, and leave for the endpoint.
type peer struct {
	endpoint netip.AddrPort
	// allowed are in order.
	allowed []netip.Prefix
}

func (p peer) equal(other peer) bool {
	return p.endpoint == other.endpoint && slices.Equal(p.allowed, other.allowed)
}

// location is the Node that has a Pod network, and the transport address at which it is reached.
type location struct {
	node    string
	address netip.Addr
}

// peers are the Pod networks that this Node reaches by WireGuard, and the annotations of all Nodes.
type peers struct {
	networks map[netip.Prefix]location
	keys     map[string]string
}

func newPeers() *peers {
	return &peers{networks: map[netip.Prefix]location{}, keys: map[string]string{}}
}

// want returns the peers of a device with this public key, and by Node why it has none. A key that several Nodes have, or this one, belongs to
// none of them: with it one Node would get the packets of another.
func (p *peers) want(own wgtypes.Key, port uint16) (all map[wgtypes.Key]peer, wrong map[string]string) {
	all, wrong = map[wgtypes.Key]peer{}, map[string]string{}
	owners := map[wgtypes.Key][]string{}
	for node, networks := range p.byNode() {
		key, err := parseKey(p.keys[node])
		switch {
		case p.keys[node] == "":
			wrong[node] = "it has no annotation " + KeyAnnotation + ", which its agent sets once it has trafficEncryptionMode wireGuard"
		case err != nil:
			wrong[node] = fmt.Sprintf("annotation %s is %q, want a key of WireGuard in base64: %v", KeyAnnotation, shorten(p.keys[node]), err)
		case key == own:
			wrong[node] = fmt.Sprintf("annotation %s is this Node's own key %s, want one of its own", KeyAnnotation, key)
		default:
			owners[key] = append(owners[key], node)
			all[key] = peerOf(networks, port)
		}
	}
	for key, nodes := range owners {
		if slices.Sort(nodes); len(nodes) == 1 {
			continue
		}
		delete(all, key)
		for _, node := range nodes {
			wrong[node] = fmt.Sprintf("annotation %s is the same key %s on the Nodes %s, want different ones", KeyAnnotation, key, strings.Join(nodes, " and "))
		}
	}
	return all, wrong
}

// byNode returns the networks of each Node.
func (p *peers) byNode() map[string]map[netip.Prefix]netip.Addr {
	nodes := map[string]map[netip.Prefix]netip.Addr{}
	for cidr, at := range p.networks {
		if nodes[at.node] == nil {
			nodes[at.node] = map[netip.Prefix]netip.Addr{}
		}
		nodes[at.node][cidr] = at.address
	}
	return nodes
}

// peerOf returns the peer with these networks. A device has one endpoint for a peer: the IPv4 address, if there is one.
func peerOf(networks map[netip.Prefix]netip.Addr, port uint16) peer {
	addresses := slices.SortedFunc(maps.Values(networks), netip.Addr.Compare) // IPv4 first
	return peer{endpoint: netip.AddrPortFrom(addresses[0], port), allowed: slices.SortedFunc(maps.Keys(networks), netip.Prefix.Compare)}
}

// parseKey reads a key, which is not the zero key: with that a device has no peer.
func parseKey(text string) (wgtypes.Key, error) {
	key, err := wgtypes.ParseKey(text)
	if err == nil && key == (wgtypes.Key{}) {
		return key, fmt.Errorf("it is all zero")
	}
	return key, err
}

// shorten bounds the text of an annotation that a message repeats.
func shorten(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
