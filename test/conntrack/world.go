// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/cilium/ebpf/link"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/tracking"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// lease is short, so that a sequence of a few seconds spans several leases.
const lease = time.Second

// timeouts are conntrack's, in seconds. They are short, ordered like the kernel's, and so different that an entry's remaining
// time shows which of them it has. (Unacknowledged data and retransmissions have the same timeout, as by default.)
var timeouts = map[string]int{
	"tcp_timeout_established": 120, "tcp_timeout_unacknowledged": 45, "tcp_timeout_max_retrans": 45,
	"tcp_timeout_syn_sent": 12, "tcp_timeout_syn_recv": 8, "tcp_timeout_fin_wait": 35, "tcp_timeout_close_wait": 25,
	"tcp_timeout_last_ack": 16, "tcp_timeout_time_wait": 20, "tcp_timeout_close": 14, "udp_timeout": 14, "udp_timeout_stream": 35,
	// The tunnel's outer packets are not tracked here.
	"tcp_be_liberal": 1,
}

const (
	epoch    = 5
	podSlot  = 3
	peerSlot = 7
)

// keysAfter is the time for which a new cache gives no keys for rewritten packets, and rewritePort the port of such
// packets.
const (
	keysAfter   = 20 * time.Second
	rewritePort = 585
)

// variant is the variant of a world: the IP version of Pods, whether a cache rewrites packets instead of encapsulating them, and whether
// there is a tunnel at all.
type variant struct{ ipv6, rewrite, direct bool }

// world is two Nodes with a Pod each, with a cache or without.
type world struct {
	*nodepair.Pair
	caches  []*cache
	sockets [2]*afpacket.Socket
	stop    chan struct{}
	losses  []link.Link
}

// cache is the cache of one Node, with the component that maintains conntrack.
type cache struct {
	*datapath.Datapath
	runner *tracking.Runner
	tables []*conntrack.Table
	pins   string
	node   *nodepair.Node
}

// newWorld makes a world. If packets must be rewritten, keys can be given when it returns.
func newWorld(name string, accelerated bool, v variant) (w *world, err error) {
	w = &world{stop: make(chan struct{})}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	// Rewritten packets, and packets without a tunnel, go to Nodes' addresses of the Pods' version.
	if w.Pair, err = nodepair.New(nodepair.Options{Inner6: v.ipv6, Outer6: v.ipv6 && (v.rewrite || v.direct), Direct: v.direct}); err != nil {
		return w, err
	}
	for i, n := range w.Nodes {
		if err := w.configure(n); err != nil {
			return w, err
		}
		if accelerated {
			c, err := startCache(fmt.Sprintf("%s-%d", name, i), v, w.PodZone(), n, w.Nodes[1-i])
			if err != nil {
				return w, err
			}
			w.caches = append(w.caches, c)
			go c.runner.Run(w.stop)
		}
		if err := n.Pod.Do(func() error {
			device, err := net.InterfaceByName(nodepair.InPod)
			if err != nil {
				return err
			}
			w.sockets[i], err = afpacket.Open(device.Index, false)
			return err
		}); err != nil {
			return w, err
		}
	}
	if accelerated && v.rewrite {
		time.Sleep(keysAfter)
	}
	return w, nil
}

// configure makes the Node do the same as the pipeline: invalid packets are dropped, and a policy lets only the first Pod
// open connections, to the second. The Pods' own stacks receive nothing. No packets are merged, so that they can be
// counted.
func (w *world) configure(n *nodepair.Node) error {
	firewall := nodepair.Firewall(w.Inner6)
	if err := w.Marker(n.Host).Mark(epoch); err != nil {
		return err
	}
	for name, value := range timeouts {
		if err := nodepair.Run(n.Host, fmt.Sprintf("echo %d >/proc/sys/net/netfilter/nf_conntrack_%s", value, name)); err != nil {
			return err
		}
	}
	script := firewall + ` -w -A FORWARD -m conntrack --ctstate INVALID -j DROP
		` + firewall + ` -w -A FORWARD -s ` + w.Nodes[1].PodIP.String() + ` -m conntrack --ctstate NEW -j DROP
		`
	devices := []string{nodepair.Uplink, nodepair.PodIf, nodepair.Tunnel}
	if w.Direct {
		devices = []string{nodepair.Uplink, nodepair.PodIf, nodepair.GatewayIf, nodepair.SwitchIf}
	}
	for _, device := range devices {
		script += "ethtool -K " + device + " gro off\n"
	}
	if err := nodepair.Run(n.Host, script); err != nil {
		return err
	}
	loss, err := lossyWire(n, w.Options)
	if err != nil {
		return err
	}
	w.losses = append(w.losses, loss)
	return nodepair.Run(n.Pod, firewall+" -w -t raw -A PREROUTING -i "+nodepair.InPod+" -j DROP; ethtool -K "+nodepair.InPod+" gro off")
}

// startCache starts the cache of a Node that tracks the Pods' connections in a zone.
func startCache(name string, v variant, zone uint16, n, peer *nodepair.Node) (c *cache, err error) {
	c = &cache{pins: filepath.Join(sandbox.BPFFS, name), node: n}
	if c.Datapath, err = datapath.Load(datapath.Options{PinPath: c.pins, MaxFlows: 1 << 16, MaxFlows6: 1 << 16, Rewrite: v.rewrite, Direct: v.direct}); err != nil {
		return c, err
	}
	err = n.Host.Do(func() error {
		pod, err := net.InterfaceByName(nodepair.PodIf)
		if err != nil {
			return err
		}
		uplink, err := net.InterfaceByName(nodepair.Uplink)
		if err != nil {
			return err
		}
		if err := errors.Join(c.Attach(pod.Index, datapath.RolePod), c.Attach(uplink.Index, datapath.RoleUplink)); err != nil {
			return err
		}
		if err := c.announce(n, pod.Index, uplink.Index); err != nil {
			return err
		}
		if err := c.announcePeer(peer, v.direct); err != nil {
			return err
		}
		return c.track(zone)
	})
	if err != nil {
		return c, err
	}
	c.SetMode(datapath.ModeEnforce)
	return c, nil
}

