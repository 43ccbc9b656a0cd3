// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
)

// granted returns the rights of rules, one line for each resource, object and verb, sorted.
func granted(scope string, rules []rbacv1.PolicyRule) (lines []string) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{"all"}
		}
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				lines = append(lines, fmt.Sprintf("URL %s %s", url, verb))
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if group != "" {
						resource += "." + group
					}
					for _, name := range names {
						lines = append(lines, fmt.Sprintf("%s %s %s %s", scope, resource, name, verb))
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

var (
	rbacRow  = regexp.MustCompile("(?m)^\\| (cluster|Namespace|URL) \\| (`[^|]+`) \\|([^|]*)\\| ([^|]+) \\| ([^|]+) \\|$")
	rbacCode = regexp.MustCompile("^`((?:pkg|cmd)/[^`]+\\.go)`|^the same")
)

// documented returns the rights of a section of docs/operate/rbac.md in the same form.
func documented(t *testing.T, account string) (lines []string) {
	t.Helper()
	_, section, found := strings.Cut(read(t, root+"/docs/operate/rbac.md"), "\n## "+account+"\n")
	require.True(t, found, account)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range rbacRow.FindAllStringSubmatch(section, -1) {
		m := rbacCode.FindStringSubmatch(row[5])
		require.NotNil(t, m, "the last cell names the code: %s", row[0])
		if m[1] != "" {
			_, err := os.Stat(filepath.Join(root, m[1]))
			require.NoError(t, err)
		}
		list := func(cell string) []string {
			return strings.Split(strings.ReplaceAll(strings.TrimSpace(cell), "`", ""), ", ")
		}
		for _, resource := range list(row[2]) {
			for _, verb := range list(row[4]) {
				if row[1] == "URL" {
					lines = append(lines, fmt.Sprintf("URL %s %s", resource, verb))
					continue
				}
				for _, name := range list(row[3]) {
					lines = append(lines, fmt.Sprintf("%s %s %s %s", row[1], resource, name, verb))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// gatewaysOn makes Nodes connect clusters.
const gatewaysOn = "--set=multicluster.enableGateway=true,featureGates.Multicluster=true"

// TestRights: docs/operate/rbac.md lists exactly the rights that the chart gives with all features that need more, and the code that it names exists.
func TestRights(t *testing.T) {
	all := render(t, gatewaysOn)
	for _, account := range []string{"antrea-agent", "antrea-controller", "antctl"} {
		t.Run(account, func(t *testing.T) {
			got := granted("cluster", get[*rbacv1.ClusterRole](t, all, "ClusterRole "+account).Rules)
			subjects := [][]rbacv1.Subject{get[*rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding "+account).Subjects}
			got = append(got, granted("Namespace", get[*rbacv1.Role](t, all, "Role "+account).Rules)...)
			subjects = append(subjects, get[*rbacv1.RoleBinding](t, all, "RoleBinding "+account).Subjects)
			slices.Sort(got)
			require.Empty(t, cmp.Diff(documented(t, account), got), "- docs/operate/rbac.md, + chart")
			require.Equal(t, slices.Compact(slices.Clone(got)), got, "a right that is given twice")
			require.NotContains(t, strings.Join(got, "\n"), "*")
			for _, s := range subjects {
				require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "kube-system"}}, s)
			}
		})
	}
}

// TestGatewayRight: agents may write Gateways only if their Nodes connect clusters, wherever the Gateways are.
func TestGatewayRight(t *testing.T) {
	const elsewhere = "--set=multicluster.namespace=elsewhere"
	for name, tc := range map[string]struct {
		role string
		args []string
		want bool
	}{
		"off":            {"antrea-agent", nil, false},
		"on":             {"antrea-agent", []string{gatewaysOn}, true},
		"off, elsewhere": {"antrea-agent-multicluster", []string{elsewhere}, false},
		"on, elsewhere":  {"antrea-agent-multicluster", []string{elsewhere, gatewaysOn}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rules := granted("Namespace", get[*rbacv1.Role](t, render(t, tc.args...), "Role "+tc.role).Rules)
			require.Contains(t, rules, "Namespace gateways.multicluster.crd.antrea.io all watch")
			require.Equal(t, tc.want, slices.Contains(rules, "Namespace gateways.multicluster.crd.antrea.io all patch"))
		})
	}
}
