// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSelfSigned(t *testing.T) {
	cert, key, err := SelfSigned(time.Hour, []string{"antrea", "antrea.kube-system.svc"}, net.IPv4(127, 0, 0, 1))
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
	require.Error(t, verify("antrea", now.Add(2*time.Hour)), "its life is over")
	require.NoError(t, verify("antrea", now.Add(-30*time.Minute)), "the client's clock is late")
}
