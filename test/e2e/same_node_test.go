// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testPolicyOfEither changes the policies of the sender and of the receiver on one Node: each voids both directions, which are then learned
// again.
func testPolicyOfEither(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	f := s.flow("UDP", 4703, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=200", "--progress=100ms")
	for app, pod := range map[string]*cluster.Pod{"same-node-client": s.client, "same-node-server": s.server} {
		s.label(t, pod, map[string]string{"app": app})
		s.waitFast(t, f)
		before := oncacheStatus(t, s.node1).Egress.MissReasons["stale_endpoint"]
		remove := s.applyPolicy(t, ingressTo(app, app))
		eventually(t, "packets of both directions that miss because "+app+" has changed", func() error {
			if now := oncacheStatus(t, s.node1).Egress.MissReasons["stale_endpoint"]; now < before+2 {
				return notYet(fmt.Sprintf("%d, %d before", now, before))
			}
			return nil
		})
		s.waitFast(t, f)
		remove()
		s.waitFast(t, f)
	}
	requireNoLoss(t, stop[report.Ping](t, ping))
}
