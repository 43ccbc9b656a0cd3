// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// serveEarly serves on a port that was free. Another program may take it in between.
func serveEarly(t *testing.T) (e *Early, port int) {
	for range 100 {
		free, err := Listen(0)
		require.NoError(t, err)
		port = free.Addr().(*net.TCPAddr).Port
		require.NoError(t, free.Close())
		e, err = ServeEarly(port, nil, "VersionTLS12")
		if !errors.Is(err, unix.EADDRINUSE) {
			require.NoError(t, err)
			return e, port
		}
	}
	t.Fatal("every port is taken by another program")
	return nil, 0
}

// From the first moment on a process is alive, but not ready; then its port is free for the real server.
func TestEarlyAnswers(t *testing.T) {
	e, port := serveEarly(t)
	defer e.Stop()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/healthz": 503, "/agentinfo": 503, "/": 503} {
		resp, err := client.Get("https://127.0.0.1:" + strconv.Itoa(port) + path)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, path)
	}
	_, err := ServeEarly(port, nil, "")
	require.ErrorContains(t, err, "listening on apiPort")
	e.Stop()
	(*Early)(nil).Stop()
	next, err := Listen(port)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	_, err = ServeEarly(port, []string{"none"}, "")
	require.Error(t, err)
}
