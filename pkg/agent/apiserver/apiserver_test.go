// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/version"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
	antreaversion "github.com/antrea-oncache/antrea/pkg/version"
)

// A handler that panics answers this request with an error; the log has its path, and the server continues.
func TestPanicOfAHandler(t *testing.T) {
	problems := problem.NewRecorder()
	recovery.ReportTo(problems)
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) {
		c.Routes["/bad"] = func(http.ResponseWriter, *http.Request) { panic("boom") }
	})
	for path, want := range map[string]int{"/bad": http.StatusInternalServerError, "/hello": http.StatusOK} {
		request, err := http.NewRequest(http.MethodGet, f.url+path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+f.token)
		response, err := f.client.Do(request)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, want, response.StatusCode, path)
	}
	list, _ := problems.List()
	require.Len(t, list, 1)
	require.Contains(t, list[0].Message, "boom")
}

type fixture struct {
	t      *testing.T
	url    string
	token  string
	client *http.Client
	server *Server
	stop   func() error
}

func start(t *testing.T, kubernetes *apiservertest.Kubernetes, change func(*Config)) *fixture {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tokenFile := filepath.Join(t.TempDir(), "apiserver", "token")
	c := &Config{
		Listener:  listener,
		TokenFile: tokenFile,
		Client:    apiservertest.Start(t, kubernetes),
		Routes: map[string]http.HandlerFunc{
			"/hello": func(w http.ResponseWriter, _ *http.Request) {
				handlers.WriteJSON(w, map[string]string{"hello": "world"})
			},
			"/oncache": handlers.NotEnabled("oncache"),
		},
		EnableMetrics: true,
	}
	if change != nil {
		change(c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server, err := New(ctx, c)
	require.NoError(t, err)

	info, err := os.Stat(tokenFile)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	token, err := os.ReadFile(tokenFile)
	require.NoError(t, err)

	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("the server did not stop")
		}
	}
	t.Cleanup(func() { require.NoError(t, stop()) })

	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(server.CABundle()))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}}
	t.Cleanup(client.CloseIdleConnections)
	f := &fixture{t: t, url: "https://" + listener.Addr().String(), token: string(token), client: client, server: server, stop: stop}
	require.Eventually(t, func() bool {
		resp, err := client.Get(f.url + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
	return f
}

func (f *fixture) do(method, path, token string) (int, string) {
	f.t.Helper()
	status, body, err := f.try(method, path, token)
	require.NoError(f.t, err)
	return status, body
}

func (f *fixture) try(method, path, token string) (int, string, error) {
	req, err := http.NewRequest(method, f.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func TestAccess(t *testing.T) {
	kubernetes := &apiservertest.Kubernetes{
		Users:   map[string]string{"antctl-token": "antctl", "nobody-token": "nobody", "operator-token": "operator"},
		Allowed: map[string][]string{"antctl": {"/hello", "/state"}, "operator": {"put /state"}},
	}
	var changes atomic.Int32
	f := start(t, kubernetes, func(c *Config) {
		c.Routes["/state"] = func(http.ResponseWriter, *http.Request) {}
		c.Changes = map[string]http.HandlerFunc{"/state": func(http.ResponseWriter, *http.Request) { changes.Add(1) }}
	})
	for _, tc := range []struct {
		name, method, path, token string
		status                    int
		body                      string
	}{
		{"loopback token", "GET", "/hello", f.token, 200, `{"hello":"world"}`},
		{"loopback token, metrics", "GET", "/metrics", f.token, 200, "apiserver_"},
		{"loopback token, feature off", "GET", "/oncache", f.token, 503, "oncache is not enabled\n"},
		{"loopback token, no such path", "GET", "/nothing", f.token, 404, ""},
		{"loopback token, write", "POST", "/hello", f.token, 405, "allowed: GET"},
		{"loopback token, write where that is possible", "POST", "/state", f.token, 405, "allowed: GET, PUT"},
		{"loopback token, change", "PUT", "/state", f.token, 200, ""},
		{"change with the right to get", "PUT", "/state", "antctl-token", 403, "forbidden"},
		{"change with the right to put", "PUT", "/state", "operator-token", 200, ""},
		{"get with the right to put", "GET", "/state", "operator-token", 403, "forbidden"},
		{"change, no token", "PUT", "/state", "", 403, "forbidden"},
		{"the library's path for any log level", "PUT", "/debug/flags/v", f.token, 404, ""},
		{"profiles", "GET", "/debug/pprof/goroutine?debug=1", f.token, 200, "goroutine profile"},
		{"allowed user", "GET", "/hello", "antctl-token", 200, "world"},
		{"allowed user, other path", "GET", "/oncache", "antctl-token", 403, "forbidden"},
		{"user without rights", "GET", "/hello", "nobody-token", 403, "forbidden"},
		{"wrong token", "GET", "/hello", "wrong", 401, "Unauthorized"},
		{"wrong token that looks like the loopback token", "GET", "/hello", f.token + "x", 401, "Unauthorized"},
		{"no token", "GET", "/hello", "", 403, "forbidden"},
		{"no token, metrics", "GET", "/metrics", "", 403, "forbidden"},
		{"no token, healthz", "GET", "/healthz", "", 200, "ok"},
		{"no token, livez", "GET", "/livez", "", 200, "ok"},
		{"no token, livez of one check", "GET", "/livez/ping", "", 200, "ok"},
		{"no token, readyz", "GET", "/readyz", "", 200, "ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := f.do(tc.method, tc.path, tc.token)
			require.Equal(t, tc.status, status, body)
			require.Contains(t, body, tc.body)
		})
	}
	require.EqualValues(t, 2, changes.Load())
	before := kubernetes.Reviews.Load()
	f.do("GET", "/hello", f.token)
	require.Equal(t, before, kubernetes.Reviews.Load(), "the loopback token must not depend on the Kubernetes API")
}

func TestVersion(t *testing.T) {
	defer func(v string) { antreaversion.Version = v }(antreaversion.Version)
	antreaversion.Version = "v1.2.3-test"
	f := start(t, &apiservertest.Kubernetes{}, nil)
	status, body := f.do("GET", "/version", f.token)
	require.Equal(t, 200, status)
	var info version.Info
	require.NoError(t, json.Unmarshal([]byte(body), &info))
	require.Equal(t, antreaversion.GetFullVersion(), info.GitVersion)
}

func TestOnlyTheAgentItselfIsAboutItsLife(t *testing.T) {
	var connected atomic.Bool
	connected.Store(true)
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) {
		c.EnableMetrics = false
		checks := map[string]func() error{"ovs": func() error {
			if connected.Load() {
				return nil
			}
			return errors.New("disconnected")
		}}
		c.ReadinessChecks, c.HealthChecks = checks, checks
	})
	connected.Store(false)
	status, _ := f.do("GET", "/livez", "")
	require.Equal(t, 200, status)
	for _, path := range []string{"/readyz", "/healthz"} {
		status, body := f.do("GET", path, "")
		require.Equal(t, 500, status, path)
		require.Contains(t, body, "[-]ovs failed", path)
	}
	connected.Store(true)
	for _, path := range []string{"/readyz", "/healthz"} {
		status, body := f.do("GET", path+"?verbose", "")
		require.Equal(t, 200, status, path)
		require.Contains(t, body, "[+]ovs ok", path)
	}
	status, _ = f.do("GET", "/metrics", f.token)
	require.Equal(t, 404, status, "metrics are off")
}

func TestClientCertificate(t *testing.T) {
	cert, ca := clientCertificate(t, "admin")
	f := start(t, &apiservertest.Kubernetes{ClientCA: ca, Allowed: map[string][]string{"admin": {"/hello"}}}, nil)
	status, _ := f.do("GET", "/hello", "")
	require.Equal(t, 403, status)
	f.client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{cert}
	f.client.CloseIdleConnections()
	status, body := f.do("GET", "/hello", "")
	require.Equal(t, 200, status, body)
}

func TestStopIsQuick(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) {
		c.Routes["/slow"] = func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-leave
		}
	})
	go func() {
		req, _ := http.NewRequest("GET", f.url+"/slow", nil)
		req.Header.Set("Authorization", "Bearer "+f.token)
		if resp, err := f.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-entered
	time.AfterFunc(100*time.Millisecond, func() { close(leave) })
	begin := time.Now()
	require.NoError(t, f.stop())
	require.Less(t, time.Since(begin), 20*time.Second)
}

// clientCertificate makes a CA and a client certificate of a user signed by it.
func clientCertificate(t *testing.T, user string) (tls.Certificate, string) {
	t.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	caTemplate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, caKey.Public(), caKey)
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user}, NotBefore: caTemplate.NotBefore, NotAfter: caTemplate.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, caTemplate, key.Public(), caKey)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}))
}
