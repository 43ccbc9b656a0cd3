// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVulncheck: make vulncheck builds the pinned govulncheck, looks at all programs, passes options on, and fails when something is found (which
// govulncheck says by exit code 3). The database itself is not reachable from here.
func TestVulncheck(t *testing.T) {
	c := newCheckout(t, "Makefile", "VERSION", "cmd")
	c.standIn("standins/go", `[ "$1" = build ] || exit 0
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho "govulncheck $*" >>`+c.dir+`/calls\nexit $FOUND\n' >"$2"; /bin/chmod +x "$2"`)
	for found, want := range map[string]bool{"0": true, "3": false} {
		c.write("bin/empty", "")
		cmd := exec.Command("make", "--no-print-directory", "-C", c.dir, "vulncheck", "GO="+c.dir+"/standins/go", "VULNCHECK_ARGS=-db=file:///database")
		cmd.Env = []string{"PATH=" + c.path, "HOME=" + c.dir, "FOUND=" + found}
		out, err := cmd.CombinedOutput()
		require.Equal(t, want, err == nil, string(out))
		calls := c.calls()
		require.Contains(t, calls, "go build -C hack/vulncheck -o "+c.dir+"/bin/govulncheck golang.org/x/vuln/cmd/govulncheck")
		require.Equal(t, "govulncheck -db=file:///database ./cmd/...", calls[len(calls)-1])
	}
}
