// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"embed"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var labelFlag = flag.String("labels", "", "labels of the cases to run, or with ! to leave out, separated by commas: for example '!disruptive', or 'oncache,!disruptive'")

// sourceFiles are in the program, which runs without its sources in acceptance.sh.
//
//go:embed *_test.go
var sourceFiles embed.FS

// labels name tests, with all their cases, and single cases.
var labels = map[string][]string{
	// They restart or stop agents, the controller or Open vSwitch, or change the configuration.
	"disruptive": {
		"TestBasic/testAntreaGracefulExit", "TestBasic/testIPAMRestart", "TestBasic/testDeletePreviousRoundFlowsOnStartup",
		"TestBasic/testLogRotate", "TestBasic/testConfigForwardCompatibility",
		"TestConnectivity/testPodConnectivityAfterAntreaRestart", "TestConnectivity/testOVSFlowReplay", "TestConnectivity/testOVSRestartSameNode",
		"TestNetworkPolicy/testNetworkPolicyResyncAfterRestart", "TestNetworkPolicy/testNetworkPolicyAfterAgentRestart",
		"TestONCache/throughput during agent restarts", "TestONCache/request and response during agent restarts",
		"TestAntctl/antctl check performance", "TestZeroTrust", "TestFQDNCacheMinTTL",
		"TestAntreaApiserverTLSConfig", "TestLifecycle", "TestNodePortLocal", "TestReconcileGatewayRoutesOnStartup", "TestSecurity",
		"TestEgress/testEgressNodeFailure/IPv4 cluster", "TestServiceExternalIP/testServiceNodeFailure/IPv4 cluster",
	},
	// They are about the fast path, and say less with the gate off.
	"oncache": {"TestONCache"},
}

// disrupts fails a case that restarts or reconfigures something and has not the label for that.
func disrupts(t *testing.T) {
	t.Helper()
	if !slices.ContainsFunc(labels["disruptive"], func(labelled string) bool {
		pattern := strings.ReplaceAll(labelled, " ", "_")
		return t.Name() == pattern || strings.HasPrefix(t.Name(), pattern+"/")
	}) {
		t.Fatalf("%s needs the label disruptive (labels_test.go)", t.Name())
	}
}

// selection returns the values of -test.run and -test.skip that select cases by labels.
func selection(wanted string) (run, skip string, err error) {
	var runs, skips []string
	for label := range strings.SplitSeq(wanted, ",") {
		name, left := strings.CutPrefix(strings.TrimSpace(label), "!")
		cases, found := labels[name]
		if !found {
			return "", "", fmt.Errorf("-labels: %q is not a label; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(labels)), ", "))
		}
		for _, c := range cases {
			var parts []string
			for part := range strings.SplitSeq(strings.ReplaceAll(c, " ", "_"), "/") {
				parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
			}
			if pattern := strings.Join(parts, "/"); left {
				skips = append(skips, pattern)
			} else {
				runs = append(runs, pattern)
			}
		}
	}
	return strings.Join(runs, "|"), strings.Join(skips, "|"), nil
}

// selectCases applies -labels. Other flags of the same meaning would be lost.
func selectCases() error {
	if *labelFlag == "" {
		return nil
	}
	run, skip, err := selection(*labelFlag)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"test.run": run, "test.skip": skip} {
		if value == "" {
			continue
		}
		if other := flag.Lookup(name).Value.String(); other != "" {
			return fmt.Errorf("-labels %s and -%s %s cannot be combined: leave one out", *labelFlag, name, other)
		}
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// TestLabels needs no cluster: what is labelled exists, and is selected.
func TestLabels(t *testing.T) {
	var sources strings.Builder
	files, err := sourceFiles.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if file.Name() != "labels_test.go" {
			text, err := sourceFiles.ReadFile(file.Name())
			require.NoError(t, err)
			sources.Write(text)
		}
	}
	for _, cases := range labels {
		for _, c := range cases {
			test, name, _ := strings.Cut(c, "/")
			require.Contains(t, sources.String(), "func "+test+"(")
			require.Contains(t, sources.String(), `"`+name+`"`)
		}
	}
	run, skip, err := selection("oncache, !disruptive")
	require.NoError(t, err)
	require.Equal(t, "^TestONCache$", run)
	require.Contains(t, skip, "|^TestONCache$/^throughput_during_agent_restarts$|")
	run, skip, err = selection("!oncache")
	require.NoError(t, err)
	require.Equal(t, []string{"", "^TestONCache$"}, []string{run, skip})
	_, _, err = selection("slow")
	require.EqualError(t, err, `-labels: "slow" is not a label; there are: disruptive, oncache`)
}
