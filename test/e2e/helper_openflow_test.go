// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// ofFlow is a flow as ovs-ofctl prints it, with names of tables and ports.
type ofFlow string

// round is the round of the agent that has installed the flow: the upper 16 bits of the cookie.
func (f ofFlow) round() string {
	_, rest, _ := strings.Cut(string(f), "cookie=")
	cookie, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseUint(strings.TrimSpace(cookie), 0, 64)
	if err != nil {
		return "no cookie in " + string(f)
	}
	return strconv.FormatUint(n>>48, 10)
}

func dumpFlows(t *testing.T, n *cluster.Node) []ofFlow {
	t.Helper()
	var flows []ofFlow
	for line := range strings.Lines(succeeds(t, n.Space, "ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "--names", "br-int")) {
		if strings.Contains(line, "cookie=") {
			flows = append(flows, ofFlow(strings.TrimSpace(line)))
		}
	}
	require.NotEmpty(t, flows, "%s has no flows", n.Name)
	return flows
}
