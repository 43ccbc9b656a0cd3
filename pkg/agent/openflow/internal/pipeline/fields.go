// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// BitField is a range of bits with one meaning in the pipeline.
type BitField struct {
	Field of.Field
	Bits  of.Range
}

// FieldValue is one value of a BitField, not shifted.
type FieldValue struct {
	BitField
	Value uint32
}

func Reg(n uint8, from, to uint8) BitField {
	return BitField{Field: of.FieldReg0 + of.Field(n), Bits: of.Range{From: from, To: to}}
}

func ctMark(from, to uint8) BitField {
	return BitField{Field: of.FieldCTMark, Bits: of.Range{From: from, To: to}}
}

func pktMark(from, to uint8) BitField {
	return BitField{Field: of.FieldPktMark, Bits: of.Range{From: from, To: to}}
}

func (f BitField) Is(value uint32) FieldValue { return FieldValue{BitField: f, Value: value} }

// Load is the action that gives the field this value.
func (v FieldValue) Load() of.Action {
	return of.LoadField{Field: v.Field, Range: v.Bits, Value: uint64(v.Value)}
}

// Match is the criterion that the field has this value. Criteria for several fields of one register combine.
func (v FieldValue) Match() of.Match {
	value, mask := v.Value<<v.Bits.From, v.Mask()
	switch v.Field {
	case of.FieldCTMark:
		return of.CTMark(value, mask)
	case of.FieldPktMark:
		return of.PktMark(value, mask)
	case of.FieldCTLabel:
		return of.CTLabel(v.Bits, uint64(v.Value))
	default:
		return of.Reg(uint8(v.Field-of.FieldReg0), v.Bits, v.Value)
	}
}

// Mask has ones where the field is.
func (f BitField) Mask() uint32 {
	return uint32((uint64(1)<<(f.Bits.To-f.Bits.From+1) - 1) << f.Bits.From)
}

// MoveBits copies one field into another of the same width.
func MoveBits(from, to BitField) of.Action {
	return of.MoveField{Src: from.Field, SrcRange: from.Bits, Dst: to.Field, DstRange: to.Bits}
}

// Registers.
var (
	// reg0
	PacketSourceField      = Reg(0, 0, 3)
	PacketDestinationField = Reg(0, 4, 7)
	rewriteMACField        = Reg(0, 9, 9)
	apDenyField            = Reg(0, 10, 10)
	APDispositionField     = Reg(0, 11, 12)
	generatedRejectField   = Reg(0, 13, 13)
	svcNoEndpointField     = Reg(0, 14, 14)
	remoteSNATField        = Reg(0, 19, 19)
	outputKindField        = Reg(0, 21, 22)
	PacketInOperationField = Reg(0, 25, 31)
	// reg1: OpenFlow port that the packet leaves through.
	TargetOFPortField = Reg(1, 0, 31)
	// reg2: scratch for swapping two fields, and the table that sends an IP packet to the agent.
	SwapField          = Reg(2, 0, 31)
	PacketInTableField = Reg(2, 0, 7)
	// reg3: address of the selected Endpoint, and then the policy rule that denies the packet.
	EndpointIPField      = Reg(3, 0, 31)
	APDenyConjunctionID  = Reg(3, 0, 31)
	EndpointPortField    = Reg(4, 0, 15)
	serviceStateField    = Reg(4, 16, 18)
	nodePortAddressField = Reg(4, 19, 19)
	externalAddressField = Reg(4, 21, 21)
	nestedServiceField   = Reg(4, 24, 24)
	DSRField             = Reg(4, 25, 25)
	RemoteEndpointField  = Reg(4, 26, 26)
	sourceExternalField  = Reg(4, 27, 27)
	sourceLocalField     = Reg(4, 28, 28)
	EgressConjunctionID  = Reg(5, 0, 31)
	IngressConjunctionID = Reg(6, 0, 31)
	ServiceGroupIDField  = Reg(7, 0, 31)
	ONCacheStampField    = Reg(8, 16, 25)
	oncacheLocalField    = Reg(8, 26, 26)
	// TraceSeenField is this project's, in a register that Antrea does not use: the trace points that a traced packet has passed.
	TraceSeenField = Reg(10, 0, 15)
	// wasHeldField is this project's: the agent has resumed the packet. The cache must not learn from it.
	wasHeldField = Reg(10, 16, 16)
	// committedField is this project's: ConntrackCommit has committed the packet's connection. Output does not know conntrack's fields then.
	committedField = Reg(10, 17, 17)
	// openingField is this project's: the packet has opened a connection between Pods, and policies alone have decided about it. loggedField is set in
	// packets that the audit log has.
	openingField = Reg(10, 18, 18)
	loggedField  = Reg(10, 19, 19)
	// betweenClustersField is this project's: the packet has come from the tunnel for the gateway Node.
	betweenClustersField = Reg(10, 20, 20)
)

