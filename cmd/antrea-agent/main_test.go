// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommand(t *testing.T) {
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newComponent().Command()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err := cmd.Execute()
		return out.String(), err
	}
	out, err := run("--version")
	require.NoError(t, err)
	require.Contains(t, out, "antrea-agent version ")

	// The command line of the DaemonSet.
	_, err = run("--config=/absent/antrea-agent.conf", "--logtostderr=true", "--log_dir=/var/log/antrea", "--alsologtostderr",
		"--log_file_max_size=100", "--log_file_max_num=4", "--v=0")
	require.ErrorContains(t, err, "/absent/antrea-agent.conf")

	_, err = run("surplus")
	require.Error(t, err)
}
