// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// fakeLink is a device with routes. Operations about networks in refuses fail.
type fakeLink struct {
	fakeDevice
	have    []netip.Prefix
	refuses map[netip.Prefix]bool
	deaf    error
}

func (l *fakeLink) read() (state, error) {
	if l.deaf != nil {
		return state{}, l.deaf
	}
	return l.fakeDevice.read()
}

func (l *fakeLink) routes() ([]netip.Prefix, error) { return slices.Clone(l.have), l.deaf }

func (l *fakeLink) remove() error {
	l.state, l.have = state{}, nil
	return nil
}

func (l *fakeLink) apply(ops []operation, want settings) error {
	for _, op := range ops {
		about := op.network
		if op.kind == setPeer {
			about = op.peer.allowed[0]
		}
		if l.refuses[about] {
			return fmt.Errorf("the kernel refuses %v", about)
		}
		switch op.kind {
		case addRoute:
			l.have = append(l.have, op.network)
		case removeRoute:
			l.have = slices.DeleteFunc(l.have, func(n netip.Prefix) bool { return n == op.network })
		case setPeer: // A network has one peer.
			for key, p := range l.state.peers {
				if key != op.key && slices.Equal(p.allowed, op.peer.allowed) {
					l.state.peers[key] = peer{endpoint: p.endpoint}
				}
			}
		}
	}
	return l.fakeDevice.apply(ops, want)
}

func newFakeClusters() (*ClusterDevice, *fakeLink) {
	l := &fakeLink{refuses: map[netip.Prefix]bool{}}
	c := NewClusterDevice(51821, 1500)
	c.device = l
	return c, l
}

// clusterPeer is the gateway Node of a cluster with the Service network 10.N.0.0/16.
func clusterPeer(n byte, key wgtypes.Key) ClusterPeer {
	return ClusterPeer{
		Cluster: fmt.Sprint("c", n), Key: key, Endpoint: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 51821), Address: netip.AddrFrom4([4]byte{10, n, 0, 0}),
	}
}

var clusterBase = netip.MustParseAddr("10.96.0.0")

func TestClusterDevice(t *testing.T) {
	c, l := newFakeClusters()
	west, south := clusterPeer(1, keyOf(1)), clusterPeer(2, keyOf(2))
	own, failed, err := c.Set(clusterBase, []ClusterPeer{west, south})
	require.NoError(t, err)
	require.Empty(t, failed)
	require.Equal(t, l.state.private.PublicKey(), own)
	require.Equal(t, settings{port: 51821, mtu: 1420, addresses: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/32")}}, l.state.settings)
	require.Equal(t, map[wgtypes.Key]peer{keyOf(1): peerAt("192.0.2.1:51821", "10.1.0.0/32"), keyOf(2): peerAt("192.0.2.2:51821", "10.2.0.0/32")}, l.state.peers)
	require.Equal(t, []netip.Prefix{west.network(), south.network()}, l.have)

	west.Key = keyOf(7)
	again, failed, err := c.Set(clusterBase, []ClusterPeer{west})
	require.NoError(t, err)
	require.Empty(t, failed)
	require.Equal(t, own, again)
	require.Equal(t, map[wgtypes.Key]peer{keyOf(7): peerAt("192.0.2.1:51821", "10.1.0.0/32")}, l.state.peers)
	require.Equal(t, []netip.Prefix{west.network()}, l.have)

	l.state.peers[keyOf(7)] = peerAt("198.51.100.1:1024", "10.1.0.0/32") // another address since, behind NAT
	require.True(t, l.state.encrypts(west))
	require.NoError(t, c.Remove())
	require.False(t, l.state.exists)
}

// TestBadPeersHarmNoOther: a peer with this cluster's key, one that the kernel refuses, and one whose route it refuses.
func TestBadPeersHarmNoOther(t *testing.T) {
	c, l := newFakeClusters()
	own, _, err := c.Set(clusterBase, nil)
	require.NoError(t, err)
	good, mirror, refused := clusterPeer(1, keyOf(1)), clusterPeer(2, own), clusterPeer(3, keyOf(3))
	l.refuses[refused.network()] = true
	_, failed, err := c.Set(clusterBase, []ClusterPeer{mirror, refused, good})
	require.NoError(t, err)
	require.Len(t, failed, 2)
	require.ErrorContains(t, failed["c2"], "is this cluster's, want one of its own")
	require.ErrorContains(t, failed["c3"], "the kernel refuses 10.3.0.0/32")
	require.True(t, l.state.encrypts(good))
	require.NotContains(t, l.state.peers, own)

	delete(l.refuses, refused.network())
	_, failed, err = c.Set(clusterBase, []ClusterPeer{refused, good})
	require.NoError(t, err)
	require.Empty(t, failed, "a failed peer is tried again")
}

// TestNoClusterDevice: without a device, nothing is encrypted.
func TestNoClusterDevice(t *testing.T) {
	for name, damage := range map[string]func(*fakeLink){
		"no module":  func(l *fakeLink) { l.fails = errors.New("the kernel has no WireGuard") },
		"unreadable": func(l *fakeLink) { l.deaf = errors.New("it is of kind dummy") },
	} {
		t.Run(name, func(t *testing.T) {
			c, l := newFakeClusters()
			damage(l)
			own, failed, err := c.Set(clusterBase, []ClusterPeer{clusterPeer(1, keyOf(1)), clusterPeer(2, keyOf(2))})
			require.Error(t, err)
			require.Zero(t, own)
			require.Len(t, failed, 2)
		})
	}
}

// TestClusterDeviceUnderFaults: whatever peers there are, whatever the kernel refuses and other programs change, packets to a cluster of which Set says nothing
// are encrypted with its key and have a route. Once nothing fails, the device has exactly what is wanted.
func TestClusterDeviceUnderFaults(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 39))
		c, l := newFakeClusters()
		var peers []ClusterPeer
		for step := range 30 {
			peers = peers[:0]
			for i, key := range r.Perm(6) {
				if n := byte(i + 1); r.IntN(3) > 0 {
					peers = append(peers, clusterPeer(n, keyOf(byte(key+1))))
				}
			}
			disturb(r, l)
			_, failed, err := c.Set(clusterBase, peers)
			for _, p := range peers {
				encrypted := l.state.up && l.state.encrypts(p) && slices.Contains(l.have, p.network())
				require.True(t, failed[p.Cluster] != nil || encrypted, "seed %d, step %d: %v, %v", seed, step, failed, err)
			}
		}
		l.refuses, l.fails, l.deaf = nil, nil, nil
		_, failed, err := c.Set(clusterBase, peers)
		require.NoError(t, err)
		require.Empty(t, failed)
		require.Len(t, l.state.peers, len(peers))
		require.Len(t, l.have, len(peers))
	}
}

// disturb lets the kernel refuse things, or another program change the device.
func disturb(r *rand.Rand, l *fakeLink) {
	l.refuses, l.fails, l.deaf = map[netip.Prefix]bool{}, nil, nil
	for n := range byte(6) {
		l.refuses[clusterPeer(n+1, wgtypes.Key{}).network()] = r.IntN(6) == 0
	}
	switch r.IntN(8) {
	case 0:
		l.fails = errors.New("the kernel refuses everything")
	case 1:
		l.deaf = errors.New("the kernel does not answer")
	case 2:
		_ = l.remove()
	case 3:
		l.state.up, l.have = false, nil
	case 4:
		maps.DeleteFunc(l.state.peers, func(wgtypes.Key, peer) bool { return r.IntN(2) == 0 })
	case 5:
		l.have = nil
	}
}
