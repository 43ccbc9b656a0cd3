// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/antrea-oncache/antrea/multicluster/manifest"
)

// TestMulticlusterRights: docs/operate/rbac.md lists exactly the rights of the manifests of antrea-mc-controller. That they suffice is a test of
// cmd/antrea-mc-controller.
func TestMulticlusterRights(t *testing.T) {
	var got []string
	for role, m := range map[string][2]string{"leader": {manifest.Leader, manifest.LeaderNamespace}, "member": {manifest.Member, manifest.MemberNamespace}} {
		text, err := manifest.Render(m[0], m[1])
		require.NoError(t, err)
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			who, rules := role, []rbacv1.PolicyRule(nil)
			switch {
			case strings.Contains(document, "\nkind: Role\n"):
				o := decoded[rbacv1.Role](t, []byte(document))
				if rules = o.Rules; o.Name == "antrea-mc-member-cluster-role" {
					who = "token"
				}
			case strings.Contains(document, "\nkind: ClusterRole\n"):
				who, rules = role+"-everywhere", decoded[rbacv1.ClusterRole](t, []byte(document)).Rules
			}
			got = append(got, linesOf(who, rules)...)
		}
	}
	slices.Sort(got)
	page, err := os.ReadFile(root + "/docs/operate/rbac.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## antrea-mc-controller\n")
	require.True(t, found)
	_, table, _ := strings.Cut(section, " VERBS\n")
	table, _, _ = strings.Cut(table, "```")
	var want []string
	for line := range strings.Lines(table) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	require.Empty(t, cmp.Diff(want, got), "- docs/operate/rbac.md, + manifests")
}

// linesOf are the lines of rules in the table.
func linesOf(who string, rules []rbacv1.PolicyRule) (lines []string) {
	for _, rule := range rules {
		verbs := strings.Join(slices.Sorted(slices.Values(rule.Verbs)), ",")
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{"all"}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if group != "" {
					resource += "." + group
				}
				for _, name := range names {
					lines = append(lines, strings.Join([]string{who, resource, name, verbs}, " "))
				}
			}
		}
	}
	return lines
}
