// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// TestNetworks: a member whose token names networks exports nothing outside of them.
func TestNetworks(t *testing.T) {
	pods := spec(func(s *v1alpha1.ResourceExportSpec) { s.ClusterInfo.PodCIDRs = []string{"10.10.0.0/16"} })
	services := func(network string) exportEdit {
		return spec(func(s *v1alpha1.ResourceExportSpec) {
			s.ClusterInfo.ServiceCIDR, s.ClusterInfo.PodCIDRs, s.ClusterInfo.GatewayInfos = network, nil, nil
		})
	}
	for _, tc := range []struct {
		name, networks string
		export         *v1alpha1.ResourceExport
		user, want     string
	}{
		{"no bound", "", exportOf("ClusterInfo", services("8.0.0.0/12")), east, ""},
		{"inside", "10.96.0.0/12", exportOf("ClusterInfo", services("10.96.0.0/16")), east, ""},
		{"wider", "10.96.0.0/16", exportOf("ClusterInfo", services("10.96.0.0/12")), east, "10.96.0.0/12 is outside the networks of this member, 10.96.0.0/16"},
		{"elsewhere", "10.96.0.0/12", exportOf("ClusterInfo", services("8.0.0.0/12")), east, "8.0.0.0/12 is outside"},
		{"without network", "10.96.0.0/12", exportOf("ClusterInfo", services("")), east, ""},
		{"Pods", "10.96.0.0/12", exportOf("ClusterInfo", pods), east, "10.10.0.0/16 is outside"},
		{"several", "10.96.0.0/12, 10.10.0.0/16, 192.0.2.0/24", exportOf("ClusterInfo", pods), east, ""},
		{"a Gateway", "10.96.0.0/12, 10.10.0.0/16", exportOf("ClusterInfo", pods), east, "192.0.2.7/32 is outside the networks of this member"},
		{"Endpoints inside", "10.96.0.0/12", exportOf("Endpoints"), east, ""},
		{"Endpoints elsewhere", "10.112.0.0/12", exportOf("Endpoints"), east, "10.96.7.9/32 is outside"},
		{"a Service", "10.112.0.0/12", exportOf("Service"), east, ""},
		{"not networks", "10.96.0.0", exportOf("Endpoints"), east, `has "10.96.0.0"; want networks such as 10.96.0.0/12`},
		{"an administrator", "10.112.0.0/12", exportOf("Endpoints"), admin, ""},
	} {
		s := newState()
		s.accounts["east-token"][v1alpha1.NetworksAnnotation] = tc.networks
		raw, err := json.Marshal(tc.export)
		require.NoError(t, err)
		answer, err := s.leader(ExportPath)(ask(t, ExportPath, tc.user, string(raw), ""))
		require.NoError(t, err)
		if tc.want == "" {
			require.Empty(t, answer.Refusal, tc.name)
			continue
		}
		require.Contains(t, answer.Refusal, tc.want, tc.name)
	}
}
