// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// firstConnection is the outcome of the first connection of a Pod.
type firstConnection struct {
	pod    string
	source netip.Addr
	err    error
	took   time.Duration
}

// testEgressFirst: the first connection of a new Pod to the outside has the address of the Pod's Egress. Each Pod connects as soon as it has its network,
// before the API has the Pod's address, on the Node with the Egress address and on the other Node.
func testEgressFirst(t *testing.T, s *suite) {
	addr := s.egressAddress(201)
	addAddress(t, s.node2, addr)
	e := s.createStaticEgress(t, "first", "first", addr)
	e.eventuallyOn(t, s.node2, addr)
	s.label(t, s.client, map[string]string{"egress": e.name})
	defer s.label(t, s.client, nil)
	outside := s.askWhoOutside(t)
	s.eventuallySeenAs(t, s.client.Space, outside, addr)

	rounds := 1
	if all {
		rounds = 20
	}
	var firsts firstConnections
	s.PodConnected = func(p *cluster.Pod) { firsts.connect(p, outside) }
	defer func() { s.PodConnected = nil }()
	for i := range rounds {
		err := s.EachNode(func(n *cluster.Node) error { return s.makePods(t.Context(), n, e.name, i) })
		firsts.running.Wait()
		require.NoError(t, errors.Join(err, firsts.deletePods(t.Context())))
	}
	firsts.require(t, rounds*podsPerRound*len(s.Nodes), addr)
}

// podsPerRound is the number of Pods that each Node gets before they are deleted.
const podsPerRound = 25

// makePods makes Pods with the label of an Egress one after the other.
func (s *suite) makePods(ctx context.Context, n *cluster.Node, egress string, round int) error {
	for i := range podsPerRound {
		_, err := s.CreatePod(ctx, n, namespace, fmt.Sprintf("%s-%s-%d-%d", egress, n.Name, round, i), func(p *corev1.Pod) {
			p.Labels = map[string]string{"egress": egress}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// firstConnections are made by Pods of several Nodes at the same time.
type firstConnections struct {
	running sync.WaitGroup
	mu      sync.Mutex
	all     []firstConnection
	pods    []*cluster.Pod
}

// deletePods deletes the Pods that have connected.
func (f *firstConnections) deletePods(ctx context.Context) (err error) {
	for _, p := range f.pods {
		err = errors.Join(err, p.Delete(ctx))
	}
	f.pods = nil
	return err
}

// connect lets a Pod connect while its Node continues to make it known.
func (f *firstConnections) connect(p *cluster.Pod, outside netip.AddrPort) {
	began := time.Now()
	conn, err := startConnecting(p.Space, outside)
	f.mu.Lock()
	f.pods = append(f.pods, p)
	f.mu.Unlock()
	f.running.Go(func() {
		var source netip.Addr
		if err == nil {
			source, err = readWho(conn, 20*time.Second)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.all = append(f.all, firstConnection{p.PodName, source, err, time.Since(began)})
	})
}

// startConnecting returns when the first packet of a connection is sent: others can use the space while it waits for the answer.
func startConnecting(space *cluster.Space, to netip.AddrPort) (conn net.Conn, err error) {
	family, addr := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, addr = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	err = space.Do(func() error {
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(fd), to.String())
		defer file.Close()
		if err := unix.Connect(fd, addr); err != nil && !errors.Is(err, unix.EINPROGRESS) {
			return err
		}
		conn, err = net.FileConn(file)
		return err
	})
	return conn, err
}

// require logs the outcomes, and fails unless all had the address.
func (f *firstConnections) require(t *testing.T, want int, addr netip.Addr) {
	t.Helper()
	require.Len(t, f.all, want)
	others := slices.DeleteFunc(slices.Clone(f.all), func(c firstConnection) bool { return c.err != nil || c.source == addr })
	failed := slices.DeleteFunc(slices.Clone(f.all), func(c firstConnection) bool { return c.err == nil })
	slices.SortFunc(f.all, func(a, b firstConnection) int { return int(a.took - b.took) })
	t.Logf("%d first connections: %d with another source, %d failed, median %s, worst %s", want, len(others), len(failed),
		f.all[want/2].took.Round(time.Millisecond), f.all[want-1].took.Round(time.Millisecond))
	require.Empty(t, others, "connections with another source than %s", addr)
	require.Empty(t, failed, "connections that failed")
}
