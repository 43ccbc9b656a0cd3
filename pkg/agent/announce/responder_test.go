// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/net/ipv6"
	"k8s.io/apimachinery/pkg/util/sets"
)

// network is two namespaces with a link eth0 between them. The first has addresses on another device, which is down.
type network struct{ node, neighbor netns.NsHandle }

// in runs do in a namespace, on a thread of its own.
func in(t *testing.T, ns netns.NsHandle, do func()) {
	t.Helper()
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		if err = netns.Set(ns); err == nil {
			do()
		}
	}()
	<-done
	require.NoError(t, err)
}

func command(line ...string) (output string, err error) {
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	return string(out), err
}

func newNetwork(t *testing.T, elsewhere ...string) *network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread() // and the runtime ends the thread with the test
	n := &network{}
	for _, ns := range []*netns.NsHandle{&n.neighbor, &n.node} {
		var err error
		*ns, err = netns.New()
		require.NoError(t, err)
		t.Cleanup(func() { _ = ns.Close() })
	}
	run := func(line ...string) {
		t.Helper()
		out, err := command(line...)
		require.NoError(t, err, "%v: %s", line, out)
	}
	run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "peer")
	link, err := netlink.LinkByName("peer")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetNsFd(link, int(n.neighbor)))
	run("ip", "link", "add", "other", "type", "bridge")
	for _, addr := range elsewhere {
		run("ip", "addr", "add", addr+"/128", "dev", "other", "nodad")
	}
	run("ip", "addr", "add", "fd00:1::1/64", "dev", "eth0", "nodad")
	run("ip", "link", "set", "eth0", "up")
	require.NoError(t, netns.Set(n.neighbor))
	run("ip", "addr", "add", "fd00:1::2/64", "dev", "peer", "nodad")
	run("ip", "link", "set", "peer", "up")
	require.NoError(t, netns.Set(n.node))
	return n
}

// reaches reports whether the neighbour gets an answer from the address.
func (n *network) reaches(t *testing.T, addr string) bool {
	t.Helper()
	var err error
	in(t, n.neighbor, func() { _, err = command("ping", "-6", "-c", "1", "-W", "1", "-i", "0.2", addr) })
	return err == nil
}

// TestResponder: neighbours reach addresses of other devices of the Node while the Responder has them, by multicast and by unicast solicitations.
func TestResponder(t *testing.T) {
	const first, second, third = "fd00:1::99", "fd00:1:0:0:1::99", "fd00:1::98" // the first two have one multicast group
	n := newNetwork(t, first, second, third)
	r := NewResponder("eth0")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { in(t, n.node, func() { r.Run(ctx) }) })
	defer running.Wait()
	defer cancel()
	addrs := func(texts ...string) sets.Set[netip.Addr] {
		set := sets.New(netip.MustParseAddr("192.0.2.1")) // does not matter
		for _, text := range texts {
			set.Insert(netip.MustParseAddr(text))
		}
		return set
	}
	require.True(t, n.reaches(t, "fd00:1::1"), "the network works")
	require.False(t, n.reaches(t, first), "the kernel does not answer")
	eventually := func(addr string) {
		t.Helper()
		require.Eventually(t, func() bool { return n.reaches(t, addr) }, 30*time.Second, 10*time.Millisecond)
	}
	r.Set(addrs(first, second))
	eventually(first)
	in(t, n.neighbor, func() { // the neighbour asks again, by unicast
		_, err := command("ip", "-6", "neigh", "change", first, "dev", "peer", "nud", "probe")
		require.NoError(t, err)
	})
	require.Eventually(t, func() bool {
		var state string
		in(t, n.neighbor, func() { state, _ = command("ip", "-6", "neigh", "show", first, "nud", "reachable") })
		return state != ""
	}, 30*time.Second, 10*time.Millisecond)
	r.Set(addrs(second, third))
	eventually(second)
	eventually(third)
	in(t, n.neighbor, func() { _, _ = command("ip", "-6", "neigh", "flush", "dev", "peer") })
	require.False(t, n.reaches(t, first), "it is not answered any more")
	r.Set(addrs())
	r.Set(addrs(first))
	eventually(first)

	// Addresses of Services are on no device. Nothing here answers a ping to them.
	const nowhere = "fd00:1::97"
	r.Set(addrs(nowhere))
	require.Eventually(t, func() bool {
		var entry string
		n.reaches(t, nowhere)
		in(t, n.neighbor, func() { entry, _ = command("ip", "-6", "neigh", "show", nowhere) })
		return strings.Contains(entry, "lladdr")
	}, 30*time.Second, 10*time.Millisecond)
}

// TestAnswer: who has no address yet learns that this one is in use; others get their own answer. Other messages ask for nothing.
func TestAnswer(t *testing.T) {
	target, mac := netip.MustParseAddr("fd00:1::99"), net.HardwareAddr{2, 0, 0, 0, 0, 1}
	question := append([]byte{neighborSolicitation, 0, 0, 0, 0, 0, 0, 0}, target.AsSlice()...)
	asked, ok := solicited(question)
	require.True(t, ok)
	require.Equal(t, target, asked)
	for length := range question {
		_, ok := solicited(question[:length])
		require.False(t, ok)
	}
	_, ok = solicited(append([]byte{byte(ipv6.ICMPTypeRouterSolicitation)}, question[1:]...))
	require.False(t, ok)
	_, ok = solicited(append([]byte{neighborSolicitation, 1}, question[2:]...))
	require.False(t, ok)

	to, message := answer(target, netip.MustParseAddr("fe80::2"), mac)
	require.Equal(t, netip.MustParseAddr("fe80::2"), to)
	require.Equal(t, append(append([]byte{136, 0, 0, 0, 0x60, 0, 0, 0}, target.AsSlice()...), 2, 1, 2, 0, 0, 0, 0, 1), message)
	to, message = answer(target, netip.IPv6Unspecified(), mac)
	require.Equal(t, netip.MustParseAddr("ff02::1"), to)
	require.Equal(t, byte(0x20), message[4])
	require.Equal(t, netip.MustParseAddr("ff02::1:ff00:99"), solicitedNode(target))
}
