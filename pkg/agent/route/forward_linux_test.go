// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// host is a namespace beside the Node's.
type host string

// newHost makes a namespace, with a device of the Node's.
func newHost(t *testing.T, node netns.NsHandle, device string, addresses ...string) host {
	t.Helper()
	ns, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ns.Close()) })
	require.NoError(t, netns.Set(node))
	h := host(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns))
	run(t, "ip", "link", "set", device, "netns", string(h))
	h.run(t, "ip", "link", "set", device, "up")
	for _, a := range addresses {
		h.run(t, "ip", "address", "add", a, "dev", device)
	}
	return h
}

func (h host) command(args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=" + string(h)}, args...)...)
}

func (h host) run(t *testing.T, args ...string) {
	t.Helper()
	out, err := h.command(args...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
}

// reaches reports whether an echo request to the address is answered.
func (h host) reaches(address string) bool {
	return h.command("ping", "-c1", "-W1", address).Run() == nil
}

// refused returns the number of packets that the policy of FORWARD has dropped.
func refused(t *testing.T) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^:FORWARD DROP \[(\d+):`).FindStringSubmatch(run(t, "iptables-save", "-c", "-t", "filter"))
	require.NotNil(t, match)
	return match[1]
}

// newForwardingNode makes a Node whose own rules forward nothing, with a Pod behind the gateway port and a host on the uplink.
func newForwardingNode(t *testing.T) (node netns.NsHandle, pod, outside host) {
	t.Helper()
	node = newNetNS(t)
	newGateway(t)
	newUplink(t)
	run(t, "iptables", "-P", "FORWARD", "DROP")
	pod = newHost(t, node, "pipeline", "10.10.0.5/24")
	pod.run(t, "ip", "route", "add", "default", "via", "10.10.0.1")
	outside = newHost(t, node, "wire0", "192.168.77.12/24")
	return node, pod, outside
}

// TestForwardedWithoutTunnel: packets of Pods pass a FORWARD chain that drops whatever its rules do not accept, in both directions, by the agent's rules
// and no others.
func TestForwardedWithoutTunnel(t *testing.T) {
	_, pod, peer := newForwardingNode(t)
	peer.run(t, "ip", "address", "add", "10.10.1.5/24", "dev", "wire0")
	peer.run(t, "ip", "route", "add", localCIDR.String(), "via", "192.168.77.11", "src", "10.10.1.5")
	network, node := testConfigs()
	network.TrafficEncapMode = config.TrafficEncapModeNoEncap
	c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", directTo("192.168.77.12"), peerGateway))
	require.True(t, pod.reaches("10.10.1.5"))
	require.True(t, peer.reaches("10.10.0.5"))
	require.Equal(t, "0", refused(t))

	peer.run(t, "ip", "route", "add", "203.0.113.0/24", "via", "192.168.77.11")
	run(t, "ip", "route", "add", "203.0.113.0/24", "via", "192.168.77.99")
	require.False(t, peer.reaches("203.0.113.9"))
	require.Equal(t, "1", refused(t), "the Node forwards nothing else")

	run(t, "iptables", "-D", "FORWARD", "-j", "ANTREA-FORWARD")
	require.False(t, pod.reaches("10.10.1.5"))
	require.False(t, peer.reaches("10.10.0.5"))
	require.NoError(t, c.sync(t.Context()))
	require.True(t, pod.reaches("10.10.1.5"))
}

// TestForwardedEncrypted: the same with encryption. The Node also forwards what comes from outside to Pods of other Nodes, as for a NodePort, and its
// answers, but nothing that a peer begins.
func TestForwardedEncrypted(t *testing.T) {
	node, pod, outside := newForwardingNode(t)
	makeWireGuard(t)
	peer := newHost(t, node, "cipher", "10.10.1.5/24")
	for _, to := range []string{localCIDR.String(), "192.168.77.0/24"} {
		peer.run(t, "ip", "route", "add", to, "via", "10.10.0.1", "dev", "cipher", "onlink")
	}
	outside.run(t, "ip", "route", "add", peerCIDR.String(), "via", "192.168.77.11")
	network, this := testConfigs()
	network.WireGuardPort = 51820
	c, err := NewClient(network, this, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway))
	require.True(t, pod.reaches("10.10.1.5"))
	require.True(t, peer.reaches("10.10.0.5"))
	require.True(t, outside.reaches("10.10.1.5"))
	require.Equal(t, "0", refused(t))
	require.False(t, peer.reaches("192.168.77.12"))
	require.Equal(t, "1", refused(t))

	run(t, "iptables", "-D", "FORWARD", "-j", "ANTREA-FORWARD")
	for from, to := range map[host]string{pod: "10.10.1.5", peer: "10.10.0.5", outside: "10.10.1.5"} {
		require.False(t, from.reaches(to))
	}
}
