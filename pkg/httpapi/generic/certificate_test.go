// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/cli/flag"
)

func TestSelfSigned(t *testing.T) {
	cert, key, err := SelfSigned(ECDSA, time.Hour, []string{"antrea", "antrea.kube-system.svc"}, net.IPv4(127, 0, 0, 1))
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	verify := func(name string, now time.Time) error {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
		return err
	}
	now := time.Now()
	for _, name := range []string{"antrea", "antrea.kube-system.svc", "127.0.0.1"} {
		require.NoError(t, verify(name, now), name)
	}
	require.Error(t, verify("another.kube-system.svc", now))
	require.Error(t, verify("antrea", now.Add(2*time.Hour)), "it has expired")
	require.NoError(t, verify("antrea", now.Add(-30*time.Minute)), "the client's clock is late")
}

// TestKeyForCipherSuites: a client that has one of the suites that are allowed can connect with TLS 1.2.
func TestKeyForCipherSuites(t *testing.T) {
	for _, tc := range []struct {
		allowed string
		want    Key
	}{
		{"", ECDSA},
		{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ECDSA},
		{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", RSA},
		{"TLS_RSA_WITH_AES_128_GCM_SHA256", RSA},
		{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", RSA},
	} {
		suites := strings.FieldsFunc(tc.allowed, func(r rune) bool { return r == ',' })
		require.Equal(t, tc.want, KeyFor(suites), tc.allowed)
		cert, key, err := SelfSigned(KeyFor(suites), time.Hour, []string{"localhost"})
		require.NoError(t, err)
		pair, err := tls.X509KeyPair(cert, key)
		require.NoError(t, err)
		allowed, err := flag.TLSCipherSuites(suites)
		require.NoError(t, err)
		client, server := net.Pipe()
		go func() {
			_ = tls.Server(server, &tls.Config{Certificates: []tls.Certificate{pair}, CipherSuites: allowed, MaxVersion: tls.VersionTLS12}).Handshake()
		}()
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(cert))
		conn := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: "localhost", CipherSuites: allowed})
		require.NoError(t, conn.HandshakeContext(t.Context()), tc.allowed)
		if len(allowed) > 0 {
			require.Contains(t, allowed, conn.ConnectionState().CipherSuite)
		}
	}
}
