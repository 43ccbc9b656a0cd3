// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startProxy runs antctl proxy and returns its URL. At the end of the test it is stopped.
func startProxy(t *testing.T, env Environment, tokenFile string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	cmd := NewCommand(env, tokenFile)
	cmd.SetOut(in)
	cmd.SetErr(in)
	cmd.SetArgs(append([]string{"proxy", "--port", "0"}, args...))
	done := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		in.Close()
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err, "a proxy that is asked to stop has not failed")
		case <-time.After(10 * time.Second):
			t.Error("the proxy does not stop")
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, found := strings.CutPrefix(strings.TrimSpace(line), "Starting to serve on ")
	require.True(t, found, line)
	return "http://" + address
}

// fetch sends a GET with another client's credentials, which must not be passed on.
func fetch(t *testing.T, url, host string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Host = host
	request.Header.Set("Authorization", "Bearer mine")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// echo answers with what it was asked and by whom.
func echo(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte(r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization")))
}

func TestProxy(t *testing.T) {
	remote := Environment{Mode: ModeController}
	agent := newCluster(t, "localhost", echo)
	controller := newCluster(t, "antrea.kube-system.svc", echo)
	address, tokenFile := evil(t, echo)
	for _, tc := range []struct {
		name, url, token string
	}{
		{"agent", startProxy(t, remote, "", "--agent-node", "n1", "-k", agent.kubeconfig), "antctl-1"},
		{"controller", startProxy(t, remote, "", "--controller", "-k", controller.kubeconfig), "antctl-1"},
		{"controller from its Pod", startProxy(t, Environment{Mode: ModeController, InPod: true}, tokenFile, "--controller", "-s", address), "secret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, path := range []string{"/apis", "/metrics", "/debug/pprof/?debug=1"} {
				status, body := fetch(t, tc.url+path, "")
				require.Equal(t, http.StatusOK, status)
				require.Equal(t, "GET "+path+" Bearer "+tc.token, body)
			}
			status, body := fetch(t, tc.url+"/apis", "evil.example.com")
			require.Equal(t, http.StatusForbidden, status, "a page whose name resolves to this machine")
			require.Contains(t, body, "--accept-hosts")
			status, _ = fetch(t, tc.url+"/apis", "[::1]:8001")
			require.Equal(t, http.StatusOK, status)
		})
	}
	require.EqualValues(t, 1, agent.tokens.Load(), "one token for all requests")

	url := startProxy(t, remote, "", "--agent-node", "n1", "-k", agent.kubeconfig, "--accept-hosts", "^a$,^b$")
	status, _ := fetch(t, url, "b:80")
	require.Equal(t, http.StatusOK, status)
	status, _ = fetch(t, url, "localhost")
	require.Equal(t, http.StatusForbidden, status)
}

func TestProxyWithoutItsComponent(t *testing.T) {
	c := newCluster(t, "localhost", echo)
	c.objects[tokenPath] = nil
	status, body := fetch(t, startProxy(t, Environment{Mode: ModeController}, "", "--agent-node", "n1", "-k", c.kubeconfig)+"/apis", "")
	require.Equal(t, http.StatusBadGateway, status)
	require.Contains(t, body, "asking for a token of ServiceAccount kube-system/antctl")
}

func TestProxyRefuses(t *testing.T) {
	c := newCluster(t, "localhost", echo)
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("secret"), 0o600))
	for _, tc := range []struct {
		name string
		args []string
		err  string
	}{
		{"neither", nil, "exactly one of --controller and --agent-node NODE is needed"},
		{"both", []string{"--controller", "--agent-node", "n1"}, "exactly one of"},
		{"bad address", []string{"--agent-node", "n1", "--address", "256.0.0.1"}, "--address: \"256.0.0.1\" is not an IP address"},
		{"bad port", []string{"--agent-node", "n1", "--port", "65536"}, "--port: "},
		{"bad expression", []string{"--controller", "--accept-hosts", "("}, "--accept-hosts: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, stderr, err := run(Environment{Mode: ModeController}, tokenFile, append([]string{"proxy", "-k", c.kubeconfig}, tc.args...)...)
			require.Error(t, err)
			require.Contains(t, stderr, tc.err)
		})
	}
}
