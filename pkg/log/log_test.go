// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

func TestKeepNewest(t *testing.T) {
	dir := t.TempDir()
	files := map[string]bool{ // kept?
		"antrea-agent.n1.root.log.INFO.20260101-000000.9":      false,
		"antrea-agent.n1.root.log.INFO.20260102-000000.1":      false,
		"antrea-agent.n1.root.log.INFO.20260102-000001.1":      true,
		"antrea-agent.old-host.root.log.INFO.20260103-0000.1":  true,
		"antrea-agent.n1.root.log.ERROR.20250101-000000.1":     true,
		"antrea-agent.n1.root.log.WARNING.20250101-000000.1":   true,
		"antrea-controller.n1.root.log.INFO.20200101-000000.1": true,
		"other.log": true,
	}
	for name := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Symlink("antrea-agent.n1.root.log.INFO.20260102-000001.1", filepath.Join(dir, "antrea-agent.INFO")))
	require.NoError(t, keepNewest(dir, "antrea-agent", 2))
	for name, kept := range files {
		_, err := os.Stat(filepath.Join(dir, name))
		require.Equal(t, kept, err == nil, name)
	}
	_, err := os.Lstat(filepath.Join(dir, "antrea-agent.INFO"))
	require.NoError(t, err)
	require.ErrorContains(t, keepNewest(filepath.Join(dir, "absent"), "antrea-agent", 2), "absent")
}

// Above MaxLevel the client library logs tokens.
func TestVerbosity(t *testing.T) {
	defer klog.CaptureState().Restore()
	for asked, want := range map[string]int{"0": 0, "4": 4, "7": 7, "8": 7, "100": 7} {
		var o Options
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.AddFlags(fs)
		require.NoError(t, fs.Parse([]string{"-v=" + asked}))
		require.NoError(t, o.Apply())
		require.True(t, klog.V(klog.Level(want)).Enabled(), asked)
		require.False(t, klog.V(klog.Level(want+1)).Enabled(), asked)
	}
}

func TestFlags(t *testing.T) {
	defer func(size uint64) { klog.MaxSize = size }(klog.MaxSize)
	var o Options
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(fs)
	require.NoError(t, fs.Parse([]string{"--log_file_max_num=4", "--log_file_max_size=100"}))
	require.NoError(t, o.Apply())
	require.EqualValues(t, 100<<20, klog.MaxSize)
	require.EqualValues(t, 4, o.maxFiles)
	o.Run(t.Context()) // without --log_dir there is nothing to do
}
