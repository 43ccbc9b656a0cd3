// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// steadyFlow sends datagrams from one socket to a server outside the cluster, without a pause in which a connection could end.
type steadyFlow struct {
	// source is the latest one that the server has seen.
	source atomic.Pointer[netip.Addr]
}

// startSteadyFlow starts the flow and its server, until the test ends.
func (s *suite) startSteadyFlow(t *testing.T, space *cluster.Space, outside netip.AddrPort) *steadyFlow {
	t.Helper()
	var server net.PacketConn
	require.NoError(t, s.Internet.Do(func() (err error) {
		server, err = net.ListenPacket("udp4", outside.String())
		return err
	}))
	t.Cleanup(func() { server.Close() })
	f := &steadyFlow{}
	go func() {
		buffer := make([]byte, 64)
		for {
			_, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			source := netip.MustParseAddrPort(from.String()).Addr()
			f.source.Store(&source)
		}
	}()
	client, err := space.DialContext(t.Context(), "udp4", outside.String())
	require.NoError(t, err)
	go func() {
		defer client.Close()
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-ticker.C:
				_, _ = client.Write([]byte("x"))
			}
		}
	}()
	return f
}

// eventuallyFrom waits until the server sees a source.
func (f *steadyFlow) eventuallyFrom(t *testing.T, want netip.Addr) {
	t.Helper()
	require.Eventually(t, func() bool {
		source := f.source.Load()
		return source != nil && *source == want
	}, 30*time.Second, 20*time.Millisecond, "want the source %s", want)
}
