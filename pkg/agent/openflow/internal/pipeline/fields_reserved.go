// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Registers and marks of Antrea features that this project does not have yet, so that nothing else takes their bits.
var (
	l7RedirectField      = Reg(0, 20, 20)
	ctStateRestoredField = Reg(0, 23, 23)
	antreaIPAMField      = Reg(4, 20, 20)
	tcActionField        = Reg(4, 22, 23)
	vlanIDField          = Reg(8, 0, 11)
	ctZoneTypeField      = Reg(8, 12, 15)
	tcOutputPortField    = Reg(9, 0, 31)

	L7CTField        = ctMark(7, 7)
	l7VLANCTLabel    = BitField{Field: of.FieldCTLabel, Bits: of.Range{From: 64, To: 75}}
	egressReplyField = pktMark(30, 30)
)

// Their values, and values of other fields that no flow here has.
var (
	fromUplink   = PacketSourceField.Is(4)
	fromBridge   = PacketSourceField.Is(5)
	fromTCReturn = PacketSourceField.Is(6)
	fromL7Return = PacketSourceField.Is(7)
	// toLocalPod is documented but never loaded: a local Pod is the destination when none is set.
	toLocalPod      = PacketDestinationField.Is(3)
	toUplink        = PacketDestinationField.Is(4)
	toBridge        = PacketDestinationField.Is(5)
	l7Redirect      = l7RedirectField.Is(1)
	ctStateRestored = ctStateRestoredField.Is(1)
	antreaIPAM      = antreaIPAMField.Is(1)
	tcMirror        = tcActionField.Is(1)
	tcRedirect      = tcActionField.Is(2)
	dsr             = DSRField.Is(1)
	l7CT            = L7CTField.Is(1)
	egressReply     = egressReplyField.Is(1)
)