// Values of the registers.
var (
	FromTunnel  = PacketSourceField.Is(1)
	FromGateway = PacketSourceField.Is(2)
	FromPod     = PacketSourceField.Is(3)

	ToTunnel  = PacketDestinationField.Is(1)
	ToGateway = PacketDestinationField.Is(2)

	RewriteMAC   = rewriteMACField.Is(1)
	NoRewriteMAC = rewriteMACField.Is(0)

	// APDeny says that a policy rule has denied the packet, and GeneratedReject that the agent has sent it as the answer to a denied one.
	APDeny            = apDenyField.Is(1)
	GeneratedReject   = generatedRejectField.Is(1)
	DispositionAllow  = APDispositionField.Is(0)
	DispositionDrop   = APDispositionField.Is(1)
	DispositionReject = APDispositionField.Is(2)
	DispositionPass   = APDispositionField.Is(3)

	SvcNoEndpoint = svcNoEndpointField.Is(1)
	// RemoteSNAT says that the packet goes through the tunnel to the Egress address of another Node.
	RemoteSNAT           = remoteSNATField.Is(1)
	OutputToPort         = outputKindField.Is(1)
	OutputToController   = outputKindField.Is(2)
	ServiceToSelect      = serviceStateField.Is(1)
	ServiceSelected      = serviceStateField.Is(2)
	ServiceSelectedLearn = serviceStateField.Is(3)
	// ServiceElsewhere is this project's: only other Nodes have Endpoints.
	ServiceElsewhere = serviceStateField.Is(4)
	NodePortAddress  = nodePortAddressField.Is(1)
	ExternalAddress  = externalAddressField.Is(1)
	// NestedService says that the Endpoint may be the address of a Service of this cluster.
	NestedService    = nestedServiceField.Is(1)
	NotNestedService = nestedServiceField.Is(0)
	RemoteEndpoint   = RemoteEndpointField.Is(1)
	SourceExternal   = sourceExternalField.Is(1)
	SourceLocal      = sourceLocalField.Is(1)
	ONCacheLocal     = oncacheLocalField.Is(1)
	WasHeld          = wasHeldField.Is(1)
	Committed        = committedField.Is(1)
	Opening          = openingField.Is(1)
	Logged           = loggedField.Is(1)
	NotLogged        = loggedField.Is(0)
	BetweenClusters  = betweenClustersField.Is(1)
)

// Conntrack mark. ConnSourceField is a copy of PacketSourceField of the packet that opened the connection. It is non-zero
// exactly if that packet passed all policy tables and was committed in ConntrackCommit.
var (
	ConnSourceField = ctMark(0, 3)
	ServiceCTField  = ctMark(4, 4)
	SNATCTField     = ctMark(5, 5)
	hairpinCTField  = ctMark(6, 6)
	// cutCTField is this project's, in bits that Antrea does not use: the agent sets it for connections that current policy forbids.
	cutCTField = ctMark(8, 8)

	ConnFromGateway = ConnSourceField.Is(2)
	ServiceCT       = ServiceCTField.Is(1)
	NotServiceCT    = ServiceCTField.Is(0)
	SNATCT          = SNATCTField.Is(1)
	NotSNATCT       = SNATCTField.Is(0)
	HairpinCT       = hairpinCTField.Is(1)
	CutCT           = cutCTField.Is(1)
)

// CutMark is the bit of the connection mark that makes the pipeline drop all packets of a connection, with
// Features.CutConnections.
const CutMark = 1 << 8

// OpenedFromGateway reports whether the packet that opened the connection with this mark came through the gateway.
func OpenedFromGateway(mark uint32) bool {
	return mark&ConnSourceField.Mask() == ConnFromGateway.Value
}

// PassedPolicies reports whether policies have let a packet of the connection with this mark pass. A connection to a Service enters
// conntrack before the policy tables, and stays there for a while if they refuse it.
func PassedPolicies(mark uint32) bool { return mark&ConnSourceField.Mask() != 0 }

// IsServiceConnection reports whether the pipeline has translated the destination of the connection with this mark.
func IsServiceConnection(mark uint32) bool {
	return mark&ServiceCTField.Mask() != 0
}

