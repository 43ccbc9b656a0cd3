// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	all := table{bare: {30000, 28000}, overlay: {70000, 68000}, oncache: {40000, 32000}, oncacheNetkit: {38000, 30000}}
	require.Equal(t, `  instructions per round trip    TCP    UDP  removed: TCP     UDP
                 host to host  30000  28000             -       -
         Pod to Pod, gate off  70000  68000             -       -
          Pod to Pod, gate on  40000  32000        75.0 %  90.0 %
  Pod to Pod, gate on, netkit  38000  30000        80.0 %  95.0 %
cost: tcp bare=30000 overlay=70000 oncache=40000 removed=75.0% udp bare=28000 overlay=68000 oncache=32000 removed=90.0%
`, all.String())
}
