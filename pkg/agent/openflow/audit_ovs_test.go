// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/auditlog"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The line of each action of a rule with a name and a label, with the priority of the flow that decides.
func TestWireAuditLogOfTiers(t *testing.T) { eachDatapath(t, testAuditLogOfTiers) }

func testAuditLogOfTiers(t *testing.T, w *wire) {
	directory := startLog(t, w)
	rule := func(id uint32, stage policy.Stage, action policy.Action, port uint16) *policy.Rule {
		r := oftest.Egress(id, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(port))
		r.Effect = policy.Effect{Order: policy.Order{Stage: stage, Tier: 250, Policy: 5, Rule: int32(id)}, Action: action}
		r.Name, r.LogReference, r.LogLabel = fmt.Sprint("rule-", id), "AntreaNetworkPolicy:ns/a", "label"
		return r
	}
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{
		rule(21, policy.StageTiers, policy.Allow, 81), rule(22, policy.StageTiers, policy.Drop, 82), rule(23, policy.StageTiers, policy.Reject, 83),
		rule(24, policy.StageTiers, policy.Pass, 84), rule(25, policy.StageBaseline, policy.Drop, 84),
	}, nil))
	w.settle()
	logged := func() (lines []string) {
		content, err := os.ReadFile(filepath.Join(directory, auditlog.FileName))
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(content)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	for port, want := range map[int][]string{
		81: {"AntreaPolicyEgressRule AntreaNetworkPolicy:ns/a rule-21 Egress Allow"}, 82: {"AntreaPolicyEgressRule AntreaNetworkPolicy:ns/a rule-22 Egress Drop"},
		83: {"AntreaPolicyEgressRule AntreaNetworkPolicy:ns/a rule-23 Egress Reject"},
		84: {"AntreaPolicyEgressRule AntreaNetworkPolicy:ns/a rule-24 Egress Pass", "EgressDefaultRule AntreaNetworkPolicy:ns/a rule-25 Egress Drop"},
	} {
		syn := segment{"10.10.0.11:5000", fmt.Sprintf("10.10.1.20:%d", port), "S"}
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			w.send(oftest.PodAPort, syn) // again: the log may not listen yet
			for _, text := range want {
				var found string
				for _, line := range logged() {
					if strings.Contains(line, text+" ") {
						found = line
					}
				}
				fields := strings.Fields(found)
				if !assert.GreaterOrEqual(c, len(fields), 16, text) {
					return
				}
				assert.Equal(c, fmt.Sprintf("ns/pod-a 10.10.0.11 5000 10.10.1.20 %d TCP 40 label", port), strings.Join(fields[8:16], " "))
				table := tableID(w.C, fields[2])
				assert.Regexp(c, fmt.Sprintf(`table=%d, .*priority=%s,conj_id=%s`, table, fields[7], idOf(fields[4])),
					w.Ofctl("dump-flows", oftest.BridgeName))
			}
		}, 20*time.Second, 200*time.Millisecond)
	}
	for _, line := range logged() {
		if strings.Contains(line, " Allow ") {
			require.NotContains(t, line, "packets in", "each packet that a rule allows has a line")
		}
	}
}

// idOf returns the flow id of the rule with the name.
func idOf(name string) string { return strings.TrimPrefix(name, "rule-") }

// startLog starts the audit log, in a directory that it returns.
func startLog(t *testing.T, w *wire) string {
	t.Helper()
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	directory := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- auditlog.NewLogger(sw, w.C, podsOfWire(), directory, auditlog.Rotation{MaxSize: 100}).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, sw.Close())
	})
	return directory
}
