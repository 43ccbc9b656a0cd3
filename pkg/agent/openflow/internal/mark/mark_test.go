// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package mark

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
)

// ONCache's mark match is the union of "source 1" and "source 3", the latter also through a Service, without SNAT, hairpin and L7 bits,
// except for what a base flow refuses.
func TestONCacheConnectionMaskAdmitsTunnelAndPodOnly(t *testing.T) {
	refused := pipeline.FromTunnel.Value | pipeline.ServiceCTField.Mask()
	for mark := range uint32(256) {
		admitted := mark&oncacheConnectionMask == oncacheConnectionMark && mark != refused
		service := mark&pipeline.ServiceCTField.Mask() != 0
		source := mark &^ pipeline.ServiceCTField.Mask()
		require.Equal(t, source == pipeline.FromPod.Value || source == pipeline.FromTunnel.Value && !service, admitted, "ct_mark %#x", mark)
	}
}

func TestONCacheLocalConnectionMaskAdmitsPodOnly(t *testing.T) {
	for mark := range uint32(256) {
		want := mark&^pipeline.ServiceCTField.Mask() == pipeline.FromPod.Value // perhaps through a Service
		require.Equal(t, want, mark&oncacheLocalConnectionMask == oncacheLocalConnectionMark, "ct_mark %#x", mark)
	}
}

// A connection that a Pod of another Node has opened through the host has no other bit: this Node neither translates nor redirects it.
func TestDirectAnswerMaskAdmitsGatewayOnly(t *testing.T) {
	for mark := range uint32(256) {
		require.Equal(t, mark == pipeline.FromGateway.Value, mark&directAnswerMask == directAnswerMark, "ct_mark %#x", mark)
	}
}

func TestMarksExcludeSNAT(t *testing.T) {
	require.NotZero(t, oncacheConnectionMask&pipeline.SNATCTField.Mask(), "the mark flows exclude SNAT")
	require.Zero(t, oncacheConnectionMark&pipeline.SNATCTField.Mask(), "the mark flows exclude SNAT")
	require.NotZero(t, gatewayConnectionMask&pipeline.SNATCTField.Mask(), "the mark flows of the gateway exclude SNAT")
	require.Zero(t, gatewayConnectionMark&pipeline.SNATCTField.Mask(), "the mark flows of the gateway exclude SNAT")
}
