// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/podinterface"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	agentbundle "github.com/antrea-oncache/antrea/pkg/agent/supportbundle"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/featuregates"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// TestBinary builds antctl and runs it against a real API server of an agent.
func TestBinary(t *testing.T) {
	dir := t.TempDir()
	tokenFile := filepath.Join(dir, "token")
	binary := filepath.Join(dir, "antctl")
	buildAntctl(t, binary, tokenFile)
	address := startAgentAPI(t, tokenFile)

	antctl := func(podName string, args ...string) (stdout, stderr string, err error) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = append(os.Environ(), "POD_NAME="+podName, "KUBECONFIG="+filepath.Join(dir, "absent"), "HOME="+dir, "KUBERNETES_SERVICE_HOST=")
		var outBuf, errBuf bytes.Buffer
		cmd.Stdout, cmd.Stderr = &outBuf, &errBuf
		err = cmd.Run()
		return outBuf.String(), errBuf.String(), err
	}
	const agent = "antrea-agent-x"

	stdout, stderr, err := antctl(agent, "-s", address, "get", "podinterface", "web", "-n", "shop", "-o", "json")
	require.NoError(t, err, stderr)
	require.Empty(t, stderr)
	var pods []apis.PodInterface
	require.NoError(t, json.Unmarshal([]byte(stdout), &pods))
	require.Len(t, pods, 1)
	require.Equal(t, "web", pods[0].PodName)

	stdout, _, err = antctl(agent, "-s", address, "get", "featuregates")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^ONCache +Enabled +ALPHA$`, stdout)

	stdout, stderr, err = antctl(agent, "-s", address, "version")
	require.NoError(t, err)
	require.Contains(t, stdout, "agentVersion: ")
	require.Contains(t, stdout, "antctlVersion: v9.9.9\n")
	require.Empty(t, stderr)

	_, stderr, err = antctl(agent, "-s", address, "-v", "version")
	require.NoError(t, err)
	require.Contains(t, stderr, address, "verbose output goes to the standard error")

	_, stderr, err = antctl(agent, "-s", address, "get", "podinterface", "absent")
	require.Error(t, err)
	require.Equal(t, "Error: podinterface \"absent\" not found\n", stderr)

	_, stderr, err = antctl(agent, "-s", address, "get", "ovsflows")
	require.Error(t, err)
	require.Equal(t, "Error: ovsflows is not enabled\n", stderr, "the form in which gated commands fail")

	bundles := filepath.Join(dir, "bundles")
	stdout, stderr, err = antctl(agent, "-s", address, "supportbundle", "-d", bundles, "--since", "1h")
	require.NoError(t, err, stderr)
	require.Equal(t, "Created bundle under "+bundles+"\n", stdout)
	require.Regexp(t, `^\[1/1\] agent: \d+ KiB in [0-9.]+ s\n$`, stderr)
	requireBundle(t, filepath.Join(bundles, "agent.tar.gz"), tokenFile)

	require.NoError(t, os.WriteFile(tokenFile, []byte("wrong"), 0o600))
	_, stderr, err = antctl(agent, "-s", address, "version")
	require.Error(t, err)
	require.Equal(t, "Error: Unauthorized\n", stderr)

	_, stderr, err = antctl("", "get", "podinterface")
	require.Error(t, err)
	require.Contains(t, stderr, "asks an agent: name its Node with --node", "outside the agent's Pod")
	_, stderr, err = antctl("", "version", "-t", "1s")
	require.Error(t, err)
	require.Contains(t, stderr, "Kubernetes API")
}

// requireBundle looks into an agent's bundle: without Open vSwitch and cache it has what the process itself knows, and not the token.
func requireBundle(t *testing.T, file, tokenFile string) {
	t.Helper()
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	out, err := exec.CommandContext(t.Context(), "tar", "-xzOf", file).CombinedOutput()
	require.NoError(t, err)
	token, err := os.ReadFile(tokenFile)
	require.NoError(t, err)
	for _, part := range []string{"podNamespace: shop", "component: agent", "name: flows", "GET /ovsflows: 503", "goroutine ", "since: 1h0m0s", "inet 127.0.0.1/8"} {
		require.Equal(t, part != "GET /ovsflows: 503", strings.Contains(string(out), part), part)
	}
	require.NotContains(t, string(out), string(token))
}

func buildAntctl(t *testing.T, binary, tokenFile string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("needs the go command to build antctl: %v", err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X main.tokenFile="+tokenFile+
		" -X github.com/antrea-oncache/antrea/pkg/version.Version=v9.9.9 -X github.com/antrea-oncache/antrea/pkg/version.ReleaseStatus=released",
		"-o", binary, ".")
	// As the Makefile builds: the race detector's setting would compile all libraries once more.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
}

func startAgentAPI(t *testing.T, tokenFile string) (address string) {
	t.Helper()
	store := interfacestore.NewInterfaceStore()
	store.Initialize([]*interfacestore.InterfaceConfig{{
		Type: interfacestore.ContainerInterface, InterfaceName: "web-123456", IPs: []netip.Addr{netip.MustParseAddr("10.10.0.2")},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodName: "web", PodNamespace: "shop", ContainerID: "c1"},
	}})
	gates, err := features.New(map[string]bool{"ONCache": true})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	routes := map[string]http.HandlerFunc{
		"/podinterfaces": podinterface.HandleFunc(store),
		"/featuregates":  featuregates.HandleAgent(gates),
		"/ovsflows":      handlers.NotEnabled("ovsflows"),
	}
	source := &agentbundle.Agent{OVSRunDir: t.TempDir(), Bridge: "br-absent", LogDirectory: t.TempDir(), OVSLogDirectory: t.TempDir(), Routes: routes}
	bundles, err := supportbundle.New(ctx, supportbundle.Config{Component: "agent", Directory: filepath.Join(t.TempDir(), "bundles"), Items: source.Items})
	require.NoError(t, err)
	server, err := apiserver.New(ctx, &apiserver.Config{
		Listener: listener, TokenFile: tokenFile, Client: apiservertest.Start(t, &apiservertest.Kubernetes{}), Routes: routes, Handlers: bundles.Handlers(),
	})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(10 * time.Second):
			t.Error("the server does not stop")
		}
	})
	return listener.Addr().String()
}
