// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// bitField is a range of bits with one meaning in the pipeline.
type bitField struct {
	field of.Field
	bits  of.Range
}

// fieldValue is one value of a bitField, not shifted.
type fieldValue struct {
	bitField
	value uint32
}

func reg(n uint8, from, to uint8) bitField {
	return bitField{field: of.FieldReg0 + of.Field(n), bits: of.Range{From: from, To: to}}
}

func ctMark(from, to uint8) bitField {
	return bitField{field: of.FieldCTMark, bits: of.Range{From: from, To: to}}
}

func pktMark(from, to uint8) bitField {
	return bitField{field: of.FieldPktMark, bits: of.Range{From: from, To: to}}
}

func (f bitField) is(value uint32) fieldValue { return fieldValue{bitField: f, value: value} }

// load is the action that gives the field this value.
func (v fieldValue) load() of.Action {
	return of.LoadField{Field: v.field, Range: v.bits, Value: uint64(v.value)}
}

// match is the criterion that the field has this value. Criteria for several fields of one register combine.
func (v fieldValue) match() of.Match {
	value, mask := v.value<<v.bits.From, v.mask()
	switch v.field {
	case of.FieldCTMark:
		return of.CTMark(value, mask)
	case of.FieldPktMark:
		return of.PktMark(value, mask)
	case of.FieldCTLabel:
		return of.CTLabel(v.bits, uint64(v.value))
	default:
		return of.Reg(uint8(v.field-of.FieldReg0), v.bits, v.value)
	}
}

// mask has ones where the field is.
func (f bitField) mask() uint32 {
	return uint32((uint64(1)<<(f.bits.To-f.bits.From+1) - 1) << f.bits.From)
}

// moveBits copies one field into another of the same width.
func moveBits(from, to bitField) of.Action {
	return of.MoveField{Src: from.field, SrcRange: from.bits, Dst: to.field, DstRange: to.bits}
}

// Registers.
var (
	// reg0
	packetSourceField      = reg(0, 0, 3)
	packetDestinationField = reg(0, 4, 7)
	rewriteMACField        = reg(0, 9, 9)
	svcNoEndpointField     = reg(0, 14, 14)
	outputKindField        = reg(0, 21, 22)
	// reg1: OpenFlow port that the packet leaves through.
	targetOFPortField = reg(1, 0, 31)
	// reg2: scratch for swapping two fields.
	swapField = reg(2, 0, 31)
	// reg3: address of the selected Endpoint.
	endpointIPField      = reg(3, 0, 31)
	endpointPortField    = reg(4, 0, 15)
	serviceStateField    = reg(4, 16, 18)
	nodePortAddressField = reg(4, 19, 19)
	externalAddressField = reg(4, 21, 21)
	dsrField             = reg(4, 25, 25)
	remoteEndpointField  = reg(4, 26, 26)
	sourceExternalField  = reg(4, 27, 27)
	sourceLocalField     = reg(4, 28, 28)
	egressConjunctionID  = reg(5, 0, 31)
	ingressConjunctionID = reg(6, 0, 31)
	serviceGroupIDField  = reg(7, 0, 31)
	oncacheStampField    = reg(8, 16, 25)
	oncacheLocalField    = reg(8, 26, 26)
	// traceSeenField is this project's, in a register that Antrea does not use: the trace points that a traced packet has passed.
	traceSeenField = reg(10, 0, 15)
)

// Values of the registers.
var (
	fromTunnel  = packetSourceField.is(1)
	fromGateway = packetSourceField.is(2)
	fromPod     = packetSourceField.is(3)

	toTunnel  = packetDestinationField.is(1)
	toGateway = packetDestinationField.is(2)

	rewriteMAC   = rewriteMACField.is(1)
	noRewriteMAC = rewriteMACField.is(0)

	svcNoEndpoint        = svcNoEndpointField.is(1)
	outputToPort         = outputKindField.is(1)
	serviceToSelect      = serviceStateField.is(1)
	serviceSelected      = serviceStateField.is(2)
	serviceSelectedLearn = serviceStateField.is(3)
	// serviceElsewhere is this project's: only other Nodes have Endpoints.
	serviceElsewhere = serviceStateField.is(4)
	nodePortAddress  = nodePortAddressField.is(1)
	externalAddress  = externalAddressField.is(1)
	remoteEndpoint   = remoteEndpointField.is(1)
	sourceExternal   = sourceExternalField.is(1)
	sourceLocal      = sourceLocalField.is(1)
	oncacheLocal     = oncacheLocalField.is(1)
)

