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

// FuzzPolicyPacket feeds packets with arbitrary user data and registers to the parser, as flows of another agent may send. A packet that a rule
// denies is never taken for an allowed one.
func FuzzPolicyPacket(f *testing.F) {
	names := map[uint8]string{7: pipeline.TableIngressRule, 8: pipeline.TableAntreaPolicyEgressRule, 9: pipeline.TableOutput}
	f.Add([]byte{policyLogCategory, byte(policy.Ingress)}, uint32(0), uint32(0), uint32(0))
	f.Add(append([]byte{policyLogCategory, byte(policy.Egress)}, "K8sNetworkPolicy:default/web"...), uint32(0), uint32(0), uint32(0))
	f.Add([]byte{policyLogCategory}, uint32(0), uint32(0), uint32(0))
	f.Add([]byte{policyLogCategory, 255, 0}, uint32(0), uint32(0), uint32(0))
	f.Add([]byte{policyLogCategory, 3}, uint32(0x06001400), uint32(8), uint32(12))
	f.Fuzz(func(t *testing.T, userData []byte, reg0, reg2, reg3 uint32) {
		packet := &of.PacketIn{UserData: userData}
		for i, value := range map[int]uint32{0: reg0, 2: reg2, 3: reg3} {
			packet.Metadata = append(packet.Metadata, of.Match{Field: of.FieldReg0 + of.Field(i), Value: binary.BigEndian.AppendUint32(nil, value)})
		}
		p, err := parsePolicyPacket(packet, names)
		if err != nil {
			require.ErrorContains(t, err, "packet-in with")
			return
		}
		require.NotEmpty(t, p.Table)
		require.NotZero(t, p.Operations)
		require.Contains(t, []policy.Direction{policy.Ingress, policy.Egress}, p.Direction)
		if reg0>>25 == 0 {
			require.Equal(t, userData, append([]byte{policyLogCategory, byte(p.Direction)}, p.Reference...))
		} else if reg0&0x400 != 0 {
			require.Contains(t, []policy.Action{policy.Drop, policy.Reject}, p.Action)
			require.Equal(t, reg3, p.FlowID)
		}
	})
}
