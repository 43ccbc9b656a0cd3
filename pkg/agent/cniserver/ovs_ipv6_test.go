// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/announce"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

func withIPv6(c *Config) { c.Node.PodIPv6CIDR = netip.MustParsePrefix("fd00:10:1::/64") }

func ipv6Only(c *Config) {
	withIPv6(c)
	c.Node.PodIPv4CIDR = netip.Prefix{}
}

func TestIPv6PodsReachEachOtherThroughOVS(t *testing.T) {
	for name, change := range map[string]func(*Config){"dual stack": withIPv6, "IPv6 only": ipv6Only} {
		t.Run(name, func(t *testing.T) {
			h, _, _ := newOVSHarness(t, change)
			a, b := h.newPod("client"), h.newPod("server")
			h.mustAdd(a)
			result := h.mustAdd(b)
			server := result.IPs[len(result.IPs)-1].Address.IP

			var listener net.Listener
			inNetNS(t, b.netns, func() {
				var err error
				listener, err = net.Listen("tcp6", net.JoinHostPort(server.String(), "8080"))
				require.NoError(t, err, "the address must be usable at once")
			})
			defer listener.Close()
			go func() {
				if conn, err := listener.Accept(); err == nil {
					_, _ = conn.Write([]byte("hello"))
					conn.Close()
				}
			}()
			inNetNS(t, a.netns, func() {
				conn, err := net.DialTimeout("tcp6", net.JoinHostPort(server.String(), "8080"), 10*time.Second)
				require.NoError(t, err)
				defer conn.Close()
				got, err := io.ReadAll(conn)
				require.NoError(t, err)
				require.Equal(t, "hello", string(got))
			})
			b.conf = map[string]any{"prevResult": result}
			response, err := h.server.CmdCheck(t.Context(), h.request(b))
			require.NoError(t, err)
			require.Nil(t, response.Error)
		})
	}
}

// A runtime may pass a namespace in which IPv6 is off, and the host may use another way to make link-local addresses.
func TestSettingsOfThePod(t *testing.T) {
	h := newReadyHarness(t, withIPv6)
	p := h.newPod("web")
	inNetNS(t, p.netns, func() {
		for key, value := range map[string]string{"disable_ipv6": "1", "addr_gen_mode": "1", "accept_ra": "1"} {
			require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/default/"+key, []byte(value), 0))
		}
	})
	h.mustAdd(p)
	stored, _ := h.store.GetContainerInterface(p.containerID)
	inNetNS(t, p.netns, func() {
		for _, s := range slices.Concat(ipv4Sysctls, ipv6Sysctls) {
			got, err := os.ReadFile(s.path("eth0"))
			require.NoError(t, err)
			require.Equal(t, s.value, strings.TrimSpace(string(got)), s.key)
		}
		handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		require.NoError(t, err)
		defer handle.Close()
		link, err := handle.LinkByName("eth0")
		require.NoError(t, err)
		// The kernel makes the address once it has noticed the carrier.
		eventually(t, func() bool {
			addrs, err := handle.AddrList(link, netlink.FAMILY_V6)
			return err == nil && slices.ContainsFunc(addrs, func(a netlink.Addr) bool {
				return a.IP.Equal(eui64(stored.MAC)) && a.Flags&unix.IFA_F_TENTATIVE == 0
			})
		}, "the link-local address is made from the MAC address")
	})
}

// eui64 is the link-local address of RFC 4291, appendix A.
func eui64(mac net.HardwareAddr) net.IP {
	return net.IP{0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}
}

// ndMessage is a neighbor discovery message as a Pod with a raw socket can send it.
type ndMessage struct {
	ethSrc   net.HardwareAddr
	src, dst netip.Addr
	kind     byte
	// flags is the first byte after the checksum.
	flags  byte
	target netip.Addr
	// options are link-layer addresses of the type that the message has.
	options []net.HardwareAddr
}

func (m ndMessage) frame() []byte {
	option := byte(1)
	if m.kind == 136 {
		option = 2
	}
	body := []byte{m.kind, 0, 0, 0, m.flags, 0, 0, 0}
	body = append(body, m.target.AsSlice()...)
	for _, mac := range m.options {
		body = append(append(body, option, 1), mac...)
	}
	dst := m.dst.As16()
	frame := append([]byte{0x33, 0x33}, dst[12:]...)
	frame = append(frame, m.ethSrc...)
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IPV6)
	frame = append(frame, 0x60, 0, 0, 0, 0, byte(len(body)), unix.IPPROTO_ICMPV6, 255)
	frame = append(frame, m.src.AsSlice()...)
	frame = append(frame, dst[:]...)
	sum := announce.InternetSum(frame[22:]) + announce.InternetSum(body) + uint32(len(body)) + unix.IPPROTO_ICMPV6
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(body[2:], ^uint16(sum))
	return append(frame, body...)
}

