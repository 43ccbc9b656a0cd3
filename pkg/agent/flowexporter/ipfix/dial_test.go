// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/go-ipfix/pkg/exporter"
)

// A library that hangs costs a few goroutines, and delays nothing.
func TestHangingLibrary(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	input := exporter.ExporterInput{CollectorAddress: l.Addr().String(), CollectorProtocol: TCP,
		TLSClientConfig: &exporter.ExporterTLSClientConfig{CAData: []byte("no PEM")}}
	_, err = within(t.Context(), input)
	require.Error(t, err)
	require.NotErrorIs(t, err, errHanging)
	require.Eventually(t, func() bool { return hanging.Load() == 0 }, time.Minute, time.Millisecond, "the call before has returned, its goroutine may not have ended")
	hanging.Add(maxHanging)
	_, err = within(t.Context(), input)
	require.ErrorIs(t, err, errHanging)
	require.Equal(t, int32(maxHanging), hanging.Add(-maxHanging)+maxHanging)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Dial(ctx, Options{Address: "192.0.2.1:4739", Protocol: TCP})
	require.Error(t, err)
}
