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
	// rewrite: the programs rewrite packets once the Nodes have told each other keys. direct: there is no tunnel.
	rewrite, direct bool
	nodes           [2]*routerNode
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
	return (&routers{family: f}).start(t)
}

// newRewritingRouters is newRouters with programs that rewrite packets.
func newRewritingRouters(t *testing.T, f harness.Family) *routers {
	t.Helper()
	return (&routers{family: f, rewrite: true}).start(t)
}

// newDirectRouters is newRouters without a tunnel, for one IP version.
func newDirectRouters(t *testing.T, six bool) *routers {
	t.Helper()
	return (&routers{family: harness.Family{Inner6: six, Outer6: six}, direct: true}).start(t)
}

func (r *routers) start(t *testing.T) *routers {
	t.Helper()
	sandbox.RequireRoot(t)
	f := r.family
	if f.Inner6 != f.Outer6 && harness.Minor(t, harness.KernelRelease(t)) < 6003 {
		t.Skip("the kernel decapsulates another IP version from Linux 6.3 on")
	}
	pair, err := nodepair.New(r.options())
	require.NoError(t, err)
	t.Cleanup(pair.Close)
	for i, n := range pair.Nodes {
		r.nodes[i] = &routerNode{Node: n}
		// The Pods' own stacks get nothing.
		run(t, n.Pod, nodepair.Firewall(f.Inner6)+" -t raw -A PREROUTING -i eth0 -j DROP")
		require.NoError(t, pair.Marker(n.Host).Mark(harness.Epoch))
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

func (r *routers) options() nodepair.Options {
	return nodepair.Options{Inner6: r.family.Inner6, Outer6: r.family.Outer6, Direct: r.direct}
}

// load makes the Node's cache and attaches its programs.
func (r *routers) load(t *testing.T, n, peer *routerNode, index int) {
	t.Helper()
	pins := filepath.Join(sandbox.BPFFS, fmt.Sprintf("routers-%s-%d", strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), index))
	d, err := datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 4096, Rewrite: r.rewrite, Direct: r.direct})
	harness.RequireVerified(t, err)
	n.Datapath, n.pins = d, pins
	t.Cleanup(func() {
		require.NoError(t, n.Host.Do(func() error { return datapath.RemoveAll(pins) }))
		require.NoError(t, d.Close())
	})
	require.NoError(t, n.Host.Do(func() (err error) {
		if n.podIf, err = n.attach(nodepair.PodIf, datapath.RolePod); err != nil {
			return err
		}
		if n.upIf, err = n.attach(nodepair.Uplink, datapath.RoleUplink); err != nil || !r.direct {
			return err
		}
		_, err = n.attach(nodepair.GatewayIf, datapath.RoleGateway)
		return err
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
	if r.direct {
		d.SetDirectNode(harness.PeerSlot, peer.Transport)
	} else {
		d.SetNode(harness.PeerSlot, peer.Transport)
	}
	d.SetNodeMTU(harness.PeerSlot, 1500)
	if r.rewrite {
		d.SetNodeRewrites(harness.PeerSlot, true)
		in := harness.Look(t, pins)
		in.Control().KeysFrom = 0
		require.NoError(t, in.Close())
	}
	require.NoError(t, d.AddPodNetwork(peer.PodNetwork, harness.PeerSlot))
}

// attach attaches the programs of a role to a device in this thread's namespace, and returns its index.
func (n *routerNode) attach(device string, role datapath.Role) (int, error) {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return 0, err
	}
	return link.Index, n.Attach(link.Index, role)
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
		ReceiverMAC: b.PodMAC, ReceiverGatewayMAC: b.Gateway, Receiver: b.PodIP, MTU: r.options().PodMTU(),
		Direct: r.direct,
	}
	slow := nodepair.Tunnel
	if r.direct {
		slow = nodepair.SwitchIf
	}
	out := rig.New(t, world, map[equality.Point]rig.Place{
		equality.Sender:          {Space: a.Pod, Device: "eth0"},
		equality.SendingTunnel:   {Space: a.Host, Device: slow},
		equality.Wire:            {Space: b.Host, Device: "up0"},
		equality.ReceivingTunnel: {Space: b.Host, Device: slow},
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
