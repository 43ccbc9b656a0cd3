// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"bytes"
	"maps"
	"net/netip"
	"slices"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// settings of the device, apart from its peers.
type settings struct {
	port uint16
	mtu  int
	// addresses, each as a network of one address: between Nodes, the gateway port's.
	addresses []netip.Prefix
}

// state of the device in the kernel; the zero state if there is no device. The zero key means that it has no key.
type state struct {
	exists bool
	settings
	up      bool
	private wgtypes.Key
	// mark is the fwmark of encrypted packets, by which rules of the host could lead them elsewhere. The agent's device has none.
	mark  int
	peers map[wgtypes.Key]peer
}

type operationKind int

const (
	createDevice operationKind = iota
	setMTU
	setAddresses
	// makeKey gives the device a new private key.
	makeKey
	setPort
	clearMark
	setUp
	removePeer
	setPeer
	removeRoute
	addRoute
)

// operation is one change of the device. key and peer are set in setPeer, key in removePeer, network in removeRoute and addRoute.
type operation struct {
	kind    operationKind
	key     wgtypes.Key
	peer    peer
	network netip.Prefix
}

// planDevice lists the operations that lead from what the device is to the settings. A device without a key gets one.
func planDevice(want settings, have state) (ops []operation) {
	need := func(kind operationKind, is bool) {
		if !is {
			ops = append(ops, operation{kind: kind})
		}
	}
	need(createDevice, have.exists)
	need(setMTU, have.mtu == want.mtu)
	need(setAddresses, slices.Equal(have.addresses, want.addresses))
	need(makeKey, have.private != wgtypes.Key{})
	need(setPort, have.port == want.port)
	need(clearMark, have.mark == 0)
	need(setUp, have.up)
	return ops
}

// planPeers lists the operations that lead from the device's peers to the wanted ones: first peers go, so that a Node with another key has
// one at any time. Unless complete is set, not all wanted ones may be known, and only those go whose networks now belong to another one.
func planPeers(want, have map[wgtypes.Key]peer, complete bool) (ops []operation) {
	for _, key := range sorted(have) {
		if _, wanted := want[key]; !wanted && (complete || overlaps(have[key], want)) {
			ops = append(ops, operation{kind: removePeer, key: key})
		}
	}
	for _, key := range sorted(want) {
		if now, there := have[key]; !there || !now.equal(want[key]) {
			ops = append(ops, operation{kind: setPeer, key: key, peer: want[key]})
		}
	}
	return ops
}

// overlaps reports whether one of the wanted peers has a network of p.
func overlaps(p peer, want map[wgtypes.Key]peer) bool {
	for _, other := range want {
		for _, network := range other.allowed {
			if slices.ContainsFunc(p.allowed, network.Overlaps) {
				return true
			}
		}
	}
	return false
}

func sorted(peers map[wgtypes.Key]peer) []wgtypes.Key {
	return slices.SortedFunc(maps.Keys(peers), func(a, b wgtypes.Key) int { return bytes.Compare(a[:], b[:]) })
}
