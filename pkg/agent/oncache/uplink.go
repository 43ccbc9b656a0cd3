// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// uplinkKeeper keeps the cache in step with the kernel's routes to the other Nodes, and turns the fast path off while the transport
// interface cannot carry it. It never takes a lock that a slow Open vSwitch could hold.
type uplinkKeeper struct {
	config *Config
	mode   *modeControl
	// nodesChanged tells the watcher that the set of Nodes may have changed.
	nodesChanged chan struct{}
	// gatewayChanged is called when the gateway's device is gone, or its name has moved to another device.
	gatewayChanged func()
	// gateway is the index of that device, 0 while it is not known.
	gateway atomic.Int32
	// evictions counts the evictions of all entries, evictedNodes the evictions of one Node's entries.
	evictions, evictedNodes atomic.Uint64
	failures                *failures
	// refusal is the reason why rewritten packets cannot arrive at present.
	refusal refusal

	// dp is set before begin; uplink is the last uplink given to the programs.
	dp     *datapath.Datapath
	uplink datapath.Uplink
	tunnel tunnelKeeper
	// direct are the Pod networks that are reached without the tunnel.
	direct directNetworks
	// paths are the paths with which present entries were learned, nil while unknown; addressRemoved is set while one of the transport
	// addresses is gone. They belong to the watcher.
	paths          *paths
	addressRemoved bool
}

func newUplinkKeeper(config *Config) *uplinkKeeper {
	k := &uplinkKeeper{config: config, nodesChanged: make(chan struct{}, 1), failures: &failures{}, gatewayChanged: func() {}}
	k.mode = &modeControl{set: func(mode datapath.Mode) { k.dp.SetMode(mode) }, evict: k.evictAll, observer: noObserver{}}
	return k
}

// begin describes the uplink to the datapath and attaches to it. It sets no mode.
func (k *uplinkKeeper) begin(dp *datapath.Datapath, uplink datapath.Uplink) error {
	k.dp, k.uplink = dp, uplink
	k.tunnel.keep(dp, k.config.TunnelDevice)
	k.checkMerging()
	return dp.Attach(uplink.IfIndex, datapath.RoleUplink)
}

// evictAll voids all entries and all learned outer headers.
func (k *uplinkKeeper) evictAll() {
	k.dp.BumpUplink()
	k.evictions.Add(1)
}

// watch evicts everything when the kernel's path to the other Nodes changes: the cached headers were made for the old one.
// Open vSwitch is not involved: its tunnel device asks the kernel whether the route of each packet still holds.
func (k *uplinkKeeper) watch(stopCh <-chan struct{}) {
	for {
		err := recovery.Call(boundaryName, recovery.Part("ONCache uplink"), func() error { return k.watchOnce(stopCh) })
		if recovery.Is(err) {
			k.mode.suspend(err) // until it has been checked again
			k.paths = nil
		}
		select {
		case <-stopCh:
			return
		case <-time.After(retryInterval):
			k.failures.add(operationUplink)
			klog.ErrorS(err, "Lost a netlink subscription, subscribing again and looking for changes")
		}
	}
}

// refresh reads the uplink again and evicts all flows, and reports whether the uplink is usable. While it is not, the fast
// path is off.
func (k *uplinkKeeper) refresh(why string) (usable bool) {
	uplink, err := k.lookUp()
	if was := k.mode.uplink(); err != nil && was != nil && err.Error() == was.Error() {
		return false // nothing has changed since the last attempt
	}
	klog.InfoS("Evicting all ONCache flows", "why", why, "uplink", k.config.Uplink)
	if err != nil {
		klog.ErrorS(err, "The transport interface is not usable now, all traffic takes the slow path")
		k.mode.suspend(err)
	} else {
		k.uplink = uplink
		k.dp.SetUplink(uplink, uint64(k.config.Lease))
	}
	k.paths = k.readPaths() // what changes after this is evicted
	k.evictAll()
	k.maintainNodes()
	k.checkMerging()
	k.mode.suspend(err)
	return err == nil
}

// lookUp finds the transport interface in its present state and attaches to it. An error says why it cannot carry the fast
// path.
func (k *uplinkKeeper) lookUp() (datapath.Uplink, error) {
	uplink, err := readUplink(k.config)
	if err != nil {
		return uplink, err
	}
	if err := k.dp.Attach(uplink.IfIndex, datapath.RoleUplink); err != nil {
		return uplink, err
	}
	if uplink.IfIndex != k.uplink.IfIndex {
		if err := k.dp.Detach(k.uplink.IfIndex); err != nil {
			return uplink, err
		}
	}
	return uplink, k.bypassed(uplink.IfIndex)
}

// bypassed returns an error that names foreign objects for packets on the uplink that hits would bypass.
func (k *uplinkKeeper) bypassed(ifIndex int) error {
	found, err := k.dp.Bypassed(ifIndex, datapath.RoleUplink)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("on transport interface %s accelerated packets would bypass: %s", k.config.Uplink, strings.Join(found, "; "))
	}
	return k.ipsecOnTunnel(ifIndex)
}

