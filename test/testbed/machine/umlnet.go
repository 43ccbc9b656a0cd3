// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/testbed/guest"
	"github.com/antrea-oncache/antrea/test/testbed/proc"
	"github.com/antrea-oncache/antrea/test/testbed/relay"
)

const (
	tunDevice = "/dev/net/tun"
	tapDevice = "uml0"
)

// umlNetwork connects user-mode Linux with this host: a network namespace, in which the kernel runs as a process, with the other end of the
// guest's network device. Nothing is routed: relays in this process forward TCP connections in and out, so nothing of the host's own
// network changes.
type umlNetwork struct {
	thread   *proc.Thread
	commands net.Listener // of the relay to the guest's command server
	relays   []*relay.Relay
}

func newUMLNetwork() (_ *umlNetwork, err error) {
	n := &umlNetwork{thread: proc.NewThread()}
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	if err := n.thread.Do(addTap); err != nil {
		return nil, err
	}
	if n.commands, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	n.relays = append(n.relays, relay.New(n.commands, n.dialGuest))
	return n, nil
}

// addTap gives the calling thread a network namespace with the device.
func addTap() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("making a network namespace: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = tapDevice
	tap := &netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR}
	if err := netlink.LinkAdd(tap); err != nil {
		return fmt.Errorf("adding a TAP device: %w", err)
	}
	link, err := netlink.LinkByName(tapDevice)
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(guest.HostAddress), Mask: net.CIDRMask(24, 32)}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

func (n *umlNetwork) dialGuest() (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = n.thread.Do(func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(guest.Address, strconv.Itoa(guest.Port)))
		return err
	})
	return conn, err
}

// commandAddress is where this host reaches the guest's command server.
func (n *umlNetwork) commandAddress() string { return n.commands.Addr().String() }

// publish lets the guest reach what listens on a port of 127.0.0.1 of this host.
func (n *umlNetwork) publish(port int) error {
	var listener net.Listener
	err := n.thread.Do(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(guest.HostAddress, strconv.Itoa(port)))
		return err
	})
	if err != nil {
		return err
	}
	target := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	n.relays = append(n.relays, relay.New(listener, func() (net.Conn, error) { return net.Dial("tcp", target) }))
	return nil
}

// Close ends the kernel too, if it still runs.
func (n *umlNetwork) Close() {
	for _, r := range n.relays {
		r.Close()
	}
	n.thread.Close()
}
