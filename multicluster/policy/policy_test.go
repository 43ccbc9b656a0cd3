// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// object reads JSON as a client of the Kubernetes API does.
func object(t *testing.T, text string) any {
	t.Helper()
	var out any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

const good = `{"priority": 5, "tier": "securityops", "appliedTo": [{"namespaceSelector": {}}], "ingress": [{"action": "Drop", "from": [{"podSelector": {}}]}]}`

func TestExports(t *testing.T) {
	rule := func(text string) string { return strings.ReplaceAll(good, `"action": "Drop"`, text) }
	for _, test := range []struct {
		name, namespace, content, want string
	}{
		{"isolation", "", good, ""},
		{"isolation", "", `null`, "spec.clusterNetworkPolicy is missing"},
		{"isolation", "", `"x"`, "spec.clusterNetworkPolicy is a string; want an object"},
		{"isolation", "", `[]`, "spec.clusterNetworkPolicy is a []interface {}; want an object"},
		{"isolation", "", `{}`, "spec.clusterNetworkPolicy: priority is 0; allowed: 1 to 10000"},
		{"isolation", "", strings.Replace(good, "5", "10001", 1), "priority is 10001"},
		{"isolation", "", strings.Replace(good, "5", `"5"`, 1), "spec.clusterNetworkPolicy: "},
		{"isolation", "", rule(`"action": "Drop", "newField": {}`), `unknown field "ingress[0].newField"`},
		{"isolation", "", rule(`"name": "x"`), "each rule needs an action"},
		{"isolation", "", strings.Replace(good, `"ingress": [`, `"ingress": [{"action": "Drop", "from": [{"podSelector": {}}]}, `, 1), "rules names must be unique"},
		{"isolation", "", strings.Replace(good, `"ingress": [`, `"ingress": [{"action": "Allow", "from": [{"podSelector": {}}]}, `, 1), ""},
		{"isolation", "", strings.Replace(good, `[{"namespaceSelector": {}}]`, `[]`, 1), "appliedTo needs to be set"},
		{"isolation", "", rule(`"name": "` + strings.Repeat("x", maxSpec) + `"`), "bytes; allowed: 65536"},
		{"isolation", "", rule(`"action": "Drop", "name": "` + strings.Repeat("x", maxSpec-200) + `"`), ""},
		{"isolation", "", strings.Replace(good, `"podSelector": {}`, `"scope": "ClusterSet", "podSelector": {}`, 1), "scope ClusterSet is not supported"},
		{"isolation", "", strings.Replace(good, `"ingress": [{"action": "Drop", "from": [{"podSelector": {}}]}]`, `"egress": [{"action": "Drop", "toServices": [{"name": "a", "namespace": "b", "scope": "ClusterSet"}]}]`, 1),
			"scope ClusterSet is not supported"},
		{"isolation", "default", good, `spec.namespace is "default"; a policy of clusters has none`},
		{"", "", good, `spec.name is ""`},
		{"No name", "", good, `spec.name is "No name"`},
		{strings.Repeat("x", 230), "", good, "spec.name is "},
	} {
		err := CheckExport(&v1alpha1.ResourceExportSpec{Name: test.name, Namespace: test.namespace, ClusterNetworkPolicy: object(t, test.content)})
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, test.want)
		require.Less(t, len(err.Error()), 1000)
	}
}

func TestImportName(t *testing.T) {
	r := &v1alpha1.ResourceImport{Spec: v1alpha1.ResourceImportSpec{Name: "x", ClusterNetworkPolicy: object(t, good)}}
	r.Name = "x-antreaclusternetworkpolicy"
	spec, err := checkImport(r)
	require.NoError(t, err)
	require.Equal(t, "securityops", spec.Tier)
	r.Name = "y-antreaclusternetworkpolicy"
	_, err = checkImport(r)
	require.EqualError(t, err, "metadata.name must be x-antreaclusternetworkpolicy")
}

// TestSame: fields that admission fills in do not count as a difference, any other field does.
func TestSame(t *testing.T) {
	const sent = `{"priority": 5, "appliedTo": [{"podSelector": {}}], "egress": [{"action": "Drop"}, {"name": "b", "action": "Allow", "to": []}]}`
	for have, want := range map[string]bool{
		sent: true,
		`{"priority": 5.0, "tier": "application", "appliedTo": [{"podSelector": {}}], "egress": [{"action": "Drop", "name": "egress-drop-1"}, {"name": "b", "action": "Allow"}]}`: true,
		strings.Replace(sent, "5", "6", 1):                                  false,
		strings.Replace(sent, `"b"`, `"c"`, 1):                              false,
		strings.Replace(sent, `"Drop"`, `"Reject"`, 1):                      false,
		strings.Replace(sent, `{"action": "Drop"}, `, "", 1):                false,
		strings.Replace(sent, `{"podSelector": {}}`, `{"group": "g"}`, 1):   false,
		strings.Replace(sent, `"priority"`, `"new": 1, "priority"`, 1):      false,
		strings.Replace(sent, `{"priority"`, `{"tier": "x", "priority"`, 1): false,
		`null`: false,
	} {
		require.Equal(t, want, same(object(t, have), object(t, sent)), have)
	}
}

func TestGroups(t *testing.T) {
	spec, err := read("spec", object(t, `{"priority": 1, "ingress": [{"action": "Allow", "appliedTo": [{"group": "a"}], "from": [{"group": "b"}, {"podSelector": {}}]}],
		"egress": [{"action": "Drop", "appliedTo": [{"group": "c"}], "to": [{"group": "d"}]}]}`))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b", "c", "d"}, groupsOf(spec))
	spec, err = read("spec", object(t, `{"priority": 1, "appliedTo": [{"group": "a"}], "ingress": [{"action": "Drop"}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, groupsOf(spec))
}