func TestNeighborDiscoveryIsGuarded(t *testing.T) {
	h, o, _ := newOVSHarness(t, withIPv6)
	attacker, victim := h.newPod("attacker"), h.newPod("victim")
	h.mustAdd(attacker)
	h.mustAdd(victim)
	h.server.background.Wait()
	self, _ := h.store.GetContainerInterface(attacker.containerID)
	other, _ := h.store.GetContainerInterface(victim.containerID)
	own, ownMAC, theirs, theirMAC := self.IPs[1], self.MAC, other.IPs[1], other.MAC
	gateway, allNodes := netip.MustParseAddr("fd00:10:1::1"), netip.IPv6LinkLocalAllNodes()
	linkLocal, _ := netip.AddrFromSlice(eui64(ownMAC))
	strangeLocal := netip.MustParseAddr("fe80::bad")

	capture := captureFrames(t, victim)
	send := rawSender(t, attacker, self)
	for _, tc := range []struct {
		name string
		ndMessage
		passes bool
	}{
		{"advertisement of own address", ndMessage{ownMAC, own, allNodes, 136, 0x20, own, []net.HardwareAddr{ownMAC}}, true},
		{"advertisement of own address without the option", ndMessage{ownMAC, own, allNodes, 136, 0x60, own, nil}, true},
		{"advertisement of own link-local address", ndMessage{ownMAC, linkLocal, allNodes, 136, 0x20, linkLocal, []net.HardwareAddr{ownMAC}}, true},
		{"solicitation", ndMessage{ownMAC, own, allNodes, 135, 0, theirs, []net.HardwareAddr{ownMAC}}, true},
		{"solicitation from link-local address", ndMessage{ownMAC, linkLocal, allNodes, 135, 0, theirs, []net.HardwareAddr{ownMAC}}, true},

		{"advertisement of the gateway's address", ndMessage{ownMAC, own, allNodes, 136, 0xa0, gateway, []net.HardwareAddr{ownMAC}}, false},
		{"advertisement of another Pod's address", ndMessage{ownMAC, own, allNodes, 136, 0x20, theirs, []net.HardwareAddr{ownMAC}}, false},
		{"advertisement with another MAC address", ndMessage{ownMAC, own, allNodes, 136, 0x20, own, []net.HardwareAddr{theirMAC}}, false},
		{"advertisement with two MAC addresses", ndMessage{ownMAC, own, allNodes, 136, 0x20, own, []net.HardwareAddr{ownMAC, theirMAC}}, false},
		{"advertisement of the gateway with two MAC addresses", ndMessage{ownMAC, own, allNodes, 136, 0x20, gateway, []net.HardwareAddr{ownMAC, ownMAC}}, false},
		{"advertisement of a strange link-local address", ndMessage{ownMAC, linkLocal, allNodes, 136, 0x20, strangeLocal, []net.HardwareAddr{ownMAC}}, false},
		{"solicitation with another MAC address", ndMessage{ownMAC, own, allNodes, 135, 0, theirs, []net.HardwareAddr{theirMAC}}, false},
		{"solicitation with two MAC addresses", ndMessage{ownMAC, own, allNodes, 135, 0, theirs, []net.HardwareAddr{theirMAC, ownMAC}}, false},
		{"solicitation without MAC address", ndMessage{ownMAC, own, allNodes, 135, 0, theirs, nil}, false},
		{"from another Pod's address", ndMessage{ownMAC, theirs, allNodes, 135, 0, gateway, []net.HardwareAddr{ownMAC}}, false},
		{"from the gateway's address", ndMessage{ownMAC, gateway, allNodes, 135, 0, theirs, []net.HardwareAddr{ownMAC}}, false},
		{"from a strange link-local address", ndMessage{ownMAC, strangeLocal, allNodes, 135, 0, theirs, []net.HardwareAddr{ownMAC}}, false},
		{"from another MAC address", ndMessage{theirMAC, own, allNodes, 136, 0x20, own, []net.HardwareAddr{ownMAC}}, false},
		{"router advertisement", ndMessage{ownMAC, linkLocal, allNodes, 134, 64, netip.IPv6Unspecified(), nil}, false},
		{"redirect", ndMessage{ownMAC, linkLocal, allNodes, 137, 0, own, nil}, false},
	} {
		frame := tc.frame()
		send(frame)
		// The sentinel is sent after the frame. If it arrives alone, the frame was dropped.
		sentinel := announce.Frame(own, ownMAC)
		sentinel[17] = 0x77
		send(sentinel)
		require.Equal(t, tc.passes, arrives(t, capture, frame, sentinel), "%s\n%s", tc.name, o.Ofctl("dump-flows", "br-int"))
	}
}

// captureFrames receives all IPv6 frames for the Pod.
func captureFrames(t *testing.T, p *pod) int {
	t.Helper()
	var fd int
	inNetNS(t, p.netns, func() {
		link, err := netlink.LinkByName(p.ifname)
		require.NoError(t, err)
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 20}))
		const bigEndianIPv6 = unix.ETH_P_IPV6>>8 | unix.ETH_P_IPV6&0xff<<8
		require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndianIPv6, Ifindex: link.Attrs().Index}))
	})
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func rawSender(t *testing.T, p *pod, iface *interfacestore.InterfaceConfig) func([]byte) {
	t.Helper()
	sandbox, err := ns.GetNS(p.netns)
	require.NoError(t, err)
	defer sandbox.Close()
	fd, err := packetSocket(sandbox, iface.IFDev)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return func(frame []byte) { require.NoError(t, unix.Send(fd, frame, 0)) }
}

// arrives reports whether want came before sentinel.
func arrives(t *testing.T, fd int, want, sentinel []byte) (found bool) {
	t.Helper()
	buffer := make([]byte, 2000)
	for {
		n, _, err := afpacket.Recvfrom(fd, buffer)
		require.NoError(t, err, "the sentinel does not come either")
		switch string(buffer[:n]) {
		case string(want):
			found = true
		case string(sentinel):
			return found
		}
	}
}
