// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ONCache's mark match is the union of "source 1" and "source 3", the latter also through a Service, without SNAT, hairpin and L7 bits,
// except for what a base flow refuses.
func TestONCacheConnectionMaskAdmitsTunnelAndPodOnly(t *testing.T) {
	refused := fromTunnel.value | serviceCTField.mask()
	for mark := range uint32(256) {
		admitted := mark&oncacheConnectionMask == oncacheConnectionMark && mark != refused
		service := mark&serviceCTField.mask() != 0
		source := mark &^ serviceCTField.mask()
		require.Equal(t, source == fromPod.value || source == fromTunnel.value && !service, admitted, "ct_mark %#x", mark)
	}
}

func TestONCacheLocalConnectionMaskAdmitsPodOnly(t *testing.T) {
	for mark := range uint32(256) {
		want := mark&^serviceCTField.mask() == fromPod.value // perhaps through a Service
		require.Equal(t, want, mark&oncacheLocalConnectionMask == oncacheLocalConnectionMark, "ct_mark %#x", mark)
	}
}

func TestMarksExcludeSNAT(t *testing.T) {
	require.NotZero(t, oncacheConnectionMask&snatCTField.mask(), "the mark flows exclude SNAT")
	require.Zero(t, oncacheConnectionMark&snatCTField.mask(), "the mark flows exclude SNAT")
	require.NotZero(t, gatewayConnectionMask&snatCTField.mask(), "the mark flows of the gateway exclude SNAT")
	require.Zero(t, gatewayConnectionMark&snatCTField.mask(), "the mark flows of the gateway exclude SNAT")
}
