// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnNodePolicy: the chart has the policy only where tokens always name a Node, and the API server knows such policies.
func TestOwnNodePolicy(t *testing.T) {
	known := "--api-versions=admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
	for name, tc := range map[string]struct {
		args []string
		want bool
	}{
		"1.31":                  {[]string{known, "--kube-version=1.31.9"}, false},
		"1.32":                  {[]string{known, "--kube-version=1.32.0"}, true},
		"1.32, of a vendor":     {[]string{known, "--kube-version=v1.32.1-eks-1a2b3c"}, true},
		"the API is unknown":    {[]string{"--kube-version=1.32.0"}, false},
		"without an API server": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := render(t, tc.args...)
			for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
				_, found := all[kind+" antrea-agent-own-node"]
				require.Equal(t, tc.want, found, kind)
			}
		})
	}
}
