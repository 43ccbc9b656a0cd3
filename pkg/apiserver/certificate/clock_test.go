// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	certutil "k8s.io/client-go/util/cert"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

// TestClockJumps: agents accept a generated certificate whatever the clocks showed at its creation and show now.
func TestClockJumps(t *testing.T) {
	generated, err := Generate(generic.ECDSA, "kube-system")
	require.NoError(t, err)
	authorities, err := certutil.ParseCertsPEM(generated.CA())
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(authorities[0])
	for _, tc := range []struct {
		name string
		jump time.Duration
	}{
		{"none", 0},
		{"an hour ahead", time.Hour},
		{"an hour back", -time.Hour},
		{"two hours back", -2 * time.Hour},
		{"ten years ahead", 10 * 366 * 24 * time.Hour},
		{"ten years back", -10 * 366 * 24 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := authorities[0].Verify(x509.VerifyOptions{
				Roots: roots, DNSName: apis.ControllerServerName("kube-system"), CurrentTime: time.Now().Add(tc.jump),
			})
			require.NoError(t, err)
		})
	}
}
