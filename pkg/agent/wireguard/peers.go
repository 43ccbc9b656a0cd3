// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

// KeyAnnotation is the public key of a Node, in base64.
const KeyAnnotation = apis.WireGuardKey

// peer is a peer of the device: packets from and to the allowed networks belong to it, and leave for the endpoint.
type peer struct {
	endpoint netip.AddrPort
	// allowed are in order.
	allowed []netip.Prefix
	// preshared is a key that another program has given the peer, with which it answers nothing. The agent's peers have none, which is the zero key.
	preshared wgtypes.Key
}

func (p peer) equal(other peer) bool {
	return p.endpoint == other.endpoint && p.preshared == other.preshared && slices.Equal(p.allowed, other.allowed)
}

// location is the Node that has a Pod network, and the transport address at which it is reached.
type location struct {
	node    string
	address netip.Addr
}

// published is the part of a Node's object that peers are made of.
type published struct {
	// key is the annotation.
	key string
	// created is in seconds since 1970.
	created int64
	uid     string
}

// peers are the Pod networks that this Node reaches by WireGuard, and what all Nodes have published.
type peers struct {
	networks map[netip.Prefix]location
	nodes    map[string]published
}

func newPeers() *peers {
	return &peers{networks: map[netip.Prefix]location{}, nodes: map[string]published{}}
}

// want returns the peers of a device with this public key and the peers have, and by Node why it has none. A key belongs to one Node, which
// another Node that publishes the same does not cut off. Unless complete is set, not all Nodes' networks may be known, and a key of have stays with the Node that has its networks.
func (p *peers) want(own wgtypes.Key, port uint16, have map[wgtypes.Key]peer, complete bool) (all map[wgtypes.Key]peer, wrong map[string]string) {
	all, wrong = map[wgtypes.Key]peer{}, map[string]string{}
	owners := map[wgtypes.Key][]string{}
	byNode := p.byNode()
	for node := range byNode {
		text := p.nodes[node].key
		key, err := ParseKey(text)
		switch {
		case text == "":
			wrong[node] = "it has no annotation " + KeyAnnotation + ", which its agent sets once it has trafficEncryptionMode wireGuard"
		case err != nil:
			wrong[node] = fmt.Sprintf("annotation %s is %q, want a key of WireGuard in base64: %v", KeyAnnotation, shorten(text), err)
		case key == own:
			wrong[node] = fmt.Sprintf("annotation %s is this Node's own key %s, want one of its own", KeyAnnotation, key)
		default:
			owners[key] = append(owners[key], node)
		}
	}
	for key, nodes := range owners {
		now, there := have[key]
		slices.SortFunc(nodes, p.compare)
		keeper := nodes[max(0, slices.IndexFunc(nodes, func(node string) bool { return now.hasOneOf(byNode[node]) }))]
		for _, node := range nodes {
			if node != keeper {
				wrong[node] = fmt.Sprintf("annotation %s is the key %s of Node %s, want one of its own", KeyAnnotation, key, keeper)
			}
		}
		if complete || !there || now.hasOneOf(byNode[keeper]) {
			all[key] = peerOf(byNode[keeper], port)
		}
	}
	return all, wrong
}

// compare orders Nodes by age: the creation of their objects, then UID and name.
func (p *peers) compare(a, b string) int {
	older, younger := p.nodes[a], p.nodes[b]
	return cmp.Or(cmp.Compare(older.created, younger.created), cmp.Compare(older.uid, younger.uid), cmp.Compare(a, b))
}

// hasOneOf reports whether one of the networks is the peer's.
func (p peer) hasOneOf(networks map[netip.Prefix]netip.Addr) bool {
	return slices.ContainsFunc(p.allowed, func(cidr netip.Prefix) bool { return networks[cidr].IsValid() })
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

// ParseKey reads a public key in base64, which is not the zero key: with that a device has no peer.
func ParseKey(text string) (wgtypes.Key, error) {
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
