// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/equality"
	"github.com/antrea-oncache/antrea/test/tools/equality/rig"
)

// newRig sets up a rig between two Pods, the sender on the first Node. Their own stacks receive nothing from now on.
func (s *suite) newRig(t *testing.T, sender, receiver *cluster.Pod) *rig.Rig {
	t.Helper()
	for _, pod := range []*cluster.Pod{sender, receiver} {
		drop := []string{"-t", "raw", "-I", "PREROUTING", "-i", "eth0", "-j", "DROP"}
		if s.ipv6 {
			drop = append(drop, "!", "-p", "icmpv6") // neighbor discovery continues
		}
		succeeds(t, pod.Space, append([]string{s.iptables()}, drop...)...)
	}
	mac := func(space *cluster.Space, device string) net.HardwareAddr {
		address, err := net.ParseMAC(macOf(t, space, device))
		require.NoError(t, err)
		return address
	}
	world := equality.World{
		SenderMAC: mac(sender.Space, "eth0"), SenderGatewayMAC: mac(s.node1.Space, "antrea-gw0"), Sender: sender.IP,
		ReceiverMAC: mac(receiver.Space, "eth0"), ReceiverGatewayMAC: mac(receiver.Node.Space, "antrea-gw0"), Receiver: receiver.IP,
		MTU: s.podMTU(), Rewriting: s.rewrites,
	}
	b := rig.New(t, world, map[equality.Point]rig.Place{
		equality.Sender:          {Space: sender, Device: "eth0"},
		equality.SendingTunnel:   {Space: s.node1, Device: s.tunnelDevice()},
		equality.Wire:            {Space: s.Fabric, Device: s.node1.Name},
		equality.ReceivingTunnel: {Space: s.node2, Device: s.tunnelDevice()},
		equality.Receiver:        {Space: receiver, Device: "eth0"},
	}, rig.Place{Space: s.Fabric, Device: s.node2.Name})
	b.Transport = s.transportIP(s.node1)
	if s.rewrites {
		b.RewritePort = rewritePort
	}
	b.Captures = os.Getenv("TESTBED_ARTIFACTS")
	b.SwitchCache = func(t *testing.T, on bool) {
		t.Helper()
		if on {
			s.setMode(t, "enforce", api.StateActive)
		} else {
			s.setMode(t, "off", api.StateOff)
		}
	}
	b.Forget = func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
		defer cancel()
		for _, n := range s.Nodes {
			// It fails when there is nothing to delete.
			_, _ = n.Exec(ctx, "conntrack", "-D", "-f", s.family(), "--orig-src", sender.IP.String())
		}
	}
	return b
}

const uplinkMTU = 1500

// podMTU is the uplink's MTU minus the longest outer headers, if Pods' packets can have any.
func (s *suite) podMTU() int {
	switch s.mode {
	case "noEncap":
		return uplinkMTU
	case wireGuardMode:
		return uplinkMTU - 60
	}
	if s.Nodes[0].IPs[len(s.Nodes[0].IPs)-1].Is6() {
		return uplinkMTU - 70
	}
	return uplinkMTU - 50
}

// setMTU sets the MTU of both ends of a Pod's interface until the test ends.
func setMTU(t *testing.T, pod *cluster.Pod, mtu int) {
	t.Helper()
	set := func(mtu int) (old int) {
		var peer int
		require.NoError(t, pod.Do(func() error {
			link, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			old, peer = link.Attrs().MTU, link.Attrs().ParentIndex
			return netlink.LinkSetMTU(link, mtu)
		}))
		require.NoError(t, pod.Node.Do(func() error {
			link, err := netlink.LinkByIndex(peer)
			if err != nil {
				return err
			}
			return netlink.LinkSetMTU(link, mtu)
		}))
		return old
	}
	old := set(mtu)
	t.Cleanup(func() { set(old) })
}
