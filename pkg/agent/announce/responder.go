// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
)

const (
	// solicitations limits what neighbours can cost: the number of solicitations that are read in a second. The kernel drops more.
	solicitations = 1000
	// lookInterval is the time after which a device that was replaced, or has another MAC address, is noticed.
	lookInterval = time.Second
	retryDelay   = time.Second
	// ndHopLimit proves that a message comes from a neighbour (RFC 4861, 7.1).
	ndHopLimit = 255
)

// Responder answers IPv6 neighbor solicitations on a device for addresses that this Node has elsewhere, in the network namespace of Run: the
// kernel answers only for the device's own ones. It answers ARP requests for all of them; ARPResponder is for addresses that no device has.
type Responder struct {
	device string
	targets
}

// NewResponder returns a Responder that answers nothing before Run.
func NewResponder(device string) *Responder {
	return &Responder{device, newTargets(func(addr netip.Addr) bool { return addr.Is6() && !addr.Is4In6() })}
}

// groups returns the multicast groups to which neighbours send solicitations for the addresses.
func (r *Responder) groups() sets.Set[netip.Addr] {
	groups := sets.New[netip.Addr]()
	for _, addr := range r.list() {
		groups.Insert(solicitedNode(addr))
	}
	return groups
}

// Run answers until ctx ends. It has a socket while there are addresses.
func (r *Responder) Run(ctx context.Context) {
	r.run(ctx, r.device, "IPv6", r.serve)
}

// serve answers while the device stays the same and there are addresses.
func (r *Responder) serve(ctx context.Context) error {
	iface, err := net.InterfaceByName(r.device)
	if err != nil {
		return fmt.Errorf("find device %s: %w", r.device, err)
	}
	conn, err := openSocket(ctx, r.device, ipv6.ICMPTypeNeighborSolicitation)
	if err != nil {
		return fmt.Errorf("open a socket for neighbor solicitations on %s: %w", r.device, err)
	}
	failed := make(chan error, 1)
	defer func() {
		_ = conn.Close()
		<-failed
	}()
	go func() { failed <- r.answerAll(ctx, conn, iface); close(failed) }()
	joined := sets.New[netip.Addr]()
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		groups := r.groups()
		if len(groups) == 0 {
			return nil
		}
		if err := setGroups(conn, iface, joined, groups); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-r.wake:
		case <-ticker.C:
			if same, err := isSame(iface); !same {
				return err
			}
		}
	}
}

// openSocket returns a socket that receives messages of one kind from the device only.
func openSocket(ctx context.Context, device string, kind ipv6.ICMPType) (*ipv6.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if failed := raw.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), device) }); failed != nil {
			return failed
		}
		return err
	}}
	socket, err := config.ListenPacket(ctx, "ip6:ipv6-icmp", "::")
	if err != nil {
		return nil, err
	}
	conn := ipv6.NewPacketConn(socket)
	filter := ipv6.ICMPFilter{}
	filter.SetAll(true)
	filter.Accept(kind)
	if err := errors.Join(conn.SetICMPFilter(&filter), conn.SetControlMessage(ipv6.FlagHopLimit, true)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// setGroups makes the socket a member of these groups, and no others of joined, which it brings up to date.
func setGroups(conn *ipv6.PacketConn, iface *net.Interface, joined, groups sets.Set[netip.Addr]) error {
	for group := range groups.Difference(joined) {
		if err := conn.JoinGroup(iface, &net.IPAddr{IP: group.AsSlice()}); err != nil {
			return fmt.Errorf("join the multicast group %s on %s: %w", group, iface.Name, err)
		}
		joined.Insert(group)
	}
	for group := range joined.Difference(groups) {
		if err := conn.LeaveGroup(iface, &net.IPAddr{IP: group.AsSlice()}); err != nil {
			return fmt.Errorf("leave the multicast group %s on %s: %w", group, iface.Name, err)
		}
		joined.Delete(group)
	}
	return nil
}

// answerAll answers solicitations until the socket is closed.
func (r *Responder) answerAll(ctx context.Context, conn *ipv6.PacketConn, iface *net.Interface) error {
	limit := flowcontrol.NewTokenBucketRateLimiter(solicitations, solicitations/10)
	packet := make([]byte, 256)
	for {
		n, control, from, err := conn.ReadFrom(packet)
		if err != nil {
			return err
		}
		if limit.Wait(ctx) != nil {
			return nil
		}
		asker, known := from.(*net.IPAddr)
		target, asked := solicited(packet[:n])
		if !known || !asked || control == nil || control.HopLimit != ndHopLimit || !r.has(target) {
			continue
		}
		source, _ := netip.AddrFromSlice(asker.IP)
		to, message := answer(target, source, iface.HardwareAddr)
		// The kernel takes an address of the interface as the source (RFC 4861, 4.4): the target may be on no device.
		reply := &ipv6.ControlMessage{HopLimit: ndHopLimit, IfIndex: iface.Index}
		if _, err := conn.WriteTo(message, reply, &net.IPAddr{IP: to.AsSlice(), Zone: strconv.Itoa(iface.Index)}); err != nil {
			klog.V(2).InfoS("A neighbor solicitation is not answered", "address", target, "neighbor", asker, "err", err)
		}
	}
}
