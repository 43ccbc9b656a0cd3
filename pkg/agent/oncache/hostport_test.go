// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostPortMarkIsFree: the CNI configuration of the chart makes portmap mark packets with a bit that is neither the cache's, nor kubelet's and
// kube-proxy's (14, 15), nor the agent's for packets of the host (31).
func TestHostPortMarkIsFree(t *testing.T) {
	conflist, err := os.ReadFile("../../../build/charts/antrea/conf/antrea-cni.conflist")
	require.NoError(t, err)
	found := regexp.MustCompile(`"type": "portmap",\s*"markMasqBit": (\d+),`).FindSubmatch(conflist)
	require.NotNil(t, found, "portmap's default is bit 13, which is the cache's")
	bit, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	const others = 1<<14 | 1<<15 | 1<<31
	require.Zero(t, (PacketMark|others)&(1<<bit), "bit %d", bit)
}
