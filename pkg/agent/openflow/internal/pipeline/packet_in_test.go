// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPurposes: the packets that each meter drops are counted.
func TestPurposes(t *testing.T) {
	for _, meter := range []uint32{MeterPolicyLog, MeterTraceflow, MeterServiceReject} {
		require.Contains(t, purposes, meter)
	}
}
