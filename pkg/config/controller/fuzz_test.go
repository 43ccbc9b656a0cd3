// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/test/tools/appetite"
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
		var c *ControllerConfig
		var err error
		// Aliases of YAML are expanded, within a bound of the library.
		appetite.Bounded(t, len(text), 1<<17, func() { c, err = Parse(text) })
		if err != nil {
			return
		}
		_ = UnknownKeys(text)
		if err := c.Validate(gates); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				require.Regexp(t, namesKey, line, "all of it: %v", err)
			}
			return
		}
		written, err := yaml.Marshal(c)
		require.NoError(t, err)
		again, err := Parse(written)
		require.NoError(t, err, "%s", written)
		require.NoError(t, again.Validate(gates), "%s", written)
		twice, err := yaml.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(twice))
	})
}
