// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// goldenFields is Antrea's allocation: other programs match and read these bits.
var goldenFields = []struct {
	value FieldValue
	want  string
}{
	{FromTunnel, "reg0=0x1/0xf"},
	{FromGateway, "reg0=0x2/0xf"},
	{FromPod, "reg0=0x3/0xf"},
	{fromUplink, "reg0=0x4/0xf"},
	{fromBridge, "reg0=0x5/0xf"},
	{fromTCReturn, "reg0=0x6/0xf"},
	{fromL7Return, "reg0=0x7/0xf"},
	{ToTunnel, "reg0=0x10/0xf0"},
	{ToGateway, "reg0=0x20/0xf0"},
	{toLocalPod, "reg0=0x30/0xf0"},
	{toUplink, "reg0=0x40/0xf0"},
	{toBridge, "reg0=0x50/0xf0"},
	{RewriteMAC, "reg0=0x200/0x200"},
	{NoRewriteMAC, "reg0=0/0x200"},
	{APDeny, "reg0=0x400/0x400"},
	{DispositionAllow, "reg0=0/0x1800"},
	{DispositionDrop, "reg0=0x800/0x1800"},
	{DispositionReject, "reg0=0x1000/0x1800"},
	{DispositionPass, "reg0=0x1800/0x1800"},
	{GeneratedReject, "reg0=0x2000/0x2000"},
	{SvcNoEndpoint, "reg0=0x4000/0x4000"},
	{RemoteSNAT, "reg0=0x80000/0x80000"},
	{l7Redirect, "reg0=0x100000/0x100000"},
	{OutputToPort, "reg0=0x200000/0x600000"},
	{OutputToController, "reg0=0x400000/0x600000"},
	{ctStateRestored, "reg0=0x800000/0x800000"},
	{PacketInOperationField.Is(1), "reg0=0x2000000/0xfe000000"},
	{TargetOFPortField.Is(7), "reg1=0x7"},
	{PacketInTableField.Is(7), "reg2=0x7/0xff"},
	{EndpointPortField.Is(80), "reg4=0x50/0xffff"},
	{ServiceToSelect, "reg4=0x10000/0x70000"},
	{ServiceSelected, "reg4=0x20000/0x70000"},
	{ServiceSelectedLearn, "reg4=0x30000/0x70000"},
	{NodePortAddress, "reg4=0x80000/0x80000"},
	{antreaIPAM, "reg4=0x100000/0x100000"},
	{ExternalAddress, "reg4=0x200000/0x200000"},
	{tcMirror, "reg4=0x400000/0xc00000"},
	{tcRedirect, "reg4=0x800000/0xc00000"},
	{NestedService, "reg4=0x1000000/0x1000000"},
	{dsr, "reg4=0x2000000/0x2000000"},
	{RemoteEndpoint, "reg4=0x4000000/0x4000000"},
	{SourceExternal, "reg4=0x8000000/0x8000000"},
	{SourceLocal, "reg4=0x10000000/0x10000000"},
	{EgressConjunctionID.Is(9), "reg5=0x9"},
	{IngressConjunctionID.Is(9), "reg6=0x9"},
	{ServiceGroupIDField.Is(9), "reg7=0x9"},
	{vlanIDField.Is(9), "reg8=0x9/0xfff"},
	{ctZoneTypeField.Is(9), "reg8=0x9000/0xf000"},
	{tcOutputPortField.Is(9), "reg9=0x9"},
	{TraceSeenField.Is(9), "reg10=0x9/0xffff"},
	{ConnFromGateway, "ct_mark=0x2/0xf"},
	{ServiceCT, "ct_mark=0x10/0x10"},
	{NotServiceCT, "ct_mark=0/0x10"},
	{SNATCT, "ct_mark=0x20/0x20"},
	{NotSNATCT, "ct_mark=0/0x20"},
	{HairpinCT, "ct_mark=0x40/0x40"},
	{l7CT, "ct_mark=0x80/0x80"},
	{EgressSNATIDField.Is(3), "pkt_mark=0x3/0xff"},
	{ONCacheEpochField.Is(1), "pkt_mark=0x100000/0x3ff00000"},
	{egressReply, "pkt_mark=0x40000000/0x40000000"},
	{HostLocalSource, "pkt_mark=0x80000000/0x80000000"},
}

func TestFieldValuesGolden(t *testing.T) {
	for _, test := range goldenFields {
		flow := of.Flow{Match: []of.Match{test.value.Match()}}
		require.Equal(t, test.want, strings.TrimPrefix(flow.MatchString(), "table=0,"))
	}
}

func TestFieldsDoNotOverlap(t *testing.T) {
	used := map[of.Field][]BitField{}
	// reg2 (SwapField, PacketInTableField) and reg3 have one meaning after the other.
	require.Equal(t, EndpointIPField, APDenyConjunctionID)
	require.Equal(t, SwapField.Field, PacketInTableField.Field)
	for _, f := range []BitField{
		PacketSourceField, PacketDestinationField, rewriteMACField, apDenyField, APDispositionField, generatedRejectField,
		svcNoEndpointField, remoteSNATField, l7RedirectField, outputKindField, ctStateRestoredField, PacketInOperationField,
		TargetOFPortField, SwapField, EndpointIPField, EndpointPortField, serviceStateField, nodePortAddressField, antreaIPAMField,
		externalAddressField, tcActionField, nestedServiceField, DSRField, RemoteEndpointField, sourceExternalField,
		sourceLocalField, EgressConjunctionID, IngressConjunctionID, ServiceGroupIDField, vlanIDField, ctZoneTypeField, ONCacheStampField, oncacheLocalField,
		tcOutputPortField, TraceSeenField, ConnSourceField, ServiceCTField, SNATCTField, hairpinCTField, L7CTField, IngressRuleCTLabel,
		EgressRuleCTLabel, l7VLANCTLabel, EgressSNATIDField, ONCacheEpochField, egressReplyField, hostLocalSourceField,
	} {
		for _, other := range used[f.Field] {
			require.True(t, f.Bits.To < other.Bits.From || other.Bits.To < f.Bits.From, "%v and %v", f, other)
		}
		used[f.Field] = append(used[f.Field], f)
	}
}

func TestCookie(t *testing.T) {
	require.Equal(t, uint64(0xffff_02_00_00000000), Cookie(0xffff, CookieNetworkPolicy))
	require.Equal(t, uint64(0x0007_09_00_00000000), Cookie(7, CookieONCache))
}

func TestConntrackZones(t *testing.T) {
	require.Equal(t, []int{65520, 65521, 65510, 65511}, []int{ctZone, CTZoneSNAT, CTZoneV6, CTZoneSNATV6})
}
