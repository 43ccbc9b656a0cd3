// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// testUnavailable starts the agent where the fast path is impossible: the agent must run on Open vSwitch alone and log the
// reason.
func testUnavailable(t *testing.T, s *suite) {
	for _, c := range []struct {
		name, reason string
		prepare      func(*testing.T) (undo func())
	}{
		{"TunnelWithChecksums", "tunnelCsum", func(t *testing.T) func() {
			set := func(on bool) {
				require.NoError(t, s.node1.WriteAgentConfig(func(conf map[string]any) { conf["tunnelCsum"] = on }))
			}
			set(true)
			return func() { set(false) }
		}},
		{"NoFileSystemForPins", "bpf filesystem", func(t *testing.T) func() {
			succeeds(t, s.node1.Space, "mount", "-t", "tmpfs", "tmpfs", "/sys/fs/bpf")
			return func() {
				ctx, cancel := context.WithTimeout(context.Background(), execTimeout)
				defer cancel()
				_, err := s.node1.Exec(ctx, "umount", "/sys/fs/bpf")
				require.NoError(t, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, s.node1.StopAgent())
			undo := once(c.prepare(t))
			defer undo()
			log := followLog(t, s.node1)
			s.startAgent(t, s.node1)
			log.waitFor(t, "ONCache is not available on this Node", c.reason)
			status := oncacheStatus(t, s.node1)
			require.Equal(t, api.StateUnavailable, status.State)
			require.Contains(t, status.Reason, c.reason)
			require.Contains(t, metrics(t, s.node1), "antrea_agent_oncache_unavailable_info{reason=")
			require.Contains(t, metrics(t, s.node1), "antrea_agent_oncache_active 0")
			require.Contains(t, metrics(t, s.node1), `antrea_agent_problem_count{reason="ONCacheUnavailable"} 1`)
			s.requireEvent(t, "ONCacheUnavailable", c.reason)
			require.Empty(t, askAgent[[]api.FlowInfo](t, s.node1, "/oncache?view=flows"))
			s.requireConnectivity(t, s.client.Space, s.server.Space, s.server.IP)
			s.requireConnectivity(t, s.server.Space, s.client.Space, s.client.IP)

			require.NoError(t, s.node1.StopAgent())
			undo()
			s.startAgent(t, s.node1)
			eventually(t, "the cache to be in use again", func() error {
				if status := oncacheStatus(t, s.node1); status.State != api.StateActive {
					return notYet(status.State + ": " + status.Reason)
				}
				return nil
			})
			require.Contains(t, metrics(t, s.node1), "antrea_agent_oncache_active 1")
			r := s.startStream(t)
			r.waitFastIfGate(t)
			r.end(t, 0)
		})
	}
}

// requireEvent waits for an Event about the first Node.
func (s *suite) requireEvent(t *testing.T, reason, message string) {
	t.Helper()
	eventually(t, "an Event with reason "+reason, func() error {
		list, err := s.Client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == "Node" && e.InvolvedObject.Name == s.node1.Name && strings.Contains(e.Message, message) {
				return nil
			}
		}
		return notYet(fmt.Sprintf("there are %d others", len(list.Items)))
	})
}

func (s *suite) startAgent(t *testing.T, n *cluster.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
	defer cancel()
	require.NoError(t, n.StartAgent())
	require.NoError(t, n.WaitAgentReady(ctx))
}

// metrics reads the agent's /metrics with the loopback token.
func metrics(t *testing.T, n *cluster.Node) string {
	t.Helper()
	body, err := n.AskAgent(t.Context(), "/metrics")
	require.NoError(t, err)
	return string(body)
}
