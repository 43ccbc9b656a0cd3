// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

func keyOf(b byte) (key wgtypes.Key) {
	key[0] = b
	return key
}

func peerAt(endpoint string, networks ...string) peer {
	p := peer{endpoint: netip.MustParseAddrPort(endpoint)}
	for _, n := range networks {
		p.allowed = append(p.allowed, netip.MustParsePrefix(n))
	}
	return p
}

func TestPlanDevice(t *testing.T) {
	want := settings{port: 51820, mtu: 1440, addresses: []netip.Prefix{netip.MustParsePrefix("10.10.0.1/32")}}
	right := state{exists: true, settings: want, up: true, private: keyOf(1)}
	kinds := func(change func(*state)) (kinds []operationKind) {
		have := right
		change(&have)
		for _, op := range planDevice(want, have) {
			kinds = append(kinds, op.kind)
		}
		return kinds
	}
	require.Empty(t, kinds(func(*state) {}))
	require.Equal(t, []operationKind{createDevice, setMTU, setAddresses, makeKey, setPort, setUp}, kinds(func(s *state) { *s = state{} }))
	require.Equal(t, []operationKind{setMTU}, kinds(func(s *state) { s.mtu = 1420 }), "of a former agent")
	require.Equal(t, []operationKind{setAddresses}, kinds(func(s *state) { s.addresses = nil }))
	require.Equal(t, []operationKind{makeKey}, kinds(func(s *state) { s.private = wgtypes.Key{} }))
	require.Equal(t, []operationKind{setPort}, kinds(func(s *state) { s.port = 51821 }))
	require.Equal(t, []operationKind{clearMark}, kinds(func(s *state) { s.mark = 51820 }), "of another program")
	require.Equal(t, []operationKind{setUp}, kinds(func(s *state) { s.up = false }))
}

func TestPlanPeers(t *testing.T) {
	type all = map[wgtypes.Key]peer
	a, b := peerAt("192.0.2.1:51820", "10.10.1.0/24"), peerAt("192.0.2.2:51820", "10.10.2.0/24", "fd10:2::/64")
	moved, foreign := peerAt("192.0.2.9:51820", "10.10.1.0/24"), a
	foreign.preshared = keyOf(9)
	set := func(key byte, p peer) operation { return operation{kind: setPeer, key: keyOf(key), peer: p} }
	remove := func(key byte) operation { return operation{kind: removePeer, key: keyOf(key)} }
	for name, tc := range map[string]struct {
		want, have all
		starting   bool
		ops        []operation
	}{
		"nothing to do":                        {want: all{keyOf(1): a}, have: all{keyOf(1): a}},
		"new peers, in order":                  {want: all{keyOf(2): b, keyOf(1): a}, ops: []operation{set(1, a), set(2, b)}},
		"another endpoint":                     {want: all{keyOf(1): moved}, have: all{keyOf(1): a}, ops: []operation{set(1, moved)}},
		"a preshared key of another program":   {want: all{keyOf(1): a}, have: all{keyOf(1): foreign}, ops: []operation{set(1, a)}},
		"another network":                      {want: all{keyOf(1): b}, have: all{keyOf(1): a}, ops: []operation{set(1, b)}},
		"another key":                          {want: all{keyOf(3): a}, have: all{keyOf(1): a}, ops: []operation{remove(1), set(3, a)}},
		"no key any more":                      {want: all{keyOf(2): b}, have: all{keyOf(1): a, keyOf(2): b}, ops: []operation{remove(1)}},
		"starting, others may come":            {want: all{keyOf(2): b}, have: all{keyOf(1): a, keyOf(2): b}, starting: true},
		"starting, with another key":           {want: all{keyOf(3): a}, have: all{keyOf(1): a}, starting: true, ops: []operation{remove(1), set(3, a)}},
		"starting, a network of a larger peer": {want: all{keyOf(3): peerAt("192.0.2.3:51820", "10.10.2.0/25")}, have: all{keyOf(2): b}, starting: true, ops: []operation{remove(2), set(3, peerAt("192.0.2.3:51820", "10.10.2.0/25"))}},
		"two exchange their networks": {
			want: all{keyOf(1): b, keyOf(2): a}, have: all{keyOf(1): a, keyOf(2): b}, ops: []operation{set(1, b), set(2, a)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.ops, planPeers(tc.want, tc.have, !tc.starting))
		})
	}
}

