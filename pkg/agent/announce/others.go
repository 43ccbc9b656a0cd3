// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/ipv6"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// probes is the number of probes of each address, probeDelay the time from one probe to the next one of any address.
	probes     = 2
	probeDelay = 20 * time.Millisecond
	// probeWait is the time after the last probe for which answers count.
	probeWait = time.Second
	// answersRead limits what neighbours can cost in one call of Others: further frames are not read.
	answersRead = 5000
)

// Others asks the neighbours on a device for addresses of this Node, and returns the MAC addresses of other machines that answer for them. It asks in a way
// that changes no neighbour's table: by ARP probes (RFC 5227, 2.1.1), and neighbor solicitations.
func Others(ctx context.Context, device string, addrs []netip.Addr) (map[netip.Addr]net.HardwareAddr, error) {
	iface, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("find device %s: %w", device, err)
	}
	own, err := ownMACs()
	if err != nil {
		return nil, err
	}
	found := &claims{own: own, wanted: addrs, by: map[netip.Addr]net.HardwareAddr{}}
	var v4, v6 []netip.Addr
	for _, addr := range addrs {
		if addr.Is4() {
			v4 = append(v4, addr)
		} else {
			v6 = append(v6, addr)
		}
	}
	var errs [2]error
	var asking sync.WaitGroup
	if len(v4) > 0 {
		socket, err := openARP(iface)
		if err != nil {
			return nil, fmt.Errorf("open a socket for ARP on %s: %w", device, err)
		}
		asking.Go(func() { errs[0] = askARP(ctx, socket, iface, v4, found) })
	}
	if len(v6) > 0 {
		conn, err := openSocket(ctx, device, ipv6.ICMPTypeNeighborAdvertisement)
		if err != nil {
			errs[1] = fmt.Errorf("open a socket for neighbor advertisements on %s: %w", device, err)
		} else {
			asking.Go(func() { errs[1] = askNeighbors(ctx, conn, iface, v6, found) })
		}
	}
	asking.Wait()
	return found.by, errors.Join(errs[:]...)
}

// ownMACs returns the MAC addresses of this Node: the kernel answers for its addresses on all devices.
func ownMACs() (macs []string, err error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	for _, link := range links {
		if len(link.HardwareAddr) > 0 {
			macs = append(macs, link.HardwareAddr.String())
		}
	}
	return macs, nil
}

// claims are the answers of other machines.
type claims struct {
	own    []string
	wanted []netip.Addr

	mu sync.Mutex
	by map[netip.Addr]net.HardwareAddr
}

// add notes that the machine with a MAC address has an address.
func (c *claims) add(addr netip.Addr, mac net.HardwareAddr) {
	if slices.Contains(c.own, mac.String()) || !slices.Contains(c.wanted, addr) {
		return
	}
	c.mu.Lock()
	c.by[addr] = slices.Clone(mac)
	c.mu.Unlock()
}

// ask sends all probes, and lets the reader work until answers do not count any more. end must make the reader return.
func ask(ctx context.Context, addrs []netip.Addr, send func(netip.Addr) error, read func() error, end func()) error {
	failed := make(chan error, 1)
	go func() { failed <- read() }()
	err := func() error {
		for range probes {
			for _, addr := range addrs {
				if err := send(addr); err != nil {
					return fmt.Errorf("ask for %s: %w", addr, err)
				}
				if err := retry.Sleep(ctx, probeDelay); err != nil {
					return err
				}
			}
		}
		return retry.Sleep(ctx, probeWait)
	}()
	select {
	case readErr := <-failed: // before it was to return
		end()
		return errors.Join(err, readErr)
	default:
		end()
		<-failed
		return err
	}
}

// askARP asks for IPv4 addresses, and closes the socket.
func askARP(ctx context.Context, socket *os.File, iface *net.Interface, addrs []netip.Addr, found *claims) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	send := func(addr netip.Addr) error {
		_, err := socket.Write(arpProbe(addr, iface.HardwareAddr))
		return err
	}
	read := func() error {
		frame := make([]byte, 256)
		for range answersRead {
			n, foreign, err := readARP(raw, iface, frame)
			if err != nil {
				return err
			}
			if addr, mac, ok := arpSender(frame[:n]); ok && !foreign {
				found.add(addr, mac)
			}
		}
		return nil
	}
	return ask(ctx, addrs, send, read, func() { _ = socket.Close() })
}

// arpProbe returns the frame that asks for an address on behalf of a machine without one.
func arpProbe(addr netip.Addr, mac net.HardwareAddr) []byte {
	frame := gratuitousARPFrame(addr, mac)
	copy(frame[28:32], []byte{0, 0, 0, 0})
	return frame
}

// arpSender returns the addresses of the sender of an ARP packet, be it a request or an answer; ok is false for others.
func arpSender(frame []byte) (addr netip.Addr, mac net.HardwareAddr, ok bool) {
	want := []byte{0x08, 0x06, 0, 1, 0x08, 0, 6, 4}
	if len(frame) < arpLength || !slices.Equal(frame[12:20], want) {
		return addr, nil, false
	}
	return netip.AddrFrom4([4]byte(frame[28:32])), net.HardwareAddr(frame[22:28]), true
}

// askNeighbors asks for IPv6 addresses, and closes the socket.
func askNeighbors(ctx context.Context, conn *ipv6.PacketConn, iface *net.Interface, addrs []netip.Addr, found *claims) error {
	if err := conn.SetMulticastLoopback(false); err != nil { // this Node's own Responder
		return errors.Join(err, conn.Close())
	}
	send := func(addr netip.Addr) error {
		group := &net.IPAddr{IP: solicitedNode(addr).AsSlice(), Zone: strconv.Itoa(iface.Index)}
		_, err := conn.WriteTo(solicitation(addr, iface.HardwareAddr), &ipv6.ControlMessage{HopLimit: ndHopLimit, IfIndex: iface.Index}, group)
		return err
	}
	read := func() error {
		packet := make([]byte, 256)
		for range answersRead {
			n, control, _, err := conn.ReadFrom(packet)
			if err != nil {
				return err
			}
			if addr, mac, ok := advertised(packet[:n]); ok && control != nil && control.HopLimit == ndHopLimit {
				found.add(addr, mac)
			}
		}
		return nil
	}
	return ask(ctx, addrs, send, read, func() { _ = conn.Close() })
}

// solicitation returns a neighbor solicitation for an address from a MAC address, without checksum.
func solicitation(target netip.Addr, mac net.HardwareAddr) []byte {
	message := append([]byte{neighborSolicitation, 0, 0, 0, 0, 0, 0, 0}, target.AsSlice()...)
	message = append(message, 1, 1) // source link-layer address, in units of 8 bytes
	return append(message, mac...)
}

// advertised returns the address and the MAC address of a neighbor advertisement; ok is false for others.
func advertised(message []byte) (target netip.Addr, mac net.HardwareAddr, ok bool) {
	if len(message) < ndLength+8 || message[0] != neighborAdvertisement || message[1] != 0 || message[ndLength] != 2 || message[ndLength+1] != 1 {
		return target, nil, false
	}
	return netip.AddrFrom16([16]byte(message[8:ndLength])), net.HardwareAddr(message[ndLength+2 : ndLength+8]), true
}
