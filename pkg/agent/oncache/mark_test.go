// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

func TestPacketMark(t *testing.T) {
	require.EqualValues(t, harness.OwnBits, PacketMark)
}
