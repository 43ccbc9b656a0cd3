// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

const socketEnv = "ANTREA_CNI_SOCKET_OVERRIDE"

// serve runs the harness's server on its socket until the test ends.
func (h *harness) serve() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.server.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		require.NoError(h.t, <-done)
		require.NoFileExists(h.t, h.server.cfg.Socket)
	})
	eventually(h.t, func() bool {
		conn, err := net.Dial("unix", h.server.cfg.Socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, "the server listens on %s", h.server.cfg.Socket)
}

// runtimeConfig returns the arguments with which a container runtime calls the plugin for a Pod.
func runtimeConfig(p *pod) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{
		ContainerID: p.containerID,
		NetNS:       p.netns,
		IfName:      p.ifname,
		Args: [][2]string{
			{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", "test"}, {"K8S_POD_NAME", p.name}, {"K8S_POD_INFRA_CONTAINER_ID", p.containerID},
		},
	}
}

func TestPluginWithLibCNI(t *testing.T) {
	for _, version := range []string{"0.3.0", "0.4.0", "1.0.0", "1.1.0"} {
		t.Run(version, func(t *testing.T) {
			h := newReadyHarness(t)
			h.serve()
			t.Setenv(socketEnv, h.server.cfg.Socket)
			list, err := libcni.ConfListFromBytes(fmt.Appendf(nil,
				`{"cniVersion":%q,"name":"antrea","plugins":[{"type":"antrea","ipam":{"type":"host-local"}}]}`, version))
			require.NoError(t, err)
			cni := libcni.NewCNIConfigWithCacheDir([]string{h.plugins}, t.TempDir(),
				&invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: os.Stderr}})
			if version == "1.1.0" {
				require.NoError(t, cni.GetStatusNetworkList(t.Context(), list))
				require.NoError(t, cni.GCNetworkList(t.Context(), list, &libcni.GCArgs{}))
			}

			const count = 20
			pods := make([]*pod, count)
			for i := range pods {
				pods[i] = h.newPod(fmt.Sprintf("web-%d", i))
			}
			forAll := func(f func(*pod) error) {
				var wg sync.WaitGroup
				for _, p := range pods {
					wg.Go(func() {
						if err := f(p); err != nil {
							t.Errorf("%s: %v", p.name, err)
						}
					})
				}
				wg.Wait()
			}
			forAll(func(p *pod) error {
				result, err := cni.AddNetworkList(t.Context(), list, runtimeConfig(p))
				if err != nil {
					return err
				}
				got, err := current.NewResultFromResult(result)
				if err == nil && (len(got.Interfaces) != 2 || got.Interfaces[1].Sandbox != p.netns || len(got.IPs) != 1) {
					err = fmt.Errorf("unexpected result %v", got)
				}
				return err
			})
			require.Len(t, h.leaseOwners(), count)
			if version != "0.3.0" {
				forAll(func(p *pod) error { return cni.CheckNetworkList(t.Context(), list, runtimeConfig(p)) })
			}
			for range 2 {
				forAll(func(p *pod) error { return cni.DelNetworkList(t.Context(), list, runtimeConfig(p)) })
			}
			for _, p := range pods {
				h.requireNothing(p)
			}
		})
	}
}

// runPlugin runs the plugin and returns its output; the error is the one that it prints.
func runPlugin(t *testing.T, h *harness, command, stdin string, env ...string) (string, *types.Error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(pluginDir(t), "antrea"))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID=abc", "CNI_NETNS=/var/run/netns/absent", "CNI_IFNAME=eth0",
		"CNI_PATH="+h.plugins, "CNI_ARGS=K8S_POD_NAMESPACE=test;K8S_POD_NAME=web", socketEnv+"="+h.server.cfg.Socket)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	var printed types.Error
	require.NoError(t, json.Unmarshal(out, &printed), "%v: %s", err, out)
	return "", &printed
}

