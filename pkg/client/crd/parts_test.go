// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestReadParts: what cannot be read of a spec is named with its place, costs no other part, and is told apart by whether it is only in rules.
func TestReadParts(t *testing.T) {
	for _, tc := range []struct {
		name, object, want string
		// doubt is part of the error, rules are in doubt alone.
		doubt string
		rules []string
	}{
		{name: "all", object: `{spec: {priority: 1}}`, want: `{priority: 1}`},
		{name: "status and metadata do not matter", object: `{metadata: {name: p, labels: 1}, spec: {priority: 1}, status: none}`, want: `{priority: 1}`},
		{
			name: "rules", object: `{spec: {priority: 1, ingress: [{action: Allow, name: a}, {action: Drop, form: x, ports: [{port: 80}]}, {action: 5, ports: 80, enableLogging: true, appliedTo: [{group: g}]}, none]}}`,
			want:  `{priority: 1, ingress: [{action: Allow, name: a}, {action: Drop, ports: [{port: 80}]}, {enableLogging: true, appliedTo: [{group: g}]}, {}]}`,
			doubt: `spec.ingress[1]: strict decoding error: unknown field "spec.ingress[1].form"; spec.ingress[2]: action: `,
			rules: []string{"ingress[1]", "ingress[2]", "ingress[3]"},
		},
		{
			name: "what a rule applies to", object: `{spec: {priority: 1, egress: [{action: Drop, appliedTo: [{group: g, later: 1}]}, {action: Drop, form: x}]}}`,
			want:  `{priority: 1, egress: [{action: Drop, appliedTo: [{group: g}]}, {action: Drop}]}`,
			doubt: `unknown field "spec.egress[0].appliedTo[0].later"`,
		},
		{
			name: "outside of rules", object: `{spec: {priority: high, tier: 5, ingres: [], appliedTo: {group: g}, ingress: {action: Drop}}}`,
			want:  `{priority: 0, tier: "5", ingress: [{}], egress: [{}]}`,
			doubt: `spec.appliedTo: `,
		},
		{
			name: "unknown field beside a list", object: `{spec: {priority: 1, ingress: [], egresss: [{action: Drop}]}}`,
			want: `{priority: 1, ingress: [], egress: [{}]}`, doubt: `unknown field "spec.egresss"`,
		},
		{name: "list that cannot be read", object: `{spec: {priority: 1, egress: none}}`, want: `{priority: 1, egress: [{}]}`, doubt: "spec.egress: "},
		{name: "no spec", object: `{spec: [x]}`, want: `{priority: 0, ingress: [{}], egress: [{}]}`, doubt: "spec: must be an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := fromYAML(t, "{kind: ClusterNetworkPolicy, "+tc.object[1:])
			u.SetName("p")
			got, err := ReadParts[v1beta1.ClusterNetworkPolicy](u)
			require.Equal(t, "p", got.Name)
			var want v1beta1.NetworkPolicySpec
			require.NoError(t, yaml.Unmarshal([]byte(tc.want), &want))
			require.Equal(t, want, got.Spec)
			if tc.doubt == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.doubt)
			var rules RuleDoubts
			require.Equal(t, tc.rules != nil, errors.As(err, &rules), "%v", err)
			for _, rule := range tc.rules {
				require.Error(t, rules[rule])
			}
			require.Len(t, rules, len(tc.rules))
		})
	}
}
