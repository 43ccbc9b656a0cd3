// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

// Without --verbose only errors are logged. klog is global, so a process of its own logs.
func TestLog(t *testing.T) {
	const child = "ANTCTL_TEST_LOGS"
	if verbose := os.Getenv(child); verbose != "" {
		require.NoError(t, setUpLog(verbose == "true"))
		klog.Warning("a gate is deprecated")
		klog.ErrorS(nil, "no route")
		klog.Flush()
		return
	}
	for verbose, warns := range map[string]bool{"true": true, "false": false} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLog$")
		cmd.Env = append(os.Environ(), child+"="+verbose)
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
		require.Contains(t, string(output), "no route")
		if warns {
			require.Contains(t, string(output), "a gate is deprecated")
		} else {
			require.NotContains(t, string(output), "a gate is deprecated")
		}
	}
}
