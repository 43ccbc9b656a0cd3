// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/sourceport"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/tools/equality"
	"github.com/antrea-oncache/antrea/test/tools/equality/rig"
)

// routers are two Nodes without Open vSwitch (package nodepair), each with a cache.
type routers struct {
	family harness.Family
	// rewrite: the programs rewrite packets once the Nodes have told each other keys.
	rewrite bool
	nodes   [2]*routerNode
}

// routerNode is a Node with its cache.
type routerNode struct {
	*nodepair.Node
	*datapath.Datapath
	podIf, upIf int
	// pins is the directory below which its maps are pinned.
	pins string
}

// vxlanHeader is the header of network identifier 0 (RFC 7348).
var vxlanHeader = [8]byte{8}

func newRouters(t *testing.T, f harness.Family) *routers {
	t.Helper()
	return newRoutersOf(t, f, false)
}

// newRewritingRouters is newRouters with programs that rewrite packets.
func newRewritingRouters(t *testing.T, f harness.Family) *routers {
	t.Helper()
	return newRoutersOf(t, f, true)
}

func newRoutersOf(t *testing.T, f harness.Family, rewrite bool) *routers {
	t.Helper()
	sandbox.RequireRoot(t)
	if f.Inner6 != f.Outer6 && harness.Minor(t, harness.KernelRelease(t)) < 6003 {
		t.Skip("the kernel decapsulates another IP version from Linux 6.3 on")
	}
	pair, err := nodepair.New(nodepair.Options{Inner6: f.Inner6, Outer6: f.Outer6})
	require.NoError(t, err)
	t.Cleanup(pair.Close)
	r := &routers{family: f, rewrite: rewrite}
	for i, n := range pair.Nodes {
		r.nodes[i] = &routerNode{Node: n}
		// The Pods' own stacks get nothing.
		run(t, n.Pod, nodepair.Firewall(f.Inner6)+" -t raw -A PREROUTING -i eth0 -j DROP")
		require.NoError(t, (&nodepair.Marker{In: n.Host, IPv6: f.Inner6}).Mark(harness.Epoch))
		run(t, n.Host, "echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal")
	}
	for i, n := range r.nodes {
		r.load(t, n, r.nodes[1-i], i)
	}
	return r
}

// namespace returns a thread with a network namespace of its own.
func namespace(t *testing.T) *proc.Thread {
	t.Helper()
	thread, err := nodepair.NewNamespace()
	require.NoError(t, err)
	t.Cleanup(thread.Close)
	return thread
}

// run runs a shell script in a namespace.
func run(t *testing.T, in *proc.Thread, script string) {
	t.Helper()
	require.NoError(t, nodepair.Run(in, script))
}

// podMTU is 1500 bytes minus the tunnel's headers.
func (r *routers) podMTU() int {
	return nodepair.Options{Inner6: r.family.Inner6, Outer6: r.family.Outer6}.PodMTU()
}

// load makes the Node's cache and attaches its programs.
func (r *routers) load(t *testing.T, n, peer *routerNode, index int) {
	t.Helper()
	pins := filepath.Join(sandbox.BPFFS, fmt.Sprintf("routers-%s-%d", strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), index))
	d, err := datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 4096, Rewrite: r.rewrite})
	harness.RequireVerified(t, err)
	n.Datapath, n.pins = d, pins
	t.Cleanup(func() {
		require.NoError(t, n.Host.Do(func() error { return datapath.RemoveAll(pins) }))
		require.NoError(t, d.Close())
	})
	require.NoError(t, n.Host.Do(func() error {
		for name, index := range map[string]*int{"h0": &n.podIf, "up0": &n.upIf} {
			link, err := net.InterfaceByName(name)
			if err != nil {
				return err
			}
			*index = link.Index
		}
		if err := d.Attach(n.podIf, datapath.RolePod); err != nil {
			return err
		}
		return d.Attach(n.upIf, datapath.RoleUplink)
	}))
	ports, err := sourceport.VXLAN()
	require.NoError(t, err)
	uplink := datapath.Uplink{
		IfIndex: n.upIf, MAC: n.UplinkMAC, TunnelPort: nodepair.TunnelPort, RewritePort: harness.RewritePort, PortFirst: ports.First, PortCount: ports.Count, TunnelHeader: vxlanHeader, VirtualMAC: n.TunnelMAC,
	}
	endpoint := datapath.Endpoint{IfIndex: n.podIf, MAC: n.PodMAC, GatewayMAC: n.Gateway}
	if r.family.Outer6 {
		uplink.IPv6 = n.Transport
	} else {
		uplink.IPv4 = n.Transport
	}
	if r.family.Inner6 {
		endpoint.IPv6 = n.PodIP
	} else {
		endpoint.IPv4 = n.PodIP
	}
	d.SetUplink(uplink, uint64(5*time.Second))
	require.NoError(t, d.Attend(time.Hour))
	generation, _ := d.EndpointState(harness.PodSlot)
	d.PublishEndpoint(harness.PodSlot, generation+1, 0)
	require.NoError(t, d.SetEndpoint(harness.PodSlot, endpoint))
	d.PublishEndpoint(harness.PodSlot, generation+1, harness.Epoch)
	d.SetNode(harness.PeerSlot, peer.Transport)
	d.SetNodeMTU(harness.PeerSlot, 1500)
	if r.rewrite {
		d.SetNodeRewrites(harness.PeerSlot, true)
		in := harness.Look(t, pins)
		in.Control().KeysFrom = 0
		require.NoError(t, in.Close())
	}
	require.NoError(t, d.AddPodNetwork(peer.PodNetwork, harness.PeerSlot))
}

// newRig sets a rig up, from the first Node's Pod to the second's.
func (r *routers) newRig(t *testing.T) *rig.Rig {
	t.Helper()
	return r.newRigTo(t, rig.Place{Space: r.nodes[1].Pod, Device: "eth0"})
}

// newRigTo is newRig with another interface at which packets are to arrive.
func (r *routers) newRigTo(t *testing.T, receiver rig.Place) *rig.Rig {
	t.Helper()
	a, b := r.nodes[0], r.nodes[1]
	world := equality.World{
		SenderMAC: a.PodMAC, SenderGatewayMAC: a.Gateway, Sender: a.PodIP,
		ReceiverMAC: b.PodMAC, ReceiverGatewayMAC: b.Gateway, Receiver: b.PodIP, MTU: r.podMTU(),
	}
	out := rig.New(t, world, map[equality.Point]rig.Place{
		equality.Sender:          {Space: a.Pod, Device: "eth0"},
		equality.SendingTunnel:   {Space: a.Host, Device: "vx0"},
		equality.Wire:            {Space: b.Host, Device: "up0"},
		equality.ReceivingTunnel: {Space: b.Host, Device: "vx0"},
		equality.Receiver:        receiver,
	}, rig.Place{Space: a.Host, Device: "up0"})
	out.Transport = a.Transport
	out.Captures = t.TempDir()
	out.SwitchCache = func(_ *testing.T, on bool) {
		for _, n := range r.nodes {
			n.SetMode(datapath.ModeOff)
			n.BumpAll()
			if on {
				n.SetMode(datapath.ModeEnforce)
			}
		}
	}
	if r.rewrite {
		out.RewritePort = harness.RewritePort
	}
	out.Forget = func(t *testing.T) {
		for _, n := range r.nodes {
			run(t, n.Host, "conntrack -F")
		}
	}
	return out
}