func TestPluginErrors(t *testing.T) {
	const conf = `{"cniVersion":"0.4.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}`
	tests := []struct {
		name, command, stdin string
		env                  []string
		code                 uint
		message              string
	}{
		{"container ID missing", "ADD", conf, []string{"CNI_CONTAINERID="}, 4, "CNI_CONTAINERID"},
		{"netns missing", "ADD", conf, []string{"CNI_NETNS="}, 4, "CNI_NETNS"},
		{"netns absent", "ADD", conf, nil, 4, "CNI_NETNS"},
		{"ifname invalid", "ADD", conf, []string{"CNI_IFNAME=a/b"}, 4, "interface name"},
		{"pod name missing", "ADD", conf, []string{"CNI_ARGS=K8S_POD_NAMESPACE=test"}, 4, "K8S_POD_NAME"},
		{"malformed JSON", "ADD", "{", nil, 6, "network config"},
		{"unsupported version", "DEL", `{"cniVersion":"0.1.0","name":"antrea","ipam":{"type":"host-local"}}`, nil, 1, "incompatible"},
		{"IPAM type missing", "ADD", `{"cniVersion":"0.4.0","name":"antrea"}`, nil, 7, "ipam.type is missing"},
		{"IPAM type unsupported", "DEL", `{"cniVersion":"0.4.0","name":"antrea","ipam":{"type":"dhcp"}}`, nil, 2, "dhcp"},
		{"CHECK without prevResult", "CHECK", conf, nil, 7, "prevResult is missing"},
		{"unknown command", "MODIFY", conf, nil, 4, "CNI_COMMAND"},
		{"IPAM plugin missing", "DEL", conf, []string{"CNI_PATH=/absent"}, 101, "host-local"},
	}
	h := newReadyHarness(t)
	h.serve()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := runPlugin(t, h, tt.command, tt.stdin, tt.env...)
			require.NotNil(t, err)
			require.Equal(t, tt.code, err.Code, err.Msg)
			require.Contains(t, err.Msg, tt.message)
		})
	}
	t.Run("DEL of what does not exist", func(t *testing.T) {
		out, err := runPlugin(t, h, "DEL", conf)
		require.Nil(t, err)
		require.Empty(t, out)
	})
}

func TestPluginWithoutAgent(t *testing.T) {
	const conf = `{"cniVersion":"1.1.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}`
	h := newHarness(t)
	t.Run("no socket", func(t *testing.T) {
		for _, command := range []string{"ADD", "DEL"} {
			_, err := runPlugin(t, h, command, conf)
			require.NotNil(t, err)
			require.Equal(t, types.ErrTryAgainLater, err.Code)
			require.Contains(t, err.Msg, h.server.cfg.Socket)
		}
		_, err := runPlugin(t, h, "STATUS", conf)
		require.NotNil(t, err)
		require.Equal(t, uint(50), err.Code)
	})
	t.Run("VERSION is answered locally", func(t *testing.T) {
		out, err := runPlugin(t, h, "VERSION", "")
		require.Nil(t, err)
		require.JSONEq(t, `{"cniVersion":"1.1.0","supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}`, out)
	})
	t.Run("a server with another API", func(t *testing.T) {
		listener, err := listen(h.server.cfg.Socket)
		require.NoError(t, err)
		other := grpc.NewServer()
		go func() { _ = other.Serve(listener) }()
		defer other.Stop()
		_, pluginErr := runPlugin(t, h, "DEL", conf)
		require.NotNil(t, pluginErr)
		require.Equal(t, uint(202), pluginErr.Code)
	})
	t.Run("network not ready", func(t *testing.T) {
		h := newHarness(t)
		h.server.networkReadyTimeout = 1
		h.serve()
		_, err := runPlugin(t, h, "ADD", conf)
		require.NotNil(t, err)
		require.Equal(t, types.ErrTryAgainLater, err.Code)
		require.Contains(t, err.Msg, "not ready")
	})
}