// announce tells the cache about its Node and the Pod.
func (c *cache) announce(n *nodepair.Node, podIf, uplinkIf int) error {
	endpoint := datapath.Endpoint{IfIndex: podIf, MAC: n.PodMAC, GatewayMAC: n.Gateway}
	if n.PodIP.Is6() {
		endpoint.IPv6 = n.PodIP
	} else {
		endpoint.IPv4 = n.PodIP
	}
	uplink := datapath.Uplink{
		IfIndex: uplinkIf, MAC: n.UplinkMAC, TunnelPort: nodepair.TunnelPort, RewritePort: rewritePort, PortFirst: 32768, PortCount: 28231,
		TunnelHeader: [8]byte{8}, VirtualMAC: n.TunnelMAC,
	}
	if n.Transport.Is6() {
		uplink.IPv6 = n.Transport
	} else {
		uplink.IPv4 = n.Transport
	}
	c.SetUplink(uplink, uint64(lease))
	generation, _ := c.EndpointState(podSlot)
	c.PublishEndpoint(podSlot, generation+1, 0)
	if err := c.SetEndpoint(podSlot, endpoint); err != nil {
		return err
	}
	c.PublishEndpoint(podSlot, generation+1, epoch)
	return nil
}

// announcePeer tells the cache about the other Node. Without a tunnel, packets also pass the gateway's interface.
func (c *cache) announcePeer(peer *nodepair.Node, direct bool) error {
	if direct {
		gateway, err := net.InterfaceByName(nodepair.GatewayIf)
		if err != nil {
			return err
		}
		if err := c.Attach(gateway.Index, datapath.RoleGateway); err != nil {
			return err
		}
		c.SetDirectNode(peerSlot, peer.Transport)
	} else {
		c.SetNode(peerSlot, peer.Transport)
	}
	c.SetNodeMTU(peerSlot, nodepair.WireMTU)
	c.SetNodeRewrites(peerSlot, true) // which programs that encapsulate ignore
	return c.AddPodNetwork(peer.PodNetwork, peerSlot)
}

// track starts to maintain the conntrack table of the calling thread's namespace.
func (c *cache) track(zone uint16) error {
	var tables [2]tracking.Table
	for i := range tables {
		table, err := conntrack.OpenTable()
		if err != nil {
			return err
		}
		c.tables, tables[i] = append(c.tables, table), table
	}
	kernel, err := tracking.ReadTimeouts(tracking.SysctlPath)
	if err != nil {
		return err
	}
	c.runner, err = tracking.New(tracking.Config{
		Cache: c.Datapath, Lease: lease, Tables: tables, Timeouts: func() (tracking.Timeouts, error) { return kernel, nil },
		ZoneIPv4: zone, ZoneIPv6: zone,
	})
	return err
}

// table is a zone of conntrack on a Node.
type table struct {
	node int
	zone uint16
}

func (t table) String() string {
	return fmt.Sprintf("zone %d on the Node of the %s", t.zone, side(t.node))
}

// tables are the zones that have the Pods' connections. Without a tunnel, the host has entries of its own.
func (w *world) tables() []table {
	all := []table{{0, w.PodZone()}, {1, w.PodZone()}}
	if w.Direct {
		all = append(all, table{0, 0}, table{1, 0})
	}
	return all
}

// entries returns the Pods' connections in a table, by the client's port.
func (w *world) entries(in table) (map[uint16]*conntrack.Connection, error) {
	found := map[uint16]*conntrack.Connection{}
	err := w.Nodes[in.node].Host.Do(func() error {
		return conntrack.List([]uint16{in.zone}, func(c *conntrack.Connection) bool {
			switch {
			case c.Original.Source == w.Nodes[0].PodIP:
				found[c.Original.SourcePort] = c
			case c.Original.Source == w.Nodes[1].PodIP: // opened from both sides
				found[c.Original.DestinationPort] = c
			}
			return true
		})
	})
	return found, err
}

// hits returns the number of packets that have taken the fast path, and of those that were rewritten there.
func (w *world) hits() (all, rewritten uint64, err error) {
	for _, c := range w.caches {
		counters, err := c.Counters()
		if err != nil {
			return 0, 0, err
		}
		all += counters["egress"]["hit"] + counters["egress"]["hit_rewritten"]
		rewritten += counters["egress"]["hit_rewritten"]
	}
	return all, rewritten, nil
}

func (w *world) close() error {
	close(w.stop)
	var errs []error
	for _, c := range w.caches {
		errs = append(errs, c.node.Host.Do(func() error { return datapath.RemoveAll(c.pins) }))
		for _, table := range c.tables {
			table.Close()
		}
		errs = append(errs, c.Datapath.Close())
	}
	for _, s := range w.sockets {
		if s != nil {
			s.Close()
		}
	}
	for _, l := range w.losses {
		errs = append(errs, l.Close())
	}
	if w.Pair != nil {
		w.Pair.Close()
	}
	return errors.Join(errs...)
}
