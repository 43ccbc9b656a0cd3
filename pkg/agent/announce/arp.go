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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
)

// arpLength is the length of an Ethernet frame with an ARP packet for IPv4, without padding.
const arpLength = 42

// ARPResponder answers ARP requests on a device for IPv4 addresses that no device of this Node has, in the network namespace of Run.
type ARPResponder struct {
	device string
	targets
}

// NewARPResponder returns an ARPResponder that answers nothing before Run.
func NewARPResponder(device string) *ARPResponder {
	return &ARPResponder{device, newTargets(netip.Addr.Is4)}
}

// Run answers until ctx ends. It has a socket while there are addresses.
func (r *ARPResponder) Run(ctx context.Context) {
	r.run(ctx, r.device, "IPv4", r.serve)
}

// serve answers while the device stays the same and there are addresses.
func (r *ARPResponder) serve(ctx context.Context) error {
	iface, err := net.InterfaceByName(r.device)
	if err != nil {
		return fmt.Errorf("find device %s: %w", r.device, err)
	}
	socket, err := openARP(iface)
	if err != nil {
		return fmt.Errorf("open a socket for ARP requests on %s: %w", r.device, err)
	}
	failed := make(chan error, 1)
	defer func() {
		_ = socket.Close()
		<-failed
	}()
	go func() { failed <- r.answerAll(ctx, socket, iface); close(failed) }()
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for len(r.list()) > 0 {
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
	return nil
}

// openARP returns a packet socket that receives the ARP packets of a device. It does not block a thread.
func openARP(iface *net.Interface) (*os.File, error) {
	if len(iface.HardwareAddr) != 6 {
		return nil, errors.New("it has no Ethernet address")
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	const networkOrder = unix.ETH_P_ARP>>8 | unix.ETH_P_ARP&0xff<<8
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: iface.Index, Protocol: networkOrder}); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "ARP on "+iface.Name), nil
}

// answerAll answers requests until the socket is closed.
func (r *ARPResponder) answerAll(ctx context.Context, socket *os.File, iface *net.Interface) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	limit := flowcontrol.NewTokenBucketRateLimiter(solicitations, solicitations/10)
	frame := make([]byte, 256)
	for {
		n, foreign, err := readARP(raw, iface, frame)
		if err != nil {
			return err
		}
		target, asked := requested(frame[:n])
		if foreign || !asked || !r.has(target) {
			continue
		}
		if limit.Wait(ctx) != nil {
			return nil
		}
		if _, err := socket.Write(arpReply(frame[:n], iface.HardwareAddr)); err != nil {
			klog.V(2).InfoS("An ARP request is not answered", "address", target, "err", err)
		}
	}
}

// readARP reads a frame; foreign is set if it is not for a device's own network and this machine.
func readARP(raw syscall.RawConn, iface *net.Interface, frame []byte) (n int, foreign bool, err error) {
	var failed error
	if err := raw.Read(func(fd uintptr) bool {
		var from unix.Sockaddr
		n, from, failed = unix.Recvfrom(int(fd), frame, 0)
		link, ok := from.(*unix.SockaddrLinklayer)
		// To another machine, or of a VLAN; of one with a device the kernel also shows it here.
		foreign = !ok || link.Pkttype == unix.PACKET_OTHERHOST || link.Ifindex != iface.Index
		return !errors.Is(failed, unix.EAGAIN)
	}); err != nil {
		return 0, false, err
	}
	return n, foreign, failed
}

// requested returns the address that an ARP request asks for; asked is false for other packets, and for announcements, which ask no machine.
func requested(frame []byte) (target netip.Addr, asked bool) {
	// The type of the frame, Ethernet and IPv4 with the lengths of their addresses, and a request.
	want := []byte{0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1}
	if len(frame) < arpLength || !slices.Equal(frame[12:22], want) || slices.Equal(frame[28:32], frame[38:arpLength]) {
		return target, false
	}
	return netip.AddrFrom4([4]byte(frame[38:arpLength])), true
}

// arpReply returns the frame that answers a request with the MAC address.
func arpReply(request []byte, mac net.HardwareAddr) []byte {
	reply := slices.Clone(request[:arpLength])
	copy(reply[0:6], request[22:28])
	copy(reply[6:12], mac)
	reply[21] = 2
	copy(reply[22:28], mac)
	copy(reply[28:32], request[38:42])
	copy(reply[32:42], request[22:32])
	return reply
}
