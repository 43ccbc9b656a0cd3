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
		root := NewCommand(Environment{Mode: ModeController}, "")
		SetUpLog(root)
		root.SetArgs([]string{"version", "--verbose=" + verbose, "--server", "127.0.0.1:1"})
		require.Error(t, root.Execute())
		klog.Warning("a gate is deprecated")
		klog.ErrorS(nil, "no route")
		klog.V(2).InfoS("Sending request")
		klog.Flush()
		return
	}
	for verbose, assert := range map[string]func(require.TestingT, any, any, ...any){"true": require.Contains, "false": require.NotContains} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLog$")
		cmd.Env = append(os.Environ(), child+"="+verbose)
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
		require.Contains(t, string(output), "no route")
		assert(t, string(output), "a gate is deprecated")
		assert(t, string(output), "Sending request")
	}
}
