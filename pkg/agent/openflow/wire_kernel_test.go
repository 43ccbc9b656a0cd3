// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// link is one end of a port's cable; the other end is in the bridge.
type link interface {
	inject(frame []byte)
	// next waits for the next frame that the port sends, pending tells whether there is one.
	next() []byte
	pending() bool
}

// dummyLink is a port that exists inside vswitchd only.
type dummyLink struct {
	o    *ovstest.OVS
	name string
	*ovstest.Capture
}

func newDummyLink(o *ovstest.OVS, name string, ofPort uint32) link {
	o.Vsctl("add-port", oftest.BridgeName, name, "--", "set", "interface", name, "type=dummy", fmt.Sprintf("ofport_request=%d", ofPort))
	return dummyLink{o, name, o.Capture(name)}
}

func (l dummyLink) inject(frame []byte) { l.o.Inject(l.name, frame) }
func (l dummyLink) next() []byte        { return l.Next() }
func (l dummyLink) pending() bool       { return l.Pending() }

// vethLink is a port of the kernel's datapath.
type vethLink struct {
	t      testing.TB
	socket *afpacket.Socket
	queue  [][]byte
}

func newVethLink(t testing.TB, o *ovstest.OVS, name string, ofPort uint32) link {
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "-x"}
	require.NoError(t, netlink.LinkAdd(pair))
	peer, err := netlink.LinkByName(pair.PeerName)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(pair))
	require.NoError(t, netlink.LinkSetUp(peer))
	socket, err := afpacket.Open(peer.Attrs().Index, false)
	require.NoError(t, err)
	t.Cleanup(socket.Close)
	o.Vsctl("add-port", oftest.BridgeName, name, "--", "set", "interface", name, fmt.Sprintf("ofport_request=%d", ofPort))
	return &vethLink{t: t, socket: socket}
}

func (l *vethLink) inject(frame []byte) {
	require.NoError(l.t, l.socket.Send(afpacket.Frame{Data: frame}))
}

// receive waits for a frame.
func (l *vethLink) receive(wait time.Duration) bool {
	for len(l.queue) == 0 {
		f, ok, err := l.socket.Receive(wait)
		require.NoError(l.t, err)
		if !ok {
			return false
		}
		if f.Type != afpacket.Outgoing {
			l.queue = append(l.queue, bytes.Clone(f.Data))
		}
	}
	return true
}

func (l *vethLink) next() []byte {
	require.True(l.t, l.receive(20*time.Second), "no frame")
	frame := l.queue[0]
	l.queue = l.queue[1:]
	return frame
}

func (l *vethLink) pending() bool { return l.receive(0) }

// eachDatapath runs a test with Open vSwitch's datapath in user space and, where the machine has it, in the kernel: their connection
// tracking differs.
func eachDatapath(t *testing.T, test func(*testing.T, *wire)) {
	eachDatapathWith(t, oftest.ProxyAllFeatures, test)
}

// eachDatapathWith is eachDatapath with a choice of the features.
func eachDatapathWith(t *testing.T, features openflow.Features, test func(*testing.T, *wire)) {
	eachDatapathOf(t, features, oftest.DualStackNode, test)
}

// eachDatapathOf is eachDatapathWith with a choice of the Node.
func eachDatapathOf(t *testing.T, features openflow.Features, node *config.NodeConfig, test func(*testing.T, *wire)) {
	t.Run("user space", func(t *testing.T) {
		test(t, newWireOn(t, false, false, features, node))
	})
	t.Run("kernel", func(t *testing.T) {
		if _, err := netlink.GenlFamilyGet("ovs_datapath"); err != nil {
			t.Skipf("this machine has no Open vSwitch in its kernel: %v", err)
		}
		waitUptime(t)
		// The thread stays in its new namespace, and ends with the test.
		runtime.LockOSThread()
		require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
		// IPv6 would send frames of its own.
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0))
		test(t, newWireOn(t, true, true, features, node))
	})
}

// waitUptime waits until Open vSwitch 3.1 can be started: in the first 10 s after boot it computes 0 handler threads, and loses every upcall.
func waitUptime(t *testing.T) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		text, err := os.ReadFile("/proc/uptime")
		require.NoError(c, err)
		var seconds float64
		_, err = fmt.Sscan(string(text), &seconds)
		require.NoError(c, err)
		require.Greater(c, seconds, 10.0)
	}, 20*time.Second, 100*time.Millisecond)
}
