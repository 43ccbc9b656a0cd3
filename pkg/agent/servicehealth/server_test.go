// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicehealth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var loopback, otherLoopback = netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")

// freePort returns a port that is unused at the two addresses. fakeFirewall records its calls.
type fakeFirewall struct {
	calls []string
	err   error
}

func (f *fakeFirewall) node(forwards func() error) Node {
	if forwards == nil {
		forwards = func() error { return nil }
	}
	note := func(what string) func(uint16) error {
		return func(port uint16) error {
			f.calls = append(f.calls, fmt.Sprint(what, " ", port))
			return f.err
		}
	}
	return Node{Forwards: forwards, OpenPort: note("open"), ClosePort: note("close")}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	require.NoError(t, err)
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// get asks, and returns status, weight and body; status is 0 without an answer.
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
	firewall := &fakeFirewall{}
	s := NewServer(false, firewall.node(nil))
	defer s.Close()
	port, other := freePort(t), freePort(t)
	answers := func(addr netip.Addr, port uint16) string {
		status, weight, body := get(t, addr, port, "/anything")
		return fmt.Sprintf("%d %s %s", status, weight, body)
	}
	body := func(status, endpoints int, healthy bool) string {
		return fmt.Sprintf("%d %d {\n\t\"service\": {\n\t\t\"namespace\": \"ns\",\n\t\t\"name\": \"web\"\n\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": %t\n}",
			status, endpoints, endpoints, healthy)
	}
	const silent = "0  "
	starting, healthy, none := body(503, 2, false), body(200, 2, true), body(503, 0, true)
	for _, step := range []struct {
		name string
		do   func() error
		want [3]string // at the address, at the other address, at the other port
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
	require.Equal(t, []string{fmt.Sprint("open ", port), fmt.Sprint("close ", port), fmt.Sprint("open ", other), fmt.Sprint("close ", other)}, firewall.calls)
}

// A port that another process has is tried again by repetition.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	s := NewServer(true, (&fakeFirewall{}).node(nil))
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

// The Node answers that it can be used, as long as it forwards and shall be used.
func TestNodeHealth(t *testing.T) {
	port := freePort(t)
	var away atomic.Bool
	s := NewServer(true, (&fakeFirewall{}).node(func() error {
		if away.Load() {
			return errors.New("no answer for 30 s")
		}
		return nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, netip.AddrPortFrom(loopback, port).String()) })
	require.Eventually(t, func() bool { status, _, _ := get(t, loopback, port, "/healthz"); return status != 0 }, 20*time.Second, time.Millisecond)
	tainted := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "other"}, {Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}}}
	deleted := &corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	ready := func() { s.Ready() }
	for _, step := range []struct {
		name            string
		do              func()
		healthy, living int
		eligible        bool
	}{
		{"Services are not installed", func() {}, 503, 503, true},
		{"ready", ready, 200, 200, true},
		{"about to be deleted", func() { s.SetNode(tainted) }, 503, 200, false},
		{"not any more", func() { s.SetNode(&corev1.Node{}) }, 200, 200, true},
		{"being deleted", func() { s.SetNode(deleted) }, 503, 200, false},
		{"gone", func() { s.SetNode(nil) }, 503, 200, false},
		{"back", func() { s.SetNode(&corev1.Node{}) }, 200, 200, true},
		{"Open vSwitch is away", func() { away.Store(true) }, 503, 503, true},
		{"Open vSwitch is back", func() { away.Store(false) }, 200, 200, true},
	} {
		step.do()
		for path, want := range map[string]int{"/healthz": step.healthy, "/livez": step.living} {
			status, _, body := get(t, loopback, port, path)
			require.Equal(t, want, status, "%s, %s: %s", step.name, path, body)
			require.Contains(t, body, fmt.Sprintf(`"nodeEligible":%t}`, step.eligible), step.name)
			require.True(t, strings.HasSuffix(body, "}"), "%s: %q", step.name, body)
		}
	}
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

// A Service's port does not say that it can be used while the Node does not forward.
func TestServiceHealthWithoutOpenVSwitch(t *testing.T) {
	firewall := &fakeFirewall{err: errors.New("locked")}
	s := NewServer(true, firewall.node(func() error { return errors.New("away") }))
	defer s.Close()
	port := freePort(t)
	s.Ready()
	require.ErrorContains(t, s.Set("ns", "web", port, 1), "Service ns/web: locked")
	firewall.err = nil
	require.NoError(t, s.Set("ns", "web", port, 1))
	require.NoError(t, s.Set("ns", "web", port, 1))
	require.Len(t, firewall.calls, 2, "it is opened once")
	status, _, body := get(t, loopback, port, "/")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"serviceProxyHealthy": false`)
}

// A port that the firewall does not close is closed by a repetition, unless it is in use again.
func TestPortThatCannotBeClosed(t *testing.T) {
	firewall := &fakeFirewall{}
	s := NewServer(true, firewall.node(nil))
	defer s.Close()
	port, other := freePort(t), freePort(t)
	require.NoError(t, s.Set("ns", "web", port, 1))
	firewall.err = errors.New("locked")
	require.ErrorContains(t, s.Set("ns", "web", 0, 0), "Service ns/web: locked")
	require.ErrorContains(t, s.Set("ns", "web", 0, 0), "Service ns/web: locked")
	firewall.err, firewall.calls = nil, nil
	require.NoError(t, s.Set("ns", "web", 0, 0))
	require.NoError(t, s.Set("ns", "web", 0, 0))
	require.Equal(t, []string{fmt.Sprint("close ", port)}, firewall.calls)

	// A server that ends before it accepts connections may keep its port for a moment.
	listens := func(name string) {
		t.Helper()
		require.Eventually(t, func() bool { return s.Set("ns", name, port, 1) == nil }, 10*time.Second, time.Millisecond)
	}
	listens("web")
	firewall.err = errors.New("locked")
	require.Error(t, s.Set("ns", "web", other, 1))
	status, _, _ := get(t, loopback, port, "/")
	require.Zero(t, status, "the former port")
	firewall.err, firewall.calls = nil, nil
	listens("api")
	require.NoError(t, s.Set("ns", "web", other, 1))
	require.Equal(t, []string{fmt.Sprint("open ", port), fmt.Sprint("open ", other)}, firewall.calls, "another Service has the former port")
}

// Clients that open connections without a request are limited in number and delay no other client, at any port. Connections that end later than
// requestTimeout may have ended by that.
func TestSilentConnectionsAreBounded(t *testing.T) {
	s := NewServer(true, (&fakeFirewall{}).node(nil))
	defer s.Close()
	ports := []uint16{freePort(t), freePort(t)}
	for i, port := range ports {
		require.NoError(t, s.Set("ns", fmt.Sprint("web", i), port, 1))
	}
	s.Ready()
	var closed atomic.Int64
	for i := range 4 * maxConnectionsOfSource {
		dialed := time.Now()
		conn, err := net.Dial("tcp", netip.AddrPortFrom(loopback, ports[i%len(ports)]).String())
		require.NoError(t, err)
		defer conn.Close()
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			if time.Since(dialed) < requestTimeout {
				closed.Add(1)
			}
		}()
	}
	require.Eventually(t, func() bool { return closed.Load() >= 3*maxConnectionsOfSource }, 20*time.Second, time.Millisecond)
	for _, port := range ports {
		status, _, _ := get(t, loopback, port, "/")
		require.Equal(t, http.StatusOK, status)
	}
}
