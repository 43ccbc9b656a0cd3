// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/test/tools/configfile"
)

// namesKey matches the beginning of each error of Validate: a key, or several that do not go together.
var namesKey = regexp.MustCompile(`^[a-zA-Z0-9.]+(, [a-zA-Z0-9.]+)*( and [a-zA-Z0-9.]+)?(: | )`)

// FuzzFile feeds arbitrary text to the reader of antrea-agent.conf. Each error of a value names its key; what is accepted is the same after it
// has been written and read again.
func FuzzFile(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("tunnelType: vxlan\npodCIDRs: 10.10.0.0/24,fd00::/64\ntlsMinVersion: VersionTLS12\nflowExporter:\n  enable: true\n  flowCollectorAddr: \"[::1]:4739:tcp\"\n"))
	f.Add([]byte("tunnelPort: 70000\nantreaProxy:\n  skipServices: [a/b, 10.0.0.1, x]\n  nodePortAddresses: [nonsense]\n"))
	f.Add([]byte("oncache: {mode: observe, maxFlows: 1, leaseSeconds: 11}\nfeatureGates: {ONCache: true, Unknown: true}\n"))
	f.Add([]byte("auditLogging: {maxSize: -1, maxAge: 0}\nhostGateway: much-too-long-for-a-device\n"))
	f.Add([]byte("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"))
	if text, err := os.ReadFile("../testdata/antrea-agent-rewritten.conf"); err == nil {
		f.Add(text)
	}
	gates, err := features.New(map[string]bool{"ONCache": true, "FlowExporter": true})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		configfile.Check(t, text, Parse, func(c *AgentConfig) error { return c.Validate(gates) }, namesKey)
	})
}