// TranslatesSource reports whether the pipeline has translated the source of the connection with this mark.
func TranslatesSource(mark uint32) bool {
	return mark&SNATCTField.Mask() != 0
}

// DSCPField is the DSCP of an IP packet.
var DSCPField = BitField{Field: of.FieldIPTOS, Bits: of.Range{From: 2, To: 7}}

// Conntrack label: ids of the policy rules that admitted the connection.
var (
	IngressRuleCTLabel = BitField{Field: of.FieldCTLabel, Bits: of.Range{From: 0, To: 31}}
	EgressRuleCTLabel  = BitField{Field: of.FieldCTLabel, Bits: of.Range{From: 32, To: 63}}
)

// Packet mark (skb mark). Bits 0-7 say which source the host gives the packet (255: config.ServiceMark). Bits 14 and 15 are kube-proxy's.
// Bits 8-13 and 16-19 are ONCache's tickets: the pipeline neither reads nor writes them.
var (
	EgressSNATIDField    = pktMark(0, 7)
	ONCacheEpochField    = pktMark(20, 29)
	hostLocalSourceField = pktMark(31, 31)

	HostLocalSource = hostLocalSourceField.Is(1)
)

// MaxEpoch is the highest value of ONCacheEpochField that the cache uses. OpeningBit is set beside the epoch in a packet that opens a connection.
const (
	MaxEpoch   = 511
	OpeningBit = MaxEpoch + 1
)

// Conntrack zones.
const (
	ctZone       = 65520
	CTZoneSNAT   = 65521
	CTZoneV6     = 65510
	CTZoneSNATV6 = 65511
	// ctZoneReport is empty: see ReportCopy.
	ctZoneReport = 65522
)

// ConntrackZoneIPv4 and ConntrackZoneIPv6 are the conntrack zones of the Pods' connections.
const (
	ConntrackZoneIPv4 uint16 = ctZone
	ConntrackZoneIPv6 uint16 = CTZoneV6
)

// ConntrackZones lists both.
var ConntrackZones = []uint16{ConntrackZoneIPv4, ConntrackZoneIPv6}

// AllConntrackZones lists all zones of the pipeline: for the Pods' connections, and for translating the sources of connections to
// Services.
var AllConntrackZones = []uint16{ctZone, CTZoneSNAT, CTZoneV6, CTZoneSNATV6}

// Flow priorities.
const (
	// PriorityTraceflow and the one above are higher than all others: traced packets report themselves before anything happens to them.
	PriorityTraceflow   = 65000
	PriorityEstablished = 64990
	PriorityHigh        = 210
	PriorityNormal      = 200
	PriorityLow         = 190
	PriorityLogged      = 189
	PriorityMiss        = 0
)

// Meters, by the purpose of the packets to the agent that they limit. Antrea's are 256 to 258. The lower ones limit the bandwidth of Egress
// addresses: the id is the mark.
const (
	MeterPolicyLog     = 256
	MeterTraceflow     = 257
	MeterDNS           = 258
	MeterServiceReject = 259
	// MeterDNSPods is the first of the meters for one Pod's answers of DNS each.
	MeterDNSPods = 1024
	// MeterReports is the meter for what policies report about packets that neither come from a local Pod nor go to one. The meters for the
	// packets from each Pod, and to it from elsewhere, follow.
	MeterReports = 16384
	// MeterServiceRejects is the meter for packets to Services without Endpoints that no local Pod has sent. The meters for each Pod follow.
	MeterServiceRejects = 32768
)

// CookieCategory says which part of the agent owns a flow (bits 40-47 of the cookie).
type CookieCategory uint8

const (
	CookieDefault         CookieCategory = 0
	CookiePodConnectivity CookieCategory = 1
	CookieNetworkPolicy   CookieCategory = 2
	CookieService         CookieCategory = 3
	CookieEgress          CookieCategory = 4
	CookieMulticluster    CookieCategory = 6
	CookieTraceflow       CookieCategory = 7
	// CookieONCache is this project's: Antrea's categories end at 8.
	CookieONCache CookieCategory = 9
)

const (
	CookieRoundShift           = 48
	CookieCategoryShift        = 40
	CookieRoundMask     uint64 = 0xffff << CookieRoundShift
	CookieCategoryMask  uint64 = 0xff << CookieCategoryShift
)

// roundCookie is the part of the cookie that all flows of one round share.
func roundCookie(round uint16) uint64 { return uint64(round) << CookieRoundShift }

// Cookie is the cookie of flows of one owner that have no object id.
func Cookie(round uint16, category CookieCategory) uint64 {
	return roundCookie(round) | uint64(category)<<CookieCategoryShift
}
