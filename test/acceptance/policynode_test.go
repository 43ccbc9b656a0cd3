// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// nodeParts are the cases of TestAntreaNodeNetworkPolicy, by the mesh that they need.
var nodeParts = []struct {
	pods  []policycases.Pod
	cases []policycases.Case
	more  map[string]func(*policyBed, *testing.T)
}{
	{policycases.HostPods, policycases.NodeHosts, map[string]func(*policyBed, *testing.T){"ACNPAuditLogging": (*policyBed).testNodeLogging}},
	{policycases.NodePods, policycases.NodeGroups, nil},
}

// TestAntreaNodeNetworkPolicy needs the gate NodeNetworkPolicy.
func TestAntreaNodeNetworkPolicy(t *testing.T) {
	suite.waitForAgents(t) // The tests before may have replaced them at their end.
	on, err := suite.gateIsOn(t.Context(), "NodeNetworkPolicy")
	require.NoError(t, err)
	for _, part := range nodeParts {
		var bed *policyBed
		run := func(name string, f func(*policyBed, *testing.T)) {
			suite.test(t, "Case="+name, func(test *testing.T) {
				if !on {
					test.Skip("the gate NodeNetworkPolicy is off")
				}
				if bed == nil {
					bed = suite.policyBed(t, test, part.pods, nil)
				}
				f(bed, test)
			})
		}
		for _, c := range part.cases {
			run(c.Name, func(b *policyBed, t *testing.T) { b.run(t, c) })
		}
		for name, f := range part.more {
			run(name, f)
		}
		if bed != nil {
			for _, pod := range bed.pods {
				suite.deletePod(t, pod, 1) // the Pods of the next mesh need the same ports of the Nodes
			}
		}
	}
}

// testNodeLogging: the kernel writes a line, with the beginning of a long label.
func (b *policyBed) testNodeLogging(t *testing.T) {
	policy := policycases.Object{Kind: policycases.ACNP, Name: "acnp-node-log", Spec: `{priority: 1, appliedTo: [{nodeSelector: {matchLabels: {kubernetes.io/hostname: "${node 1}"}}}],
		egress: [{action: Drop, enableLogging: true, logLabel: test-log-label-long, to: [{nodeSelector: {matchLabels: {kubernetes.io/hostname: "${node 0}"}}}], ports: [{protocol: TCP, port: 80}]}]}`}
	b.run(t, policycases.Case{Steps: []policycases.Step{{Do: []policycases.Change{{Apply: &policy}}, Want: []string{"x/a > y/a: Dropped"}}}})
	line := regexp.MustCompile(b.expand(t, `Antrea:O:Drop:test-log-lab:.*SRC=${nodeip 1} DST=${nodeip 0} .*DPT=80 `))
	agent := b.c.agentOn(t, b.pods["x/a"].Spec.NodeName)
	eventually(t, limit(30*time.Second), func() error {
		if !line.MatchString(b.c.exec(t, agent, agentContainer, "dmesg")) {
			return fmt.Errorf("dmesg has no line %s", line)
		}
		return nil
	})
}