// inOrder reports whether the uplink's programs are in place and bypass nothing.
func (k *uplinkKeeper) inOrder() bool {
	ok, err := k.dp.InPlace(k.uplink.IfIndex, datapath.RoleUplink)
	return err == nil && ok && k.bypassed(k.uplink.IfIndex) == nil
}

func (k *uplinkKeeper) isTransport(ip net.IP) bool {
	addr, ok := netip.AddrFromSlice(ip)
	return ok && (addr.Unmap() == k.config.UplinkIPv4 || addr.Unmap() == k.config.UplinkIPv6)
}

// routesNodes reports whether a route decides how a remote Node is reached.
func (k *uplinkKeeper) routesNodes(dst *net.IPNet) bool {
	for _, n := range k.dp.Nodes() {
		if dst == nil || dst.Contains(n.IP.AsSlice()) {
			return true
		}
	}
	return false
}

// isOwnAside reports whether a route is the agent's and leads to another device than the uplink. Such routes lead to the bridge or, in tables of their own,
// to the subnets of Egresses: none decides how a Node or its Pods are reached, though some are for all addresses. They go and come with the bridge, whose
// absence entries of the cache must outlast.
func (k *uplinkKeeper) isOwnAside(r *netlink.Route) bool {
	return r.Protocol == config.RouteProtocol && r.LinkIndex != k.uplink.IfIndex && (r.Dst == nil || r.Dst.IP.IsUnspecified())
}

// deviceDiffers returns the difference from the uplink that the programs know; "" if there is none.
func (k *uplinkKeeper) deviceDiffers() string {
	uplink, err := readUplink(k.config)
	if err != nil || uplink.IfIndex != k.uplink.IfIndex || uplink.MAC.String() != k.uplink.MAC.String() {
		return "link changed"
	}
	addresses, err := rtnl.Addresses(nil)
	if err != nil {
		return err.Error()
	}
	for _, wanted := range []netip.Addr{k.config.UplinkIPv4, k.config.UplinkIPv6} {
		present := slices.ContainsFunc(addresses, func(a netlink.Addr) bool { return addrOf(a.IP) == wanted })
		if wanted.IsValid() && present == k.addressRemoved {
			k.addressRemoved = !present
			return "transport address changed"
		}
	}
	return ""
}

// neighborChanged evicts the Nodes whose next hop has another MAC address than before.
func (k *uplinkKeeper) neighborChanged(ip netip.Addr, mac net.HardwareAddr) {
	if k.paths != nil && k.paths.moved(ip, mac) {
		k.evictNodes(k.paths.through(ip), "its next hop has another MAC address")
	}
}

// evictNodes evicts the flows and the learned outer headers of Nodes.
func (k *uplinkKeeper) evictNodes(addresses []netip.Addr, why string) {
	for _, n := range k.dp.Nodes() {
		if slices.Contains(addresses, n.IP) {
			klog.InfoS("Evicting the flows of a Node", "why", why, "address", n.IP)
			k.dp.BumpNode(n.Slot)
			k.evictedNodes.Add(1)
		}
	}
}

// maintainNodes checks the route to each remote Node. It updates the largest packet that may be sent at once, including the learned
// path MTU. It also finds changes of the outer header that no netlink message announced (a policy routing rule, a route in an
// unwatched table).
func (k *uplinkKeeper) maintainNodes() {
	present, devices := map[netip.Addr]bool{}, newDeviceMTUs(k.config.Gateway.Name)
	for _, n := range k.dp.Nodes() {
		present[n.IP] = true
		to, asked := k.pathToNode(n.IP)
		k.follow(n, to, asked)
		k.dp.SetNodeMTU(n.Slot, k.largestTo(n.IP, &to, devices))
		if n.Contradicted > n.Confirmed+k.config.Lease {
			k.evictNodes([]netip.Addr{n.IP}, "its packets leave with another header now")
		}
	}
	if k.paths == nil {
		return
	}
	k.paths.prune(present)
	if err := k.paths.resolve(k.uplink.IfIndex); err != nil {
		k.failures.add(operationUplink)
		klog.ErrorS(err, "Changes of next hops evict flows to Nodes until this can be read")
	}
}

// follow notes a Node's path, which is the one to asked. Entries learned before a change may be about another Node.
func (k *uplinkKeeper) follow(n datapath.NodeState, to path, asked netip.Addr) {
	if k.paths == nil {
		return
	}
	was, known := k.paths.nodes[n.IP]
	if known && was.leavesAs(&to) {
		return
	}
	to.match(asked)
	k.paths.note(n.IP, to, k.uplink.IfIndex)
	if known {
		k.evictNodes([]netip.Addr{n.IP}, "its path has changed")
	} else {
		k.dp.BumpNode(n.Slot)
	}
}
