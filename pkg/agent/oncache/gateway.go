// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Gateway is the port of the bridge that leads to the host's own stack.
type Gateway struct {
	// Name is the name of the interface; "" where there is none.
	Name string
	// IPv4 and IPv6 are its addresses; the zero Addr where it has none of the family. Its MAC address is Config.GatewayMAC.
	IPv4, IPv6 netip.Addr
	OFPort     uint32
}

// gateway returns the gateway as an endpoint of the cache; none without a name.
func (c *Config) gateway() (endpoints []Pod) {
	if c.Gateway.Name == "" {
		return nil
	}
	pod := Pod{InterfaceName: c.Gateway.Name, Gateway: true, MAC: c.GatewayMAC, OFPort: c.Gateway.OFPort}
	for _, ip := range []netip.Addr{c.Gateway.IPv4, c.Gateway.IPv6} {
		if ip.IsValid() {
			pod.IPs = append(pod.IPs, ip)
		}
	}
	return []Pod{pod}
}

// attachGateway puts the programs on the gateway's interface. They stay there while the gateway has no slot, because of something that
// hits would bypass: they still stamp packets, and keep the cache's marks from the host's netfilter and routing. Each review comes here then.
// Replacing a filter each time would be a change of the interface's filters, which asks for a review.
func (a *podAnnouncer) attachGateway(p *localPod) error {
	p.role = datapath.RoleGateway
	if p.attached == p.ifIndex {
		return a.keepInPlace(p.ifIndex, p.role)
	}
	if err := a.dp.Attach(p.ifIndex, p.role); err != nil {
		return err
	}
	p.attached = p.ifIndex
	return nil
}

// keepGateway withdraws the gateway if its interface has been recreated: references to the former one lead nowhere.
func (a *podAnnouncer) keepGateway(p *localPod) {
	if device, err := netlink.LinkByName(p.InterfaceName); err == nil && device.Attrs().Index == p.ifIndex {
		return
	}
	if p.onOVS == "" {
		p.stay(stays(stayInterface, errors.New("its interface has been replaced")))
		klog.InfoS("The gateway moves to Open vSwitch", "interface", p.InterfaceName, "reason", p.onOVS)
		a.withdraw(p)
	}
	if p.ifIndex != 0 {
		if err := a.dp.Detach(p.ifIndex); err != nil {
			klog.ErrorS(err, "Could not remove ONCache programs from the gateway's former interface", "ifindex", p.ifIndex)
		}
		p.ifIndex, p.attached = 0, 0
	}
}

// mostLeases limits, in leases, how long the gateway waits before it is announced again.
const mostLeases = 12

// withdrawals counts how often the gateway was withdrawn because of something that hits would bypass. With Config.Direct that ends the
// entries of all Pods, and takes two of their epochs. Something may come and go: a packet socket of a Pod in the host's network is enough.
// So each time the gateway waits for another lease, except the first in a while.
type withdrawals struct {
	number int
	until  time.Time
}

// noteWithdrawal notes that the gateway is withdrawn. A fault of this Node, such as an error of netlink, is no reason to wait.
func (a *podAnnouncer) noteWithdrawal(p *localPod) {
	if !p.Gateway || !a.config.Direct || p.reason != stayBypass && p.reason != stayCapture {
		return
	}
	now, lease := a.now(), a.config.Lease
	if now.Sub(p.withdrawals.until) > mostLeases*lease {
		p.withdrawals.number = 0
	}
	p.withdrawals.until = now.Add(time.Duration(p.withdrawals.number) * lease)
	p.withdrawals.number = min(p.withdrawals.number+1, mostLeases)
}

// mayReturn returns an error while the gateway waits.
func (a *podAnnouncer) mayReturn(p *localPod) error {
	wait := p.withdrawals.until.Sub(a.now())
	if wait <= 0 {
		return nil
	}
	return stays(stayBypass, fmt.Errorf("something that accelerated packets would bypass has come and gone %d times: waits %s more", p.withdrawals.number, wait.Round(time.Second)))
}

// gatewayChanged asks for a review after a message about a link with the gateway's name.
func (a *podAnnouncer) gatewayChanged() { a.reviewSoon() }
