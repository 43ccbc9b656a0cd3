// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnelprobe

import (
	"context"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// The kernel of the other end answers; when it no longer does, it is missed.
func TestProbeOfAKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread()
	peer, err := netns.New()
	require.NoError(t, err)
	defer peer.Close()
	own, err := netns.New()
	require.NoError(t, err)
	defer own.Close()
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "gw"}, PeerName: "peer"}))
	far, err := netlink.LinkByName("peer")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetNsFd(far, int(peer)))
	configure := func(device, ipv4, ipv6 string) {
		link, err := netlink.LinkByName(device)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetUp(link))
		for _, text := range []string{ipv4, ipv6} {
			addr, err := netlink.ParseAddr(text)
			require.NoError(t, err)
			addr.Flags = unix.IFA_F_NODAD
			require.NoError(t, netlink.AddrAdd(link, addr))
		}
	}
	configure("gw", "10.10.0.1/16", "fd00:10::1/48")
	require.NoError(t, netns.Set(peer))
	configure("peer", "10.10.1.1/16", "fd00:10:0:1::1/48")
	require.NoError(t, netns.Set(own))

	for _, addresses := range [][2]string{{"10.10.0.1", "10.10.1.1"}, {"fd00:10::1", "fd00:10:0:1::1"}} {
		from, to := netip.MustParseAddr(addresses[0]), netip.MustParseAddr(addresses[1])
		p := New(Config{
			NodeName: "node-1", Gateways: []netip.Addr{from}, Peers: func() []Peer { return []Peer{{"node-2", to}} },
			Proof: func() netip.Addr { return netip.Addr{} }, SetProof: func(netip.Addr) {}, Problems: problem.NewRecorder(),
		})
		p.core = newCore(time.Now(), netip.Addr{})
		p.core.setPeers(p.config.Peers())
		ctx, cancel := context.WithCancel(t.Context())
		p.openSockets(ctx)
		require.Len(t, p.sockets, 1)
		for _, peer := range p.core.ask(time.Now()) {
			p.ask(peer)
		}
		select {
		case answer := <-p.answers:
			require.Equal(t, to, answer)
			require.True(t, p.core.answer(time.Now(), answer))
		case <-time.After(10 * time.Second):
			require.FailNow(t, "no answer within 10 s", addresses)
		}
		// Another process's answers do not arrive.
		foreign, err := newSocket(from, p.id+1)
		require.NoError(t, err)
		require.NoError(t, foreign.send(to, 1))
		_, err = foreign.receive()
		require.NoError(t, err)
		require.Empty(t, p.answers)
		foreign.close()

		// A socket that fails is replaced.
		require.NoError(t, p.sockets[from.Is6()].conn.SetReadDeadline(time.Now()))
		select {
		case failed := <-p.failed:
			p.drop(failed)
		case <-time.After(10 * time.Second):
			require.FailNow(t, "the failure of the socket is not reported within 10 s")
		}
		require.Empty(t, p.sockets)
		p.openSockets(ctx)
		p.ask(Peer{"node-2", to})
		select {
		case answer := <-p.answers:
			require.Equal(t, to, answer)
		case <-time.After(10 * time.Second):
			require.FailNow(t, "no answer to the new socket within 10 s")
		}
		p.closeSockets()
		cancel()
	}
}

func TestReports(t *testing.T) {
	problems := problem.NewRecorder()
	p := New(Config{NodeName: "node-1", Problems: problems})
	names := func() []string {
		list, _ := problems.List()
		var names []string
		for _, l := range list {
			require.Equal(t, ReasonUnreachable, l.Reason)
			names = append(names, l.Subject.Name)
		}
		return names
	}
	p.report([]string{"node-2", "node-3"}, false)
	require.Equal(t, []string{"node-2", "node-3"}, names())
	p.report([]string{"node-3"}, false)
	require.Equal(t, []string{"node-3"}, names())
	p.report(nil, true)
	require.Equal(t, []string{"node-1"}, names())
	p.report(nil, false)
	require.Empty(t, names())
}
