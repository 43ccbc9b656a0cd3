// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// goldenFields is Antrea's allocation: other programs match and read these bits.
var goldenFields = []struct {
	value fieldValue
	want  string
}{
	{fromTunnel, "reg0=0x1/0xf"},
	{fromGateway, "reg0=0x2/0xf"},
	{fromPod, "reg0=0x3/0xf"},
	{fromUplink, "reg0=0x4/0xf"},
	{fromBridge, "reg0=0x5/0xf"},
	{fromTCReturn, "reg0=0x6/0xf"},
	{fromL7Return, "reg0=0x7/0xf"},
	{toTunnel, "reg0=0x10/0xf0"},
	{toGateway, "reg0=0x20/0xf0"},
	{toLocalPod, "reg0=0x30/0xf0"},
	{toUplink, "reg0=0x40/0xf0"},
	{toBridge, "reg0=0x50/0xf0"},
	{rewriteMAC, "reg0=0x200/0x200"},
	{noRewriteMAC, "reg0=0/0x200"},
	{apDeny, "reg0=0x400/0x400"},
	{dispositionAllow, "reg0=0/0x1800"},
	{dispositionDrop, "reg0=0x800/0x1800"},
	{dispositionReject, "reg0=0x1000/0x1800"},
	{dispositionPass, "reg0=0x1800/0x1800"},
	{generatedReject, "reg0=0x2000/0x2000"},
	{svcNoEndpoint, "reg0=0x4000/0x4000"},
	{remoteSNAT, "reg0=0x80000/0x80000"},
	{l7Redirect, "reg0=0x100000/0x100000"},
	{outputToPort, "reg0=0x200000/0x600000"},
	{outputToController, "reg0=0x400000/0x600000"},
	{ctStateRestored, "reg0=0x800000/0x800000"},
	{packetInOperationField.is(1), "reg0=0x2000000/0xfe000000"},
	{targetOFPortField.is(7), "reg1=0x7"},
	{packetInTableField.is(7), "reg2=0x7/0xff"},
	{endpointPortField.is(80), "reg4=0x50/0xffff"},
	{serviceToSelect, "reg4=0x10000/0x70000"},
	{serviceSelected, "reg4=0x20000/0x70000"},
	{serviceSelectedLearn, "reg4=0x30000/0x70000"},
	{nodePortAddress, "reg4=0x80000/0x80000"},
	{antreaIPAM, "reg4=0x100000/0x100000"},
	{externalAddress, "reg4=0x200000/0x200000"},
	{tcMirror, "reg4=0x400000/0xc00000"},
	{tcRedirect, "reg4=0x800000/0xc00000"},
	{nestedService, "reg4=0x1000000/0x1000000"},
	{dsr, "reg4=0x2000000/0x2000000"},
	{remoteEndpoint, "reg4=0x4000000/0x4000000"},
	{sourceExternal, "reg4=0x8000000/0x8000000"},
	{sourceLocal, "reg4=0x10000000/0x10000000"},
	{egressConjunctionID.is(9), "reg5=0x9"},
	{ingressConjunctionID.is(9), "reg6=0x9"},
	{serviceGroupIDField.is(9), "reg7=0x9"},
	{vlanIDField.is(9), "reg8=0x9/0xfff"},
	{ctZoneTypeField.is(9), "reg8=0x9000/0xf000"},
	{tcOutputPortField.is(9), "reg9=0x9"},
	{traceSeenField.is(9), "reg10=0x9/0xffff"},
	{connFromGateway, "ct_mark=0x2/0xf"},
	{serviceCT, "ct_mark=0x10/0x10"},
	{notServiceCT, "ct_mark=0/0x10"},
	{snatCT, "ct_mark=0x20/0x20"},
	{notSNATCT, "ct_mark=0/0x20"},
	{hairpinCT, "ct_mark=0x40/0x40"},
	{l7CT, "ct_mark=0x80/0x80"},
	{egressSNATIDField.is(3), "pkt_mark=0x3/0xff"},
	{oncacheEpochField.is(1), "pkt_mark=0x100000/0x3ff00000"},
	{egressReply, "pkt_mark=0x40000000/0x40000000"},
	{hostLocalSource, "pkt_mark=0x80000000/0x80000000"},
}

func TestFieldValuesGolden(t *testing.T) {
	for _, test := range goldenFields {
		flow := of.Flow{Match: []of.Match{test.value.match()}}
		require.Equal(t, test.want, strings.TrimPrefix(flow.MatchString(), "table=0,"))
	}
}

func TestFieldsDoNotOverlap(t *testing.T) {
	used := map[of.Field][]bitField{}
	// reg2 (swapField, packetInTableField) and reg3 have one meaning after the other.
	require.Equal(t, endpointIPField, apDenyConjunctionID)
	require.Equal(t, swapField.field, packetInTableField.field)
	for _, f := range []bitField{
		packetSourceField, packetDestinationField, rewriteMACField, apDenyField, apDispositionField, generatedRejectField,
		svcNoEndpointField, remoteSNATField, l7RedirectField, outputKindField, ctStateRestoredField, packetInOperationField,
		targetOFPortField, swapField, endpointIPField, endpointPortField, serviceStateField, nodePortAddressField, antreaIPAMField,
		externalAddressField, tcActionField, nestedServiceField, dsrField, remoteEndpointField, sourceExternalField,
		sourceLocalField, egressConjunctionID, ingressConjunctionID, serviceGroupIDField, vlanIDField, ctZoneTypeField, oncacheStampField, oncacheLocalField,
		tcOutputPortField, traceSeenField, connSourceField, serviceCTField, snatCTField, hairpinCTField, l7CTField, ingressRuleCTLabel,
		egressRuleCTLabel, l7VLANCTLabel, egressSNATIDField, oncacheEpochField, egressReplyField, hostLocalSourceField,
	} {
		for _, other := range used[f.field] {
			require.True(t, f.bits.To < other.bits.From || other.bits.To < f.bits.From, "%v and %v", f, other)
		}
		used[f.field] = append(used[f.field], f)
	}
}

func TestCookie(t *testing.T) {
	require.Equal(t, uint64(0xffff_02_00_00000000), cookie(0xffff, cookieNetworkPolicy))
	require.Equal(t, uint64(0x0007_09_00_00000000), cookie(7, cookieONCache))
}

func TestConntrackZones(t *testing.T) {
	require.Equal(t, []int{65520, 65521, 65510, 65511}, []int{ctZone, ctZoneSNAT, ctZoneV6, ctZoneSNATV6})
}
