// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// uplinkKeeper keeps the cache in step with the kernel's routes to the other Nodes, and turns the fast path off while the
// transport interface cannot carry it. It takes no lock that a slow Open vSwitch could hold.
type uplinkKeeper struct {
	config *Config
	mode   *modeControl
	// nodesChanged tells the watcher that the set of Nodes may have changed.
	nodesChanged chan struct{}
	// gatewayChanged is called when the gateway's device is gone, or another one has its name.
	gatewayChanged func()
	// evictions counts the evictions of all entries.
	evictions atomic.Uint64
	failures  *failures
	// refusal is why rewritten packets cannot arrive at present.
	refusal refusal

	// dp is set before begin; uplink is what the programs were told last.
	dp     *datapath.Datapath
	uplink datapath.Uplink
	tunnel tunnelKeeper
}

func newUplinkKeeper(config *Config) *uplinkKeeper {
	k := &uplinkKeeper{config: config, nodesChanged: make(chan struct{}, 1), failures: &failures{}}
	k.mode = &modeControl{set: func(mode datapath.Mode) { k.dp.SetMode(mode) }, evict: k.evictAll, observer: nobody{}}
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
		}
		select {
		case <-stopCh:
			return
		case <-time.After(retryInterval):
			k.failures.add(operationUplink)
			klog.ErrorS(err, "Lost the netlink subscription, subscribing again")
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

// bypassed returns an error that names what others have set up for packets on the uplink and hits would bypass.
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

// maintainNodes checks the route to each remote Node. It updates the largest packet that may be sent at once, including the
// learned path MTU. It also finds changes of the outer header that no netlink message announced (a policy routing rule, a
// route in a table that nobody watches).
func (k *uplinkKeeper) maintainNodes() {
	for _, n := range k.dp.Nodes() {
		k.dp.SetNodeMTU(n.Slot, pathMTU(n.IP))
		if n.Contradicted > n.Confirmed+k.config.Lease {
			klog.InfoS("Evicting the flows of a Node: its packets leave with another header now", "address", n.IP)
			k.dp.BumpNode(n.Slot)
		}
	}
}

// pathMTU returns the MTU of the route to ip, or 0 when there is none.
func pathMTU(ip netip.Addr) int {
	routes, err := netlink.RouteGet(ip.AsSlice())
	if err != nil || len(routes) == 0 {
		return 0
	}
	if routes[0].MTU > 0 {
		return routes[0].MTU
	}
	device, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return 0
	}
	return device.Attrs().MTU
}
