// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

func TestListen(t *testing.T) {
	oldMask := syscall.Umask(0o022)
	defer syscall.Umask(oldMask)
	socket := filepath.Join(t.TempDir(), "run", "antrea", "cni.sock")
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	first, err := listen(socket)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o750), mode(filepath.Dir(socket)))
	require.Equal(t, fs.FileMode(0o600), mode(socket))

	// A process that was killed leaves its socket behind.
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	second, err := listen(socket)
	require.NoError(t, err)
	second.Close()

	require.NoError(t, os.WriteFile(socket, []byte("precious"), 0o600))
	_, err = listen(socket)
	require.ErrorContains(t, err, "is not a socket")
	require.FileExists(t, socket)
}

func TestRunStopsWaitingRequests(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.server.Run(ctx) }()
	request := h.request(h.newPod("web"))
	responses := make(chan *cnipb.CniCmdResponse, 1)
	go func() {
		response, _ := h.server.CmdAdd(context.Background(), request)
		responses <- response
	}()
	eventually(t, func() bool { return exists(h.server.cfg.Socket) }, "the socket exists")
	cancel()
	response := <-responses
	require.Equal(t, cnipb.ErrorCode_TRY_AGAIN_LATER, response.Error.GetCode())
	require.Contains(t, response.Error.Message, "stopping")
	require.NoError(t, <-done)
}

func TestRunFailsWithoutSocketDirectory(t *testing.T) {
	h := newHarness(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	h.server.cfg.Socket = filepath.Join(file, "cni.sock")
	require.ErrorContains(t, h.server.Run(t.Context()), "directory of the CNI socket")
}

func TestNetNSPath(t *testing.T) {
	prefix := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(prefix, "proc/1/ns"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(prefix, "proc/1/ns/net"), nil, 0o600))
	tests := []struct{ name, prefix, path, want string }{
		{"exists below the prefix", prefix, "/proc/1/ns/net", prefix + "/proc/1/ns/net"},
		{"does not exist below the prefix", prefix, "/proc/2/ns/net", "/proc/2/ns/net"},
		{"no prefix", "", "/proc/1/ns/net", "/proc/1/ns/net"},
		{"no path", prefix, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, netnsPath(tt.prefix, tt.path)) })
	}
}

func TestNewRejects(t *testing.T) {
	h := newHarness(t)
	for name, change := range map[string]func(*Config){
		"no socket":   func(c *Config) { c.Socket = "" },
		"no Pod CIDR": func(c *Config) { node := *c.Node; node.PodIPv4CIDR = node.PodIPv6CIDR; c.Node = &node },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := h.server.cfg
			change(&cfg)
			_, err := New(cfg, h.ports, h.flows, h.store, h.ready)
			require.Error(t, err)
		})
	}
}
