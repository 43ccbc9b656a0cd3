// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/client/nodes"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// The suites of WireGuard run with `make suite S=e2e-all`: captures on the network say that no packet of a Pod is in clear.

func TestWireGuardGateOff(t *testing.T) { testWireGuardSuite(t, false) }
func TestWireGuardGateOn(t *testing.T)  { testWireGuardSuite(t, true) }

const (
	wireGuardMode = string(cluster.WireGuard)
	wireGuardPort = 51820
	keyAnnotation = "node.antrea.io/wireguard-public-key"
)

func testWireGuardSuite(t *testing.T, oncache bool) {
	s := newModeSuite(t, wireGuardMode, oncache)
	s.run(t,
		area{"Encrypted", testEncrypted},
		area{"Connectivity", testConnectivity},
		area{"PolicyAcrossNodes", testPolicyAcrossNodes},
		area{"PlainIsRefused", testPlainIsRefused},
		area{"EncryptionKeys", testEncryptionKeys},
		area{"VanishedNode", testVanishedNode},
		area{"DeletedNode", testDeletedNode},
		area{"MovingEndpoint", testMovingEndpoint},
	)
	if oncache {
		s.run(t, area{"PausedRevalidators", testPausedRevalidators})
	}
	s.run(t,
		area{"EncryptionOff", testEncryptionOff},
		area{"ModeChanges", testModeChanges},
		area{"ProxyAll", testProxyAll},
		area{"Cleanup", testCleanup}, // last: it leaves no cluster
	)
}

// testEncrypted: whatever Pods of the two Nodes send each other, and a Node to the other's Pods, is encrypted, and the cache says why it has no hits.
func testEncrypted(t *testing.T, s *suite) {
	encrypted := s.requireNothingInClear(t, func() {
		s.requireConnectivity(t, s.client.Space, s.far.Space, s.far.IP)
		s.requireConnectivity(t, s.far.Space, s.client.Space, s.client.IP)
		s.requireConnectivity(t, s.node1.Space, s.far.Space, s.far.IP)
		p := throughService
		server := s.serverOn(p)
		s.requireTransports(t, s.client.Space, server.Space, server.IP, s.flowOn(p, "", 0, sinkPort).dialed(), s.flowOn(p, "", 0, udpEchoPort).dialed())
	})
	require.NotZero(t, encrypted)
	if !s.oncache {
		return
	}
	for _, n := range s.Nodes {
		require.Zero(t, oncacheStatus(t, n).Nodes)
		for _, info := range askAgent[[]api.NodeInfo](t, n, "/oncache?view=nodes") {
			require.Equal(t, "reached without the tunnel (wireGuard)", info.OnOVS)
		}
	}
}

// requireNothingInClear requires that no packet of the Pods is on the network as it is or in the tunnel, and returns the number of encrypted packets.
func (s *suite) requireNothingInClear(t *testing.T, send func()) (encrypted int) {
	t.Helper()
	var inClear, inCipher []*cluster.Process
	for _, n := range s.Nodes[:2] {
		capture := func(what ...string) *cluster.Process {
			return startServer(t, s.Fabric, append([]string{"capture", "--device=" + n.Name, "--limit=10"}, what...)...)
		}
		local, remote := s.client, s.far
		if n == s.node2 {
			local, remote = remote, local
		}
		inClear = append(inClear, capture("--source="+local.IP.String()), capture("--destination="+remote.IP.String()))
		inClear = append(inClear, capture("--proto=udp", fmt.Sprint("--port=", s.tunnelPort())))
		inCipher = append(inCipher, capture("--proto=udp", fmt.Sprint("--port=", wireGuardPort)))
	}
	send()
	for _, p := range inClear {
		seen := stop[report.Capture](t, p)
		require.Zero(t, seen.Matched, "%+v", seen.Packets)
	}
	for _, p := range inCipher {
		encrypted += stop[report.Capture](t, p).Matched
	}
	return encrypted
}

