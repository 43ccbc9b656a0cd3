// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// testRuleStats: each rule counts the sessions that it has allowed or dropped.
func (c *cluster) testRuleStats(t *testing.T, kind policycases.Kind, path string) {
	const sessions = 10
	b := c.policyBed(t, t, []policycases.Pod{{Namespace: "x", Name: "server", Node: 1}, {Namespace: "x", Name: "client", Node: 0}}, nil)
	o := policycases.Object{Kind: kind, Name: "stats", Spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: server}}}], ingress: [
		{action: Allow, from: [{podSelector: {matchLabels: {pod: client}}}], ports: [{protocol: UDP, port: 80}]},
		{action: Drop, from: [{podSelector: {matchLabels: {pod: client}}}], ports: [{protocol: UDP, port: 81}]}]}`}
	if kind == policycases.ANNP {
		o.Namespace, path = "x", fmt.Sprintf(path, b.namespaces["x"])
	}
	b.change(t, []policycases.Change{{Apply: &o}})
	const send = "for i in $(seq %d); do (echo test | nc -w 4 -u %s 80) & (echo test | nc -w 4 -u %s 81) & done; wait"
	server := b.pods["x/server"].Status.PodIP
	_, stderr, err := c.run(t.Context(), b.pods["x/client"], "", "/bin/bash", "-c", fmt.Sprintf(send, sessions, server, server))
	require.NoError(t, err, stderr)
	begun := time.Now()
	eventually(t, limit(90*time.Second), func() error {
		data, err := c.client.Discovery().RESTClient().Get().AbsPath("/apis/stats.antrea.io/v1alpha1/" + path).DoRaw(t.Context())
		require.NoError(t, err)
		var stats v1alpha1.AntreaNetworkPolicyStats // both kinds have the same fields
		require.NoError(t, json.Unmarshal(data, &stats), string(data))
		var sum v1alpha1.TrafficStats
		for _, r := range stats.RuleTrafficStats {
			if s := r.TrafficStats; s.Sessions != sessions || s.Packets < s.Sessions || s.Bytes < s.Sessions {
				return fmt.Errorf("rule %s has %+v, want %d sessions", r.Name, s, sessions)
			}
			sum.Sessions, sum.Packets, sum.Bytes = sum.Sessions+r.TrafficStats.Sessions, sum.Packets+r.TrafficStats.Packets, sum.Bytes+r.TrafficStats.Bytes
		}
		if len(stats.RuleTrafficStats) != 2 || stats.TrafficStats != sum {
			return fmt.Errorf("the policy has %+v, and its rules %+v", stats.TrafficStats, stats.RuleTrafficStats)
		}
		return nil
	})
	t.Logf("counted after %.1f s", time.Since(begun).Seconds())
}
