// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// FuzzLoggedPacket feeds packets with arbitrary user data to the audit log's parser, as flows of another agent may send. Input
// that the parser accepts must encode to the same user data.
func FuzzLoggedPacket(f *testing.F) {
	f.Add([]byte{policyLogCategory, byte(policy.Ingress)})
	f.Add(append([]byte{policyLogCategory, byte(policy.Egress)}, "K8sNetworkPolicy:default/web"...))
	f.Add([]byte{policyLogCategory})
	f.Add([]byte{policyLogCategory, 255, 0})
	f.Fuzz(func(t *testing.T, userData []byte) {
		p, err := ParseLoggedPacket(&of.PacketIn{UserData: userData})
		if err != nil {
			require.ErrorContains(t, err, "user data")
			return
		}
		require.NotEmpty(t, p.Table)
		require.Equal(t, userData, append([]byte{policyLogCategory, byte(p.Direction)}, p.Reference...))
	})
}