// testEncryptionKeys: without a peer's key, without the device, and without an agent that could repair it, nothing leaves. A new key is learned.
func testEncryptionKeys(t *testing.T, s *suite) {
	lost := func() {
		t.Helper()
		fails(t, s.client.Space, "ping", "-c5", "-i0.2", "-W1", s.far.IP.String())
		fails(t, s.node1.Space, "ping", "-c2", "-i0.2", "-W1", s.far.IP.String())
	}
	former := s.keyOf(t, s.node2)
	require.NotEmpty(t, former)

	require.NoError(t, s.node2.StopAgent())
	require.NoError(t, nodes.Annotate(t.Context(), s.Client, s.node2.Name, keyAnnotation, ""))
	eventually(t, "the peer without a key to go", func() error {
		if s.canPing(t) {
			return errors.New("it is still there")
		}
		return nil
	})
	s.requireNothingInClear(t, lost)
	succeeds(t, s.node2.Space, "ip", "link", "del", "antrea-wg0")
	s.requireNothingInClear(t, func() { fails(t, s.far.Space, "ping", "-c5", "-i0.2", "-W1", s.client.IP.String()) })
	s.startAgent(t, s.node2)
	s.waitRoundsComplete(t)
	s.requireNothingInClear(t, func() { s.waitPing(t) })
	require.NotEqual(t, former, s.keyOf(t, s.node2), "a new device has a new key")

	r := s.startStream(t)
	for range 3 {
		s.requireNothingInClear(t, func() {
			succeeds(t, s.node1.Space, "ip", "link", "del", "antrea-wg0")
			s.waitPing(t)
			r.requireFlowing(t)
		})
	}
	r.end(t, 1<<30) // packets were dropped at times; TCP has lost nothing
}

// testMovingEndpoint moves the second Node to another subnet, behind a router, and back, under traffic: encrypted packets are sent to its new address,
// and established connections continue.
func testMovingEndpoint(t *testing.T, s *suite) {
	home := s.node2.IP
	away, router := s.secondSubnet(t)
	encryptedTo := func(address netip.Addr) *cluster.Process {
		return startServer(t, s.Fabric, "capture", "--device="+s.node1.Name, "--limit=10", "--proto=udp", fmt.Sprint("--port=", wireGuardPort), "--destination="+address.String())
	}
	r := s.startStream(t)
	for range 2 {
		for _, to := range []struct{ address, gateway, former netip.Addr }{{away, router, home}, {home, cluster.FabricGateway, away}} {
			s.requireNothingInClear(t, func() {
				s.moveNode2(t, to.address, to.gateway)
				r.requireFlowing(t)
			})
			now, former := encryptedTo(to.address), encryptedTo(to.former)
			r.requireFlowing(t)
			require.NotZero(t, stop[report.Capture](t, now).Matched)
			require.Zero(t, stop[report.Capture](t, former).Matched)
			requireOwnRoutes(t, s.node1, s.node2.PodCIDR, "dev antrea-wg0")
			requireOwnRoutes(t, s.node2, s.node1.PodCIDR, "dev antrea-wg0")
		}
	}
	r.end(t, 1<<30) // the Node was not reachable at times; TCP has lost nothing
}

func (s *suite) canPing(t *testing.T) bool {
	_, err := s.client.Exec(t.Context(), "ping", "-c1", "-W1", s.far.IP.String())
	return err == nil
}

// waitPing waits until Pods of the two Nodes reach each other.
func (s *suite) waitPing(t *testing.T) {
	t.Helper()
	eventually(t, "packets between the Nodes' Pods", func() error {
		if !s.canPing(t) {
			return errors.New("there is no answer")
		}
		return nil
	})
}

func (s *suite) keyOf(t *testing.T, n *cluster.Node) string {
	t.Helper()
	node, err := s.Client.CoreV1().Nodes().Get(t.Context(), n.Name, metav1.GetOptions{})
	require.NoError(t, err)
	return node.Annotations[keyAnnotation]
}

// testEncryptionOff: without encryption again, packets are in the tunnel, and neither device nor key remains. Then it is on again.
func testEncryptionOff(t *testing.T, s *suite) {
	s.setTrafficMode(t, "encap", s.Nodes...)
	s.requireWay(t, false, func() { pingICMP(t, s.client.Space, s.far.IP) })
	for _, n := range s.Nodes[:2] {
		eventually(t, "the device and the key to go", func() error {
			if links := succeeds(t, n.Space, "ip", "-brief", "link"); strings.Contains(links, "antrea-wg0") || s.keyOf(t, n) != "" {
				return fmt.Errorf("key %q, devices %s", s.keyOf(t, n), links)
			}
			return nil
		})
	}
	requireOwnRoutes(t, s.node1, s.node2.PodCIDR, "dev antrea-gw0")
	s.setTrafficMode(t, wireGuardMode, s.Nodes...)
	requireOwnRoutes(t, s.node1, s.node2.PodCIDR, "dev antrea-wg0")
	s.waitPing(t)
	s.requireNothingInClear(t, func() { pingICMP(t, s.client.Space, s.far.IP) })
}