// Conntrack mark. connSourceField is a copy of packetSourceField of the packet that opened the connection. It is non-zero
// exactly if that packet passed all policy tables and was committed in ConntrackCommit.
var (
	connSourceField = ctMark(0, 3)
	serviceCTField  = ctMark(4, 4)
	snatCTField     = ctMark(5, 5)
	hairpinCTField  = ctMark(6, 6)
	// cutCTField is this project's, in bits that Antrea does not use: the agent sets it for connections that current policy forbids.
	cutCTField = ctMark(8, 8)

	connFromGateway = connSourceField.is(2)
	serviceCT       = serviceCTField.is(1)
	notServiceCT    = serviceCTField.is(0)
	snatCT          = snatCTField.is(1)
	notSNATCT       = snatCTField.is(0)
	hairpinCT       = hairpinCTField.is(1)
	cutCT           = cutCTField.is(1)
)

// CutMark is the bit of the connection mark that makes the pipeline drop all packets of a connection, with
// Features.CutConnections.
const CutMark = 1 << 8

// OpenedFromGateway tells whether the packet that opened the connection with this mark came through the gateway.
func OpenedFromGateway(mark uint32) bool {
	return mark&connSourceField.mask() == connFromGateway.value
}

// PassedPolicies tells whether policies have let a packet of the connection with this mark pass. A connection to a Service is in conntrack before
// they are asked, and stays there for a while if they refuse it.
func PassedPolicies(mark uint32) bool { return mark&connSourceField.mask() != 0 }

// IsServiceConnection tells whether the pipeline has translated the destination of the connection with this mark.
func IsServiceConnection(mark uint32) bool {
	return mark&serviceCTField.mask() != 0
}

// TranslatesSource tells whether the pipeline has translated the source of the connection with this mark.
func TranslatesSource(mark uint32) bool {
	return mark&snatCTField.mask() != 0
}

// dscpField is the DSCP of an IP packet.
var dscpField = bitField{field: of.FieldIPTOS, bits: of.Range{From: 2, To: 7}}

// Conntrack label: ids of the policy rules that admitted the connection.
var (
	ingressRuleCTLabel = bitField{field: of.FieldCTLabel, bits: of.Range{From: 0, To: 31}}
	egressRuleCTLabel  = bitField{field: of.FieldCTLabel, bits: of.Range{From: 32, To: 63}}
)

// Packet mark (skb mark). Bits 14 and 15 are kube-proxy's. Bits 8-13 and 16-19 are ONCache's tickets: the pipeline neither
// reads nor writes them.
var (
	oncacheEpochField    = pktMark(20, 29)
	hostLocalSourceField = pktMark(31, 31)

	hostLocalSource = hostLocalSourceField.is(1)
)

// maxEpoch is the highest value of oncacheEpochField that the cache uses.
const maxEpoch = 511

// Conntrack zones.
const (
	ctZone       = 65520
	ctZoneSNAT   = 65521
	ctZoneV6     = 65510
	ctZoneSNATV6 = 65511
)

// ConntrackZoneIPv4 and ConntrackZoneIPv6 are the conntrack zones of the Pods' connections.
const (
	ConntrackZoneIPv4 uint16 = ctZone
	ConntrackZoneIPv6 uint16 = ctZoneV6
)

// ConntrackZones lists both.
var ConntrackZones = []uint16{ConntrackZoneIPv4, ConntrackZoneIPv6}

// AllConntrackZones lists all zones of the pipeline: those of the Pods' connections, and those in which the sources of connections to
// Services are translated.
var AllConntrackZones = []uint16{ctZone, ctZoneSNAT, ctZoneV6, ctZoneSNATV6}

// Flow priorities.
const (
	// priorityTraceflow and the one above are higher than all others: traced packets report themselves before anything happens to them.
	priorityTraceflow   = 65000
	priorityEstablished = 64990
	priorityHigh        = 210
	priorityNormal      = 200
	priorityLow         = 190
	priorityLogged      = 189
	priorityMiss        = 0
)

// Meters, by the purpose of the packets to the agent that they limit. Antrea's are 256 to 258.
const (
	meterPolicyLog     = 256
	meterTraceflow     = 257
	meterServiceReject = 259
)

// cookieCategory says which part of the agent owns a flow (bits 40-47 of the cookie).
type cookieCategory uint8

const (
	cookieDefault         cookieCategory = 0
	cookiePodConnectivity cookieCategory = 1
	cookieNetworkPolicy   cookieCategory = 2
	cookieService         cookieCategory = 3
	cookieTraceflow       cookieCategory = 7
	// cookieONCache is this project's: Antrea's categories end at 8.
	cookieONCache cookieCategory = 9
)

const (
	cookieRoundShift           = 48
	cookieCategoryShift        = 40
	cookieRoundMask     uint64 = 0xffff << cookieRoundShift
	cookieCategoryMask  uint64 = 0xff << cookieCategoryShift
)

// roundCookie is the part of the cookie that all flows of one round share.
func roundCookie(round uint16) uint64 { return uint64(round) << cookieRoundShift }

// cookie is the cookie of flows of one owner that have no object id.
func cookie(round uint16, category cookieCategory) uint64 {
	return roundCookie(round) | uint64(category)<<cookieCategoryShift
}
