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

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/relay"
)

// The ends of the virtual cable between user-mode Linux and this host: the kernel sends and receives frames at wireDevice with a packet
// socket, hostDevice has the host's address. (With a TAP device, Linux 7.3 panics in vector_reset_stats, which takes the lock of a queue
// that only other transports have.)
const (
	wireDevice = "wire"
	hostDevice = "host"
)

// umlNetwork connects user-mode Linux with this host: a network namespace, in which the kernel runs as a process, with a virtual cable.
// Nothing is routed: relays in this process forward TCP connections in and out, so the host's own network does not change.
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
	if err := n.thread.Do(addWire); err != nil {
		return nil, err
	}
	if n.commands, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	n.relays = append(n.relays, relay.New(n.commands, n.dialGuest))
	return n, nil
}

// addWire gives the calling thread a network namespace with the cable.
func addWire() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("making a network namespace: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = wireDevice
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: hostDevice}); err != nil {
		return fmt.Errorf("adding a veth pair: %w", err)
	}
	for _, name := range []string{wireDevice, hostDevice} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if name == hostDevice {
			address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(guest.HostAddress), Mask: net.CIDRMask(24, 32)}}
			if err := netlink.AddrAdd(link, address); err != nil {
				return err
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
	}
	return nil
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

// commandAddress is the address at which this host reaches the guest's command server.
func (n *umlNetwork) commandAddress() string { return n.commands.Addr().String() }

// publish lets the guest connect to a port of this host's 127.0.0.1.
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
