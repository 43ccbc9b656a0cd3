// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// singles are the cases with Pods of their own, by full name.
var singles = map[string]func(*testing.T){
	"TestAntreaPolicyStatus/status":                              func(t *testing.T) { suite.testPolicyStatus(t) },
	"TestAntreaPolicyStatusWithAppliedToPerRule/status":          func(t *testing.T) { suite.testStatusPerRule(t) },
	"TestAntreaPolicyStatusWithAppliedToUnsupportedGroup/status": func(t *testing.T) { suite.testStatusOfForeignGroup(t) },
	"TestAntreaPolicyStats/testANNPNetworkPolicyStatsWithDropAction": func(t *testing.T) {
		suite.testRuleStats(t, policycases.ANNP, "namespaces/%s/antreanetworkpolicystats/stats")
	},
	"TestAntreaPolicyStats/testAntreaClusterNetworkPolicyStats": func(t *testing.T) {
		suite.testRuleStats(t, policycases.ACNP, "antreaclusternetworkpolicystats/stats")
	},
	"TestFQDNCacheMinTTL/minTTLUnset":    func(t *testing.T) { suite.testMinTTL(t, 0) },
	"TestFQDNCacheMinTTL/minTTL20s":      func(t *testing.T) { suite.testMinTTL(t, 20*time.Second) },
	"TestClusterGroup/RealizationStatus": func(t *testing.T) { suite.testGroupStatus(t) },
}

// runSingles runs the singles of a test.
func runSingles(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(singles)) {
		if test, single, _ := strings.Cut(name, "/"); test == t.Name() {
			suite.test(t, single, singles[name])
		}
	}
}

func TestAntreaPolicyStatus(t *testing.T)                              { runSingles(t) }
func TestAntreaPolicyStatusWithAppliedToPerRule(t *testing.T)          { runSingles(t) }
func TestAntreaPolicyStatusWithAppliedToUnsupportedGroup(t *testing.T) { runSingles(t) }
func TestAntreaPolicyStats(t *testing.T)                               { runSingles(t) }
func TestFQDNCacheMinTTL(t *testing.T)                                 { runSingles(t) }

// policyTests returns the names of all cases of Antrea's policies.
func policyTests() (names []string) {
	add := func(prefix string, cases []string) {
		for _, name := range cases {
			names = append(names, prefix+"Case="+name)
		}
	}
	tables := func(cases []policycases.Case) (names []string) {
		for _, c := range cases {
			names = append(names, c.Name)
		}
		return names
	}
	refusals := func(cases []policycases.Refusal) (names []string) {
		for _, c := range cases {
			names = append(names, c.Name)
		}
		return names
	}
	add("TestAntreaPolicy/TestGroupValidationWebhook/", refusals(policycases.Validation))
	add("TestAntreaPolicy/TestGroupMutationWebhook/", slices.Collect(maps.Keys(policycases.Mutation)))
	add("TestAntreaPolicy/TestGroupDefaultDENY/", tables(policycases.DefaultDeny))
	add("TestAntreaPolicy/TestGroupNoK8sNP/", tables(policycases.NoPolicy()))
	add("TestAntreaPolicy/TestGroupNoK8sNP/", slices.Collect(maps.Keys(noPolicy)))
	add("TestAntreaPolicy/TestGroupAuditLogging/", slices.Collect(maps.Keys(auditLogging)))
	add("TestAntreaPolicyExtendedNamespaces/TestGroupNoK8sNP/", tables(policycases.Extended))
	add("TestGroup/", refusals(policycases.GroupRefusals))
	add("TestClusterGroup/", refusals(policycases.ClusterGroupRefusals))
	for _, part := range nodeParts {
		add("TestAntreaNodeNetworkPolicy/", tables(part.cases))
		add("TestAntreaNodeNetworkPolicy/", slices.Collect(maps.Keys(part.more)))
	}
	return slices.AppendSeq(names, maps.Keys(singles))
}

// TestUpstreamCases: each of upstream's cases is here, under its name, and nothing else. It needs no cluster.
func TestUpstreamCases(t *testing.T) {
	upstream, err := policycases.Upstream()
	require.NoError(t, err)
	var want []string
	byNeeds := map[string]int{}
	for _, c := range upstream {
		want = append(want, c.Name)
		byNeeds[c.Needs]++
	}
	require.Equal(t, map[string]int{"2": 114, "3": 21, "internet": 2}, byNeeds)
	require.ElementsMatch(t, want, policyTests())
}
