// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// uplinkWatch picks the kernel's messages that matter. It lasts as long as one subscription; the keeper holds the state with which the
// next one is compared.
type uplinkWatch struct {
	keeper *uplinkKeeper
	events *uplinkEvents
	// usable is the result of the last check of the uplink.
	usable bool
	// retry is for an uplink that is not usable, tick for changes without a message.
	retry, tick *time.Ticker

	mtu, gatewayMTU int
}

// watchOnce follows the uplink until stopCh closes, or fails when a subscription ends.
func (k *uplinkKeeper) watchOnce(stopCh <-chan struct{}) error {
	done := make(chan struct{})
	defer close(done)
	var filters func(syscall.NetlinkMessage) bool
	if k.config.Direct {
		filters = k.changesFilters
	}
	events, err := subscribeUplink(done, filters)
	if err != nil {
		return err
	}
	k.findGateway()
	w := &uplinkWatch{keeper: k, events: events, retry: time.NewTicker(retryInterval), tick: time.NewTicker(k.config.Lease)}
	defer w.retry.Stop()
	defer w.tick.Stop()
	// Changes from before the subscription are not reported.
	w.usable = w.catchUp()
	for {
		why, stopped, err := w.next(stopCh)
		if stopped || err != nil {
			return err
		}
		if why != "" {
			w.usable = k.refresh(why)
		}
	}
}

// catchUp looks for changes before the subscription, and evicts entries whose paths differ. Lost messages alone do not evict: a Pod
// can cause more of them than any buffer holds. maintainNodes finds changes that were reverted since, and changes without a message.
func (w *uplinkWatch) catchUp() (usable bool) {
	k := w.keeper
	k.gatewayChanged()
	if k.paths == nil || k.mode.uplink() != nil {
		return k.refresh("watching the uplink")
	}
	w.usable = true
	if why := w.review(); why != "" {
		return k.refresh(why)
	}
	if why := k.deviceDiffers(); why != "" {
		return k.refresh(why)
	}
	now := k.readPaths()
	now.remember(k.paths)
	differing := now.differing(k.paths)
	k.paths = now
	k.evictNodes(differing, "its path has changed while messages of the kernel were lost")
	w.maintain()
	return true
}

// next waits for one event and returns why the uplink must be checked again; "" if it need not be.
func (w *uplinkWatch) next(stopCh <-chan struct{}) (why string, stopped bool, err error) {
	select {
	case <-stopCh:
		return "", true, nil
	case err = <-w.events.failed:
	case <-w.retry.C:
		if !w.usable {
			why = w.review()
		}
	case <-w.keeper.nodesChanged:
		why = w.maintain()
	case <-w.tick.C:
		why = w.maintain()
	case <-w.events.filters:
		w.keeper.gatewayChanged()
	case <-w.events.policies:
		why = w.review()
	case <-w.events.nexthops:
		why = "nexthop object changed"
	case u, ok := <-w.events.links:
		why, err = w.linkChanged(u), endedUnless(ok)
	case u, ok := <-w.events.addresses:
		why, err = w.addressChanged(u), endedUnless(ok)
	case u, ok := <-w.events.neighbors:
		if err = endedUnless(ok); ok && u.LinkIndex == w.keeper.uplink.IfIndex {
			w.keeper.neighborChanged(addrOf(u.IP), u.HardwareAddr)
		}
	case u, ok := <-w.events.routes:
		if err = endedUnless(ok); ok {
			why = w.routesChanged(u)
		}
	}
	return why, false, err
}

func endedUnless(open bool) error {
	if !open {
		return errors.New("a netlink subscription ended")
	}
	return nil
}

// review returns why the uplink must be checked again although no message said so; "" if it need not be.
func (w *uplinkWatch) review() string {
	switch {
	case !w.usable:
		return "trying again"
	case !w.keeper.inOrder():
		return "accelerated packets would bypass what others have set up"
	}
	return ""
}

// maintain reviews before it looks at the Nodes: a Node that IPsec covers must not get an MTU, without which nothing is
// sent to it.
func (w *uplinkWatch) maintain() (why string) {
	if why = w.review(); why == "" {
		w.keeper.maintainNodes()
	}
	w.keeper.tunnel.keep(w.keeper.dp, w.keeper.config.TunnelDevice)
	w.keeper.checkMerging()
	return why
}

// linkChanged handles an update of a device. After a change of the MTU alone, the cached headers stay right.
func (w *uplinkWatch) linkChanged(u netlink.LinkUpdate) (why string) {
	if u.Link != nil && u.Link.Attrs().Name == w.keeper.config.Gateway.Name {
		return w.gatewayUpdate(u)
	}
	if u.Link == nil || u.Link.Attrs().Name != w.keeper.config.Uplink {
		return ""
	}
	attrs := u.Link.Attrs()
	otherMTU := attrs.MTU != w.mtu
	w.mtu = attrs.MTU
	switch {
	case attrs.Index != w.keeper.uplink.IfIndex, attrs.HardwareAddr.String() != w.keeper.uplink.MAC.String(),
		u.Header.Type == unix.RTM_DELLINK, attrs.OperState == netlink.OperDown:
		return "link changed"
	case otherMTU:
		return w.maintain()
	}
	return ""
}

// gatewayUpdate handles an update of the gateway's device. Packets for one that is gone would be lost.
func (w *uplinkWatch) gatewayUpdate(u netlink.LinkUpdate) (why string) {
	index := u.Link.Attrs().Index
	if u.Header.Type == unix.RTM_DELLINK {
		index = 0
	}
	if w.keeper.gateway.Swap(int32(index)) != int32(index) {
		w.keeper.gatewayChanged()
	}
	if mtu := u.Link.Attrs().MTU; mtu != w.gatewayMTU {
		w.gatewayMTU = mtu
		return w.maintain()
	}
	return ""
}

// routesChanged handles an update of a route, together with the updates behind it: each look at the Nodes asks the kernel about all of them.
func (w *uplinkWatch) routesChanged(u netlink.RouteUpdate) (why string) {
	var nodes []netip.Addr
	for more := len(w.events.routes); ; more-- {
		if !w.keeper.isOwnAside(&u.Route) {
			if w.keeper.routesNodes(u.Dst) {
				return "route changed"
			}
			nodes = append(nodes, w.keeper.direct.routedBy(u.Dst)...)
		}
		if more == 0 {
			break
		}
		u = <-w.events.routes
	}
	if len(nodes) == 0 {
		return ""
	}
	slices.SortFunc(nodes, netip.Addr.Compare)
	w.keeper.evictNodes(slices.Compact(nodes), "a route to its Pods has changed")
	return w.maintain()
}

// addressChanged handles an update of an address. Renewing a lease or lifetime reports an address that has been present all
// the time.
func (w *uplinkWatch) addressChanged(u netlink.AddrUpdate) (why string) {
	if !w.keeper.isTransport(u.LinkAddress.IP) || u.NewAddr && !w.keeper.addressRemoved {
		return ""
	}
	w.keeper.addressRemoved = !u.NewAddr
	return "transport address changed"
}
