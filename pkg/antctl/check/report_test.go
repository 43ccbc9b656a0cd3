// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportFormats(t *testing.T) {
	for format, want := range map[string]string{
		"": "ok       nodes            2 Nodes\nwarning  dns              none\nfailed   service          a < b\n1 failed, 1 warnings\n",
		FormatJSON: `{
  "failed": 1,
  "results": [
    {
      "verdict": "ok",
      "check": "nodes",
      "message": "2 Nodes"
    },
    {
      "verdict": "warning",
      "check": "dns",
      "message": "none"
    },
    {
      "verdict": "failed",
      "check": "service",
      "message": "a < b"
    }
  ],
  "warnings": 1
}
`,
		FormatJUnit: `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="antctl check" tests="3" failures="1">
  <testcase name="nodes">
    <system-out>ok: 2 Nodes</system-out>
  </testcase>
  <testcase name="dns">
    <system-out>warning: none</system-out>
  </testcase>
  <testcase name="service">
    <failure message="a &lt; b"></failure>
  </testcase>
</testsuite>
`,
	} {
		var out bytes.Buffer
		r := &Report{Out: &out, Format: format}
		r.OK("nodes", "%d Nodes", 2)
		r.Warn("dns", "none")
		r.Fail("service", "a < b")
		require.NoError(t, r.End())
		require.Equal(t, want, out.String())
		require.EqualError(t, r.Err(), "1 checks failed, see docs/operate/troubleshooting.md")
	}
}
