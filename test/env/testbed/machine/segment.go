// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/relay"
)

// Segment is a network segment for several machines: a bridge in a network namespace of this host. Nothing is routed between it and the
// host's own network. Programs of this host that are started on Thread take part in it, under the bridge's addresses.
type Segment struct {
	thread *proc.Thread
	netns  *os.File

	mu       sync.Mutex
	attached int
	relays   []*relay.Relay
}

const (
	segmentBridge = "segment"
	dialTimeout   = 5 * time.Second
)

// NewSegment makes a segment in which this host has the addresses.
func NewSegment(addresses ...netip.Prefix) (_ *Segment, err error) {
	s := &Segment{thread: proc.NewThread()}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	err = s.thread.Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		s.netns, err = os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		return addBridge(addresses)
	})
	if err != nil {
		return nil, fmt.Errorf("making a network segment: %w", err)
	}
	return s, nil
}

func addBridge(addresses []netip.Prefix) error {
	if err := setUp("lo"); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = segmentBridge
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("adding a bridge: %w", err)
	}
	for _, a := range addresses {
		address := &netlink.Addr{IPNet: &net.IPNet{IP: a.Addr().AsSlice(), Mask: net.CIDRMask(a.Bits(), a.Addr().BitLen())}, Flags: unix.IFA_F_NODAD}
		if err := netlink.AddrAdd(bridge, address); err != nil {
			return fmt.Errorf("giving the bridge the address %s: %w", a, err)
		}
	}
	return setUp(segmentBridge)
}

// Thread is a thread of this process in the segment's network namespace.
func (s *Segment) Thread() *proc.Thread { return s.thread }

// NetNS is the path of the segment's network namespace, as long as this process runs.
func (s *Segment) NetNS() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.netns.Fd()) }

// attach adds a port to the bridge and returns the device at which a machine sends and receives frames.
func (s *Segment) attach() (wire string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wire = fmt.Sprintf("%s-%d", wireDevice, s.attached)
	port := fmt.Sprintf("port-%d", s.attached)
	err = s.thread.Do(func() error {
		bridge, err := netlink.LinkByName(segmentBridge)
		if err != nil {
			return err
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MasterIndex = port, bridge.Attrs().Index
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: wire}); err != nil {
			return fmt.Errorf("adding a port to the bridge: %w", err)
		}
		if err := setUp(port); err != nil {
			return err
		}
		return setUp(wire)
	})
	if err == nil {
		s.attached++
	}
	return wire, err
}

// Route leads packets of this host's programs to a network by way of a machine, also after an earlier call with another one.
func (s *Segment) Route(network netip.Prefix, machine netip.Addr) error {
	err := s.thread.Do(func() error {
		return netlink.RouteReplace(&netlink.Route{
			Dst: &net.IPNet{IP: network.Addr().AsSlice(), Mask: net.CIDRMask(network.Bits(), network.Addr().BitLen())}, Gw: machine.AsSlice(),
		})
	})
	if err != nil {
		return fmt.Errorf("routing %s to %s in a network segment: %w", network, machine, err)
	}
	return nil
}

// newThread returns another thread in the namespace.
func (s *Segment) newThread() (*proc.Thread, error) {
	thread := proc.NewThread()
	if err := thread.Do(func() error { return unix.Setns(int(s.netns.Fd()), unix.CLONE_NEWNET) }); err != nil {
		thread.Close()
		return nil, fmt.Errorf("entering a network segment: %w", err)
	}
	return thread, nil
}

// Dial connects to an address in the segment. It has a thread of its own, because others need not wait for an address that does not answer.
func (s *Segment) Dial(address string) (conn net.Conn, err error) {
	thread, err := s.newThread()
	if err != nil {
		return nil, err
	}
	defer thread.Close()
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	err = thread.Do(func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// Publish makes a TCP address in the segment reachable at the returned address of this host's loopback interface; port 0 chooses one.
func (s *Segment) Publish(address string, port int) (string, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relays = append(s.relays, relay.New(l, func() (net.Conn, error) { return s.Dial(address) }))
	return l.Addr().String(), nil
}

// Close also ends the programs that were started on Thread.
func (s *Segment) Close() {
	for _, r := range s.relays {
		r.Close()
	}
	s.thread.Close()
	if s.netns != nil {
		s.netns.Close()
	}
}

func setUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	return nil
}
