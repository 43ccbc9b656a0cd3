// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Debian's logrotate only recommends what it compresses with, and the image has no recommended packages.
func TestLogsCanBeCompressed(t *testing.T) {
	config, err := os.ReadFile("agent/rootfs/etc/logrotate.d/openvswitch-switch")
	require.NoError(t, err)
	require.Contains(t, strings.Fields(string(config)), "compress")
	packages, err := os.ReadFile("agent/packages")
	require.NoError(t, err)
	require.Contains(t, strings.Fields(string(packages)), "gzip")
}
