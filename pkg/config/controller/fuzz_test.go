// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/test/tools/configfile"
)

var namesKey = regexp.MustCompile(`^[a-zA-Z0-9.]+: `)

// FuzzFile feeds arbitrary text to the reader of antrea-controller.conf. Each error of a value names its key; what is accepted is the same
// after it has been written and read again.
func FuzzFile(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("apiPort: 0x7fffffff\ntlsMinVersion: VersionTLS12\ntlsCipherSuites: TLS_AES_128_GCM_SHA256, NONE\n"))
	f.Add([]byte("multicluster: {enableStretchedNetworkPolicy: true}\nunknown: 1\nunknown: 2\n"))
	f.Add([]byte("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"))
	if text, err := os.ReadFile("../testdata/antrea-controller-rewritten.conf"); err == nil {
		f.Add(text)
	}
	gates, err := features.New(map[string]bool{"Multicluster": true})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = UnknownKeys(text)
		configfile.Check(t, text, Parse, func(c *ControllerConfig) error { return c.Validate(gates) }, namesKey)
	})
}
