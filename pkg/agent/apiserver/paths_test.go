// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
)

// Every path that the server has, whoever has installed it, needs a client with rights; only health checks do not.
func TestEveryPathNeedsRights(t *testing.T) {
	f := start(t, &apiservertest.Kubernetes{Users: map[string]string{"nobody-token": "nobody"}}, func(c *Config) {
		c.Changes = map[string]http.HandlerFunc{"/hello": func(http.ResponseWriter, *http.Request) { t.Error("changed") }}
		c.Handlers = map[string]http.Handler{"/apis/own": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") })}
	})
	paths := f.server.generic.Handler.ListedPaths()
	for _, path := range []string{"/hello", "/oncache", "/metrics", "/version", "/apis/own"} {
		require.Contains(t, paths, path)
	}
	// Profiles are not listed.
	for _, path := range append(paths, "/absent", "/apis/own/below", "/debug/pprof/", "/debug/pprof/heap", "//hello", "/hello/") {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
			for token, want := range map[string]int{"": http.StatusForbidden, "nobody-token": http.StatusForbidden, "invented": http.StatusUnauthorized} {
				if token == "invented" && method != http.MethodGet {
					continue // it is refused before the method is looked at, and the server takes its time for each
				}
				if token != "invented" && isHealth(path) && method == http.MethodGet {
					want = http.StatusOK
				}
				status, body := f.do(method, path, token)
				if token != "invented" && isHealth(path) && method != http.MethodGet {
					require.NotEqual(t, http.StatusUnauthorized, status, "%s %s", method, path)
					continue // they are open, whatever they answer
				}
				if status == http.StatusTooManyRequests && token == "invented" {
					continue // most such tokens are not even looked at
				}
				require.Equal(t, want, status, "%s %s with the token %q: %s", method, path, token, body)
			}
		}
	}
	// Such a path is open like the paths of health checks, and must not lead anywhere.
	for _, path := range []string{"/healthz/../hello", "/livez/%2e%2e/hello", "/readyz//hello"} {
		status, body := f.do(http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, status, "%s: %s", path, body)
	}
}

func isHealth(path string) bool {
	for _, check := range []string{"/healthz", "/livez", "/readyz"} {
		if path == check || strings.HasPrefix(path, check+"/") {
			return true
		}
	}
	return false
}

// The settings tlsMinVersion and tlsCipherSuites decide with whom the server speaks.
func TestTLSSettings(t *testing.T) {
	const suite, other = tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
	for _, test := range []struct {
		name    string
		suites  []string
		minimum string
		client  *tls.Config
		refused string
	}{
		{name: "defaults", client: &tls.Config{MinVersion: tls.VersionTLS12}},
		{name: "TLS 1.1 by default", client: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, refused: "protocol version"},
		{name: "1.2 where 1.3 is the lowest", minimum: "VersionTLS13", client: &tls.Config{MaxVersion: tls.VersionTLS12}, refused: "protocol version"},
		{name: "1.3 where 1.3 is the lowest", minimum: "VersionTLS13", client: &tls.Config{MinVersion: tls.VersionTLS13}},
		{name: "an allowed suite", suites: []string{tls.CipherSuiteName(suite)}, client: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}},
		{name: "another suite", suites: []string{tls.CipherSuiteName(suite)}, client: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{other}}, refused: "handshake failure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, &apiservertest.Kubernetes{}, func(c *Config) { c.CipherSuites, c.MinTLSVersion = test.suites, test.minimum })
			config := test.client.Clone()
			config.RootCAs, config.ServerName = f.client.Transport.(*http.Transport).TLSClientConfig.RootCAs, "localhost"
			conn, err := tls.Dial("tcp", strings.TrimPrefix(f.url, "https://"), config)
			if test.refused != "" {
				require.ErrorContains(t, err, test.refused)
				return
			}
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		})
	}
}
