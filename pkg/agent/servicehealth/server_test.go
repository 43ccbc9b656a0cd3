// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicehealth

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var loopback, otherLoopback = netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")

// freePort returns a port that nobody has at the two addresses.
func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	require.NoError(t, err)
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// get asks, and returns status, weight and body; status is 0 if nobody answers.
func get(t *testing.T, addr netip.Addr, port uint16, path string) (status int, weight, body string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(fmt.Sprintf("http://%s%s", netip.AddrPortFrom(addr, port), path))
	if err != nil {
		return 0, "", ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header.Get("X-Load-Balancing-Endpoint-Weight"), string(text)
}

func TestServiceHealth(t *testing.T) {
	s := NewServer(false)
	defer s.Close()
	port, other := freePort(t), freePort(t)
	answers := func(addr netip.Addr, port uint16) string {
		status, weight, body := get(t, addr, port, "/anything")
		return fmt.Sprintf("%d %s %s", status, weight, body)
	}
	const silent, starting = "0  ", `503 2 {"service":{"namespace":"ns","name":"web"},"localEndpoints":2,"serviceProxyHealthy":false}` + "\n"
	const healthy, none = `200 2 {"service":{"namespace":"ns","name":"web"},"localEndpoints":2,"serviceProxyHealthy":true}` + "\n",
		`503 0 {"service":{"namespace":"ns","name":"web"},"localEndpoints":0,"serviceProxyHealthy":true}` + "\n"
	for _, step := range []struct {
		name string
		do   func() error
		want [3]string // at the address, at the other one, at the other port
	}{
		{"no address yet", func() error { return s.Set("ns", "web", port, 2) }, [3]string{silent, silent, silent}},
		{"an address", func() error { return s.SetAddresses([]netip.Addr{loopback}) }, [3]string{starting, silent, silent}},
		{"ready", func() error { s.Ready(); return nil }, [3]string{healthy, silent, silent}},
		{"another address", func() error { return s.SetAddresses([]netip.Addr{loopback, otherLoopback}) }, [3]string{healthy, healthy, silent}},
		{"no Endpoint", func() error { return s.Set("ns", "web", port, 0) }, [3]string{none, none, silent}},
		{"only the other address", func() error { return s.SetAddresses([]netip.Addr{otherLoopback}) }, [3]string{silent, none, silent}},
		{"another port", func() error { return s.Set("ns", "web", other, 2) }, [3]string{silent, silent, silent}},
		{"the address again", func() error { return s.SetAddresses([]netip.Addr{loopback}) }, [3]string{silent, silent, healthy}},
		{"an unknown Service", func() error { return s.Set("ns", "unknown", 0, 0) }, [3]string{silent, silent, healthy}},
		{"no port", func() error { return s.Set("ns", "web", 0, 0) }, [3]string{silent, silent, silent}},
	} {
		require.NoError(t, step.do(), step.name)
		require.Equal(t, step.want, [3]string{answers(loopback, port), answers(otherLoopback, port), answers(loopback, other)}, step.name)
	}
}

// A port that another process has is tried again by repetition.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	s := NewServer(true)
	require.ErrorContains(t, s.Set("ns", "web", port, 1), fmt.Sprintf("health check port %d of Service ns/web: listen tcp :%d", port, port))
	require.NoError(t, l.Close())
	require.NoError(t, s.SetAddresses(nil), "it has no effect")
	require.NoError(t, s.Set("ns", "web", port, 1))
	status, _, _ := get(t, loopback, port, "/")
	require.Equal(t, http.StatusServiceUnavailable, status)
	s.Close()
	status, _, _ = get(t, loopback, port, "/")
	require.Zero(t, status)
	require.NoError(t, s.Set("ns", "late", port, 1), "nothing is served after the end")
	status, _, _ = get(t, loopback, port, "/")
	require.Zero(t, status)
}

func TestNodeHealth(t *testing.T) {
	port := freePort(t)
	s := NewServer(true)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, netip.AddrPortFrom(loopback, port).String()) })
	require.Eventually(t, func() bool { status, _, _ := get(t, loopback, port, "/healthz"); return status != 0 }, 20*time.Second, time.Millisecond)
	for _, path := range []string{"/healthz", "/livez"} {
		status, _, body := get(t, loopback, port, path)
		require.Equal(t, http.StatusServiceUnavailable, status, body)
		require.Contains(t, body, `"nodeEligible":true`)
	}
	s.Ready()
	status, _, body := get(t, loopback, port, "/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"lastUpdated":`)
	status, _, _ = get(t, loopback, port, "/")
	require.Equal(t, http.StatusNotFound, status)
	cancel()
	running.Wait()
	status, _, _ = get(t, loopback, port, "/healthz")
	require.Zero(t, status)
}
