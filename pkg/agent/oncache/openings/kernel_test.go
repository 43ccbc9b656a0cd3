// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openings

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/tracking"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

const zone = 65520

// node stands for a Node: TCP over the loopback device, whose packets pass conntrack (slow) or do not (a hit).
type node struct {
	t        *testing.T
	iptables string
	address  netip.Addr
	table    *conntrack.Table
	// ordinary: conntrack sees connections from the beginning, and nothing is promoted.
	ordinary bool
}

var families = map[string]node{
	"IPv4": {iptables: "iptables", address: netip.MustParseAddr("127.0.0.1")},
	"IPv6": {iptables: "ip6tables", address: netip.IPv6Loopback()},
}

func newNode(t *testing.T, n node) *node {
	t.Helper()
	sandbox.RequireRoot(t)
	table, err := conntrack.OpenTable()
	require.NoError(t, err)
	t.Cleanup(table.Close)
	n.t, n.table = t, table
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("0"), 0))
	for _, rule := range [][]string{
		// A rule matches labels, so the kernel keeps them, as it does for Open vSwitch.
		{"-A", "INPUT", "-m", "connlabel", "--label", "127"},
		{"-A", "INPUT", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP"},
	} {
		if output, err := exec.Command(n.iptables, append([]string{"-w"}, rule...)...).CombinedOutput(); err != nil {
			t.Skipf("the kernel does not track connections here: %v: %s", err, output)
		}
	}
	t.Cleanup(func() { n.rule("-F"); n.rule("-t", "raw", "-F") })
	return &n
}

func (n *node) rule(args ...string) string {
	n.t.Helper()
	output, err := exec.Command(n.iptables, append([]string{"-w"}, args...)...).CombinedOutput()
	require.NoError(n.t, err, "%s %v: %s", n.iptables, args, output)
	return string(output)
}

// hits and slow choose the way of all packets from now on.
func (n *node) hits() {
	n.t.Helper()
	if n.ordinary {
		n.slow()
		return
	}
	n.way("--notrack")
}

func (n *node) slow() { n.way("--zone", strconv.Itoa(zone)) }

func (n *node) way(target ...string) {
	n.t.Helper()
	for _, chain := range []string{"OUTPUT", "PREROUTING"} {
		// The first rule decides, so that no packet meets none.
		n.rule(append([]string{"-t", "raw", "-I", chain, "-p", "tcp", "-j", "CT"}, target...)...)
	}
}

// denyNew denies new connections.
func (n *node) denyNew() {
	n.t.Helper()
	n.rule("-A", "INPUT", "-p", "tcp", "-m", "conntrack", "--ctstate", "NEW", "-j", "DROP")
}

// dropped returns how many packets the last deny rule or, with invalid, the first one has dropped.
func (n *node) dropped(state string) int {
	n.t.Helper()
	m := regexp.MustCompile(`(?m)^\s*(\d+)\s+\d+\s+DROP.*` + state).FindStringSubmatch(n.rule("-nvxL", "INPUT"))
	require.NotNil(n.t, m, "no rule for %s", state)
	count, err := strconv.Atoi(m[1])
	require.NoError(n.t, err)
	return count
}

// pair is a connection: its ends and its addresses.
type pair struct {
	opener, answerer *net.TCPConn
	Connection
}

// open opens a connection; from is the opener's port, or 0.
func (n *node) open(from uint16) *pair {
	n.t.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(n.address, 0)))
	require.NoError(n.t, err)
	defer listener.Close()
	opener, err := net.DialTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(n.address, from)), listener.Addr().(*net.TCPAddr))
	require.NoError(n.t, err)
	answerer, err := listener.AcceptTCP()
	require.NoError(n.t, err)
	p := &pair{opener: opener, answerer: answerer}
	n.t.Cleanup(func() { n.hits(); p.reset() })
	local, remote := opener.LocalAddr().(*net.TCPAddr).AddrPort(), opener.RemoteAddr().(*net.TCPAddr).AddrPort()
	p.Connection = Connection{
		Zone: zone, Mark: 3, Labels: [2]uint64{0x1234567800000007, 0x80000000000000ff},
		Original: conntrack.Tuple{Source: local.Addr(), Destination: remote.Addr(), Protocol: unix.IPPROTO_TCP, SourcePort: local.Port(), DestinationPort: remote.Port()},
	}
	return p
}

func (p *pair) reset() {
	for _, c := range []*net.TCPConn{p.opener, p.answerer} {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

// send sends n bytes, which must arrive.
func send(t *testing.T, from, to *net.TCPConn, n int) {
	t.Helper()
	require.NoError(t, to.SetReadDeadline(time.Now().Add(10*time.Second)))
	failed := make(chan error, 1)
	go func() { _, err := from.Write(make([]byte, n)); failed <- err }()
	_, err := io.CopyN(io.Discard, to, int64(n))
	require.NoError(t, err)
	require.NoError(t, <-failed)
}

// closes closes one direction, which the other end must see.
func closes(t *testing.T, from, to *net.TCPConn) {
	t.Helper()
	require.NoError(t, from.CloseWrite())
	require.NoError(t, to.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := to.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func (n *node) promoter() *Promoter {
	timeouts, err := tracking.ReadTimeouts(tracking.SysctlPath)
	require.NoError(n.t, err)
	return &Promoter{Table: n.table, Timeout: func(s conntrack.State) time.Duration { return timeouts.Open[s] + timeouts.Ended[s] }}
}

func (n *node) promote(p *pair, word Word) {
	n.t.Helper()
	if n.ordinary {
		return
	}
	u := &untracked{word: There | Answered | word, Connection: p.Connection}
	require.NoError(n.t, n.promoter().Promote(u))
	require.Equal(n.t, There|Answered|Noted|Gone|word, u.word)
}

// state waits until conntrack has the connection in that state.
func (n *node) state(p *pair, want conntrack.State) *conntrack.Connection {
	n.t.Helper()
	var got *conntrack.Connection
	require.Eventually(n.t, func() bool {
		var err error
		got, err = n.table.Get(zone, p.Original)
		return err == nil && got != nil && got.TCP != nil && got.TCP.State == want
	}, 20*time.Second, 10*time.Millisecond, "want %s, conntrack has %+v", want, &got)
	return got
}

// judgedAgain sends a SYN with the ports of an ended connection, and reports whether the rules take it for a new one.
func (n *node) judgedAgain(p *pair) bool {
	n.t.Helper()
	before := n.dropped("NEW")
	n.send(p, 0x02)
	return n.dropped("NEW") == before+1
}

// send sends a segment of the opener with these TCP flags and any numbers.
func (n *node) send(p *pair, flags byte) {
	n.t.Helper()
	var to unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	family := unix.AF_INET
	if n.address.Is6() {
		to, family = &unix.SockaddrInet6{Addr: n.address.As16()}, unix.AF_INET6
	}
	raw, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	require.NoError(n.t, err)
	defer unix.Close(raw)
	// Conntrack checks no checksum of what the machine sends itself.
	segment := binary.BigEndian.AppendUint16(nil, p.Original.SourcePort)
	segment = binary.BigEndian.AppendUint16(segment, p.Original.DestinationPort)
	segment = append(segment, 1, 2, 3, 4, 5, 6, 7, 8, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	require.NoError(n.t, unix.Sendto(raw, segment, 0, to))
}