func TestWantedPeers(t *testing.T) {
	p := newPeers()
	connect := func(node, address string, networks ...string) {
		for _, n := range networks {
			p.networks[netip.MustParsePrefix(n)] = location{node, netip.MustParseAddr(address)}
		}
	}
	connect("node2", "192.0.2.2", "10.10.2.0/24")
	connect("node2", "2001:db8::2", "fd10:2::/64")
	connect("node3", "2001:db8::3", "fd10:3::/64")
	connect("node4", "192.0.2.4", "10.10.4.0/24")
	connect("node5", "192.0.2.5", "10.10.5.0/24")
	connect("node6", "192.0.2.6", "10.10.6.0/24")
	connect("node7", "192.0.2.7", "10.10.7.0/24")
	connect("node8", "192.0.2.8", "10.10.8.0/24")
	p.nodes = map[string]published{
		"node2": {key: keyOf(2).String()}, "node3": {key: keyOf(3).String()}, "node4": {key: "nonsense"}, "node5": {key: keyOf(1).String()},
		"node6": {key: keyOf(6).String(), created: 6}, "node7": {key: keyOf(6).String(), created: 5},
		"node8": {key: wgtypes.Key{}.String()}, "unconnected": {key: keyOf(9).String()},
	}
	want, wrong := p.want(keyOf(1), 51820, nil, true)
	require.Equal(t, map[wgtypes.Key]peer{
		keyOf(2): peerAt("192.0.2.2:51820", "10.10.2.0/24", "fd10:2::/64"), // the IPv4 address
		keyOf(3): peerAt("[2001:db8::3]:51820", "fd10:3::/64"),
		keyOf(6): peerAt("192.0.2.7:51820", "10.10.7.0/24"), // the older one
	}, want)
	require.Len(t, wrong, 4)
	require.Contains(t, wrong["node4"], `is "nonsense", want a key`)
	require.Contains(t, wrong["node5"], "this Node's own key")
	require.Contains(t, wrong["node6"], "of Node node7, want one of its own")
	require.Contains(t, wrong["node8"], "all zero")

	delete(p.nodes, "node2")
	delete(p.nodes, "node7")
	want, wrong = p.want(keyOf(1), 51820, want, true)
	require.Contains(t, wrong["node2"], "it has no annotation node.antrea.io/wireguard-public-key")
	require.Equal(t, peerAt("192.0.2.6:51820", "10.10.6.0/24"), want[keyOf(6)], "it is the key of one Node again")
	require.NotContains(t, want, keyOf(2))
}

// TestKeyOfAnotherNode: one that publishes it changes nothing for the Node whose key it is, not even while this agent starts.
func TestKeyOfAnotherNode(t *testing.T) {
	victim, thief := peerAt("192.0.2.2:51820", "10.10.2.0/24"), peerAt("192.0.2.3:51820", "10.10.3.0/24")
	have := map[wgtypes.Key]peer{keyOf(2): victim}
	key := keyOf(2).String()
	for name, tc := range map[string]struct {
		victim, thief published
		have, want    map[wgtypes.Key]peer
	}{
		"the thief is older":         {victim: published{key, 2, "b"}, thief: published{key, 1, "a"}, have: have, want: have},
		"a new device, older":        {victim: published{key, 1, "b"}, thief: published{key, 2, "a"}, want: have},
		"a new device, lower UID":    {victim: published{key, 1, "a"}, thief: published{key, 1, "b"}, want: have},
		"a new device, earlier name": {victim: published{key, 1, "a"}, thief: published{key, 1, "a"}, want: have},
		"the key was the thief's": {
			victim: published{key, 1, "a"}, thief: published{key, 2, "b"}, have: map[wgtypes.Key]peer{keyOf(2): thief}, want: map[wgtypes.Key]peer{keyOf(2): thief},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeers()
			p.networks[victim.allowed[0]], p.networks[thief.allowed[0]] = location{"node2", victim.endpoint.Addr()}, location{"node3", thief.endpoint.Addr()}
			p.nodes["node2"], p.nodes["node3"] = tc.victim, tc.thief
			want, wrong := p.want(keyOf(1), 51820, tc.have, true)
			require.Equal(t, tc.want, want)
			require.Len(t, wrong, 1)
		})
	}
	p := newPeers()
	p.networks[thief.allowed[0]] = location{"node3", thief.endpoint.Addr()}
	p.nodes["node3"] = published{key: key}
	starting, _ := p.want(keyOf(1), 51820, have, false)
	require.Empty(t, starting, "the networks of node2 are not known yet")
	require.Empty(t, planPeers(starting, have, false))
	alone, _ := p.want(keyOf(1), 51820, have, true)
	require.Equal(t, map[wgtypes.Key]peer{keyOf(2): thief}, alone, "no other Node has it")
}
