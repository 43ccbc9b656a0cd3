// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

func TestEndOrphans(t *testing.T) {
	const sourceMark = 0x20
	of := func(protocol uint8, mark uint32) *conntrack.Connection {
		return connection(openflow.ConntrackZoneIPv4, protocol, "10.96.0.10:80", "10.10.0.12:8080", mark)
	}
	kept := []*conntrack.Connection{
		of(unix.IPPROTO_TCP, serviceMark), of(unix.IPPROTO_SCTP, serviceMark), of(unix.IPPROTO_UDP, 0), of(unix.IPPROTO_TCP, sourceMark),
		connection(7, unix.IPPROTO_UDP, "10.96.0.10:80", "10.10.0.12:8080", serviceMark),
	}
	orphans := []*conntrack.Connection{of(unix.IPPROTO_UDP, serviceMark), of(unix.IPPROTO_TCP, serviceMark|sourceMark)}
	f := &fakeConnections{table: append(orphans, kept...)}
	require.NoError(t, EndOrphans(t.Context(), f, f))
	require.Equal(t, kept, f.table)
	require.Equal(t, 1, f.revalidated)

	f.err = errors.New("no netlink")
	require.ErrorIs(t, EndOrphans(t.Context(), f, f), f.err)
}
