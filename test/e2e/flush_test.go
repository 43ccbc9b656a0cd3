// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// testFlush evicts under traffic, by Pod, by Node and all: no packet may be lost, the next ones miss for that reason, and the flow is
// learned again.
func testFlush(t *testing.T, s *suite) {
	r := s.startStream(t)
	for _, c := range []struct{ args, scope, reason string }{
		{"--pod=" + namespace + "/client", "Pod " + namespace + "/client", "stale_endpoint"},
		{"--remote-node=" + s.node2.Name, "Node " + s.node2.Name, "stale_node"},
		{"--all", "all", "stale_all"},
	} {
		r.waitFastIfGate(t)
		before := oncacheStatus(t, s.node1)
		flushed := antctl[api.Flushed](t, s.node1, "oncache", "flush", c.args)
		require.Equal(t, c.scope, flushed.Scope)
		require.GreaterOrEqual(t, flushed.Entries, 2, "both directions of the stream")
		eventually(t, "packets to miss because of "+c.reason, func() error {
			if now := oncacheStatus(t, s.node1); now.Egress.MissReasons[c.reason] == before.Egress.MissReasons[c.reason] {
				return notYet("none has since")
			}
			return nil
		})
	}
	r.waitFastIfGate(t)
	lines := strings.Split(strings.TrimSpace(succeeds(t, s.node1.Space, "sh", "-c", "antctl get oncache --watch --interval=1s | head -n 3")), "\n")
	require.Len(t, lines, 3, lines)
	require.Regexp(t, `^\d\d:\d\d:\d\d Active +\d.*/s +\d.*/s .*`+namespace+`/`, lines[len(lines)-1])
	r.end(t, 0)

	for message, args := range map[string]string{
		"the cache has no entries for it":      "--pod=" + namespace + "/nobody",
		"one of pod, node and all is needed":   "",
		"remote Node nowhere":                  "--remote-node=nowhere",
		`pod "client": must be NAMESPACE/NAME`: "--pod=client",
	} {
		exit := fails(t, s.node1.Space, append([]string{"antctl", "oncache", "flush"}, strings.Fields(args)...)...)
		require.Contains(t, exit.Stderr, message)
	}
}
