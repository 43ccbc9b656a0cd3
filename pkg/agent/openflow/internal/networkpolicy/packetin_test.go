// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// packetIn is a packet-in with a port and registers.
func packetIn(userData string, inPort uint32, registers map[uint8]uint32) *of.PacketIn {
	p := &of.PacketIn{UserData: []byte(userData), Metadata: []of.Match{{Field: of.FieldInPort, Value: binary.BigEndian.AppendUint32(nil, inPort)}}}
	for n, value := range registers {
		p.Metadata = append(p.Metadata, of.Match{Field: of.FieldReg0 + of.Field(n), Value: binary.BigEndian.AppendUint32(nil, value)})
	}
	return p
}

// A packet has the action that its registers say, whether or not its rule logs.
func TestPolicyPacket(t *testing.T) {
	names := map[uint8]string{
		7: pipeline.TableIngressRule, 8: pipeline.TableAntreaPolicyIngressRule, 9: pipeline.TableAntreaPolicyEgressRule, 10: pipeline.TableIngressDefaultRule,
		11: pipeline.TableOutput,
	}
	const (
		log, reject = 1 << 25, 2 << 25
		denied      = 1 << 10
		drop        = 1 << 11
		rejected    = 2 << 11
		passed      = 3 << 11
	)
	for name, test := range map[string]struct {
		userData  string
		registers map[uint8]uint32
		want      PolicyPacket
	}{
		"rejected and logged": {"\x01\x03", map[uint8]uint32{0: log | reject | denied | rejected, 1: 12, 2: 8, 3: 77, 4: 2 << 16, 5: 5, 6: 6},
			PolicyPacket{Operations: OperationLog | OperationReject, Direction: policy.Ingress, Action: policy.Reject, FlowID: 77, Table: "AntreaPolicyIngressRule", PodPort: 12, OutPort: 12, Translated: true}},
		"dropped by a rule of egress": {"\x01\x01", map[uint8]uint32{0: log | denied | drop, 2: 9, 3: 78},
			PolicyPacket{Operations: OperationLog, Direction: policy.Egress, Action: policy.Drop, FlowID: 78, Table: "AntreaPolicyEgressRule", PodPort: 11}},
		"denied, without a disposition": {"\x01\x01", map[uint8]uint32{0: log | denied, 2: 9, 3: 78, 5: 5},
			PolicyPacket{Operations: OperationLog, Direction: policy.Egress, Action: policy.Drop, FlowID: 78, Table: "AntreaPolicyEgressRule", PodPort: 11}},
		"dropped by isolation, with the address of an Endpoint in the register": {"\x01\x01", map[uint8]uint32{0: log | drop, 1: 12, 2: 10, 3: 0x0a0a000c},
			PolicyPacket{Operations: OperationLog, Direction: policy.Ingress, Action: policy.Drop, Table: "IngressDefaultRule", PodPort: 12, OutPort: 12}},
		"passed": {"\x01\x01", map[uint8]uint32{0: log | passed, 2: 9, 3: 0x0a0a000c, 5: 9},
			PolicyPacket{Operations: OperationLog, Direction: policy.Egress, Action: policy.Pass, FlowID: 9, Table: "AntreaPolicyEgressRule", PodPort: 11}},
		"allowed": {"\x01\x01", map[uint8]uint32{0: log, 2: 8, 6: 6},
			PolicyPacket{Operations: OperationLog, Direction: policy.Ingress, Action: policy.Allow, FlowID: 6, Table: "AntreaPolicyIngressRule"}},
		"an answer of the agent": {"\x01\x02", map[uint8]uint32{0: reject | denied | rejected | 1<<13, 1: 12, 2: 8, 3: 77},
			PolicyPacket{Operations: OperationReject, Direction: policy.Ingress, Action: policy.Reject, FlowID: 77, Table: "AntreaPolicyIngressRule", PodPort: 12, OutPort: 12, Generated: true}},
		"allowed by a flow of a Kubernetes policy": {"\x01\x01K8sNetworkPolicy:a/b", map[uint8]uint32{1: 12, 6: 6},
			PolicyPacket{Operations: OperationLog, Direction: policy.Ingress, Action: policy.Allow, FlowID: 6, Reference: "K8sNetworkPolicy:a/b", Table: "IngressRule", Priority: 190, PodPort: 12, OutPort: 12}},
		"dropped by a flow of a Kubernetes policy": {"\x01\x02", nil,
			PolicyPacket{Operations: OperationLog, Direction: policy.Egress, Action: policy.Drop, Table: "EgressDefaultRule", PodPort: 11}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.InPort = 11
			got, err := parsePolicyPacket(packetIn(test.userData, 11, test.registers), names)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	for userData, registers := range map[string]map[uint8]uint32{
		"": nil, "\x01": nil, "\x04\x01": nil, "\x01\x00": nil, "\x01\x03x": nil, "\x01\x01": {0: log, 2: 11}, "\x01\x02": {0: reject, 2: 99},
	} {
		_, err := parsePolicyPacket(packetIn(userData, 11, registers), names)
		require.ErrorContains(t, err, "packet-in with", "%q", userData)
	}
}
