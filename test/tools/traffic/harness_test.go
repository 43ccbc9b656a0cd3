// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// running is a subcommand that runs in this process.
type running struct {
	cancel         context.CancelFunc
	stdout, status buffer
	done           chan struct{}
	err            error
}

// start runs a command line without the program's name.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	r := &running{cancel: cancel, done: make(chan struct{})}
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&r.stdout)
	cmd.SetErr(&r.status)
	go func() {
		defer close(r.done)
		r.err = cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// startServer waits until it is ready and returns where it listens.
func startServer(t *testing.T, args ...string) (r *running, address string) {
	t.Helper()
	r = start(t, args...)
	r.waitFor(t, "ready ")
	_, line, _ := strings.Cut(r.status.String(), "ready ")
	address, _, _ = strings.Cut(line, "\n")
	return r, strings.Replace(address, "0.0.0.0", "127.0.0.1", 1)
}

func (r *running) waitFor(t *testing.T, pattern string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool { return re.MatchString(r.status.String()) }, 10*time.Second, 5*time.Millisecond,
		"status output %q", &r.status)
}

// stop has the effect of SIGTERM.
func (r *running) stop() { r.cancel() }

// end waits for the end and decodes the report.
func end[Report any](t *testing.T, r *running) (report Report, err error) {
	t.Helper()
	<-r.done
	require.NoError(t, errors.Join(json.Unmarshal([]byte(r.stdout.String()), &report)), "output %q, error %v", &r.stdout, r.err)
	return report, r.err
}

type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// vethPair makes two connected devices, "near" with 192.0.2.1/24 and "far".
func vethPair(t *testing.T) {
	t.Helper()
	sandbox.RequireRoot(t)
	near := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"}
	require.NoError(t, netlink.LinkAdd(near))
	t.Cleanup(func() { require.NoError(t, netlink.LinkDel(near)) })
	addr, err := netlink.ParseAddr("192.0.2.1/24")
	require.NoError(t, err)
	require.NoError(t, netlink.AddrAdd(near, addr))
	for _, name := range []string{"near", "far"} {
		link, err := netlink.LinkByName(name)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetUp(link))
	}
	// A device drops packets until the kernel has noticed its carrier, some time after both ends are up.
	for _, name := range []string{"near", "far"} {
		require.Eventually(t, func() bool {
			link, err := netlink.LinkByName(name)
			return err == nil && link.Attrs().OperState == netlink.OperUp
		}, 20*time.Second, time.Millisecond, "carrier of %s", name)
	}
}

// waitUntilLocal waits until the kernel delivers to an IPv6 address that was just added. The kernel does so once it has
// noticed, in the background, that the link is up; before that it looks for a neighbor with the address.
func waitUntilLocal(t *testing.T, ip net.IP) {
	t.Helper()
	require.Eventually(t, func() bool {
		routes, err := netlink.RouteGet(ip)
		return err == nil && len(routes) == 1 && routes[0].Type == unix.RTN_LOCAL
	}, time.Minute, 10*time.Millisecond, "%v is an address of this host", ip)
}
