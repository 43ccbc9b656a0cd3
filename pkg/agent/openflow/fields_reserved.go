// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Registers and marks of Antrea features that this project does not have yet, so that nothing else takes their bits.
var (
	apDenyField            = reg(0, 10, 10)
	apDispositionField     = reg(0, 11, 12)
	generatedRejectField   = reg(0, 13, 13)
	remoteSNATField        = reg(0, 19, 19)
	l7RedirectField        = reg(0, 20, 20)
	ctStateRestoredField   = reg(0, 23, 23)
	packetInOperationField = reg(0, 25, 31)
	packetInTableField     = reg(2, 0, 7)
	apDenyConjunctionID    = reg(3, 0, 31)
	antreaIPAMField        = reg(4, 20, 20)
	tcActionField          = reg(4, 22, 23)
	nestedServiceField     = reg(4, 24, 24)
	vlanIDField            = reg(8, 0, 11)
	ctZoneTypeField        = reg(8, 12, 15)
	tcOutputPortField      = reg(9, 0, 31)

	l7CTField         = ctMark(7, 7)
	l7VLANCTLabel     = bitField{field: of.FieldCTLabel, bits: of.Range{From: 64, To: 75}}
	egressSNATIDField = pktMark(0, 7)
	egressReplyField  = pktMark(30, 30)
)

// Their values, and values of other fields that no flow here has.
var (
	fromUplink   = packetSourceField.is(4)
	fromBridge   = packetSourceField.is(5)
	fromTCReturn = packetSourceField.is(6)
	fromL7Return = packetSourceField.is(7)
	// toLocalPod is documented but never loaded: a local Pod is the destination when no other one is set.
	toLocalPod         = packetDestinationField.is(3)
	toUplink           = packetDestinationField.is(4)
	toBridge           = packetDestinationField.is(5)
	apDeny             = apDenyField.is(1)
	dispositionAllow   = apDispositionField.is(0)
	dispositionDrop    = apDispositionField.is(1)
	dispositionReject  = apDispositionField.is(2)
	dispositionPass    = apDispositionField.is(3)
	generatedReject    = generatedRejectField.is(1)
	remoteSNAT         = remoteSNATField.is(1)
	l7Redirect         = l7RedirectField.is(1)
	outputToController = outputKindField.is(2)
	ctStateRestored    = ctStateRestoredField.is(1)
	antreaIPAM         = antreaIPAMField.is(1)
	tcMirror           = tcActionField.is(1)
	tcRedirect         = tcActionField.is(2)
	nestedService      = nestedServiceField.is(1)
	dsr                = dsrField.is(1)
	l7CT               = l7CTField.is(1)
	egressReply        = egressReplyField.is(1)
)
