// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/antctl/check"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testRewritten guards the suite: most other areas would pass with encapsulated packets as well. Both directions of a flow get keys, and the
// Nodes rewrite what they send and restore what arrives.
func testRewritten(t *testing.T, s *suite) {
	before := s.cacheCounts(t)
	r := s.startStream(t)
	r.waitFastIfGate(t)
	s.waitRewritten(t, before, 100)
	r.end(t, 0)
}

// waitRewritten waits until each Node has rewritten, and restored, this many packets more than before.
func (s *suite) waitRewritten(t *testing.T, before map[*cluster.Node]api.Status, enough uint64) {
	t.Helper()
	for _, n := range s.Nodes {
		eventually(t, "packets to be rewritten and restored", func() error {
			now := oncacheStatus(t, n)
			sent, received := now.Egress.RewrittenHits-before[n].Egress.RewrittenHits, now.Ingress.RewrittenHits-before[n].Ingress.RewrittenHits
			if sent < enough || received < enough {
				return notYet(fmt.Sprintf("%s has rewritten %d packets and restored %d", n.Name, sent, received))
			}
			require.NotZero(t, now.Keys)
			return nil
		})
	}
}

// waitKeys waits until keys are given: not until 20 s after new maps were made, which is later than an area begins that is the first one.
func (s *suite) waitKeys(t *testing.T) {
	t.Helper()
	before := s.cacheCounts(t)
	f := s.flow("UDP", 4604, udpEchoPort)
	echo := startEcho(t, s.server.Space, s.server.IP)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=200")
	s.waitRewritten(t, before, 1)
	requireNoLoss(t, stop[report.Ping](t, ping))
	stop[report.Echo](t, echo)
}

// requireNoUnknownKeys checks that no Node has dropped a rewritten packet since its maps were made.
func (s *suite) requireNoUnknownKeys(t *testing.T) {
	t.Helper()
	for _, n := range s.Nodes {
		require.Zero(t, oncacheStatus(t, n).Ingress.UnknownKeys, "packets with keys that %s has not given", n.Name)
	}
}

// testRewriteBlocked drops rewritten packets of one protocol in the network between the Nodes, as a stateful firewall does. The check of
// `antctl check installation` must notice that, and nothing without it.
func testRewriteBlocked(t *testing.T, s *suite) {
	r := s.startStream(t)
	r.waitFastIfGate(t)
	ask := func(protocol string, patience time.Duration) string {
		var out bytes.Buffer
		i := &check.Installation{Agents: cacheAgents{t, s}, Report: &check.Report{Out: &out}, Limits: testpods.Limits{Interval: 2 * time.Second, Patience: patience}}
		i.Rewritten(t.Context(), [2]string{s.node1.Name, s.node2.Name}, protocol, "585", s.client.IP.String())
		return out.String()
	}
	good := func() {
		for _, protocol := range []string{"TCP", "UDP"} {
			require.Regexp(t, "^ok .* arrive at port 585 in both directions\n$", ask(protocol, time.Minute))
		}
	}
	good()
	atFabric := func(args string) {
		_, err := s.Fabric.Exec(t.Context(), strings.Fields(args)...)
		require.NoError(t, err)
	}
	port := s.node1.Name // of the switch
	atFabric("tc qdisc add dev " + port + " clsact")
	t.Cleanup(func() { // after a failure
		_, _ = s.Fabric.Exec(context.Background(), "tc", "qdisc", "del", "dev", port, "clsact")
	})
	for _, protocol := range []string{"TCP", "UDP"} {
		atFabric("tc filter add dev " + port + " ingress protocol ip pref 1 flower ip_proto " + strings.ToLower(protocol) + " dst_port 585 action drop")
		require.Contains(t, ask(protocol, 15*time.Second), "let "+protocol+" pass between all Nodes to port 585")
		atFabric("tc filter del dev " + port + " ingress pref 1")
	}
	atFabric("tc qdisc del dev " + port + " clsact")
	good()
	r.end(t, math.MaxInt32)
}

// cacheAgents are the agents of a suite, asked about the flows of a Pod.
type cacheAgents struct {
	t *testing.T
	s *suite
}

// Get implements check.Agents.
func (a cacheAgents) Get(_ context.Context, node, _ string, query url.Values, answer any) error {
	n := a.s.node1
	if node == a.s.node2.Name {
		n = a.s.node2
	}
	flows, err := entriesOfPod(a.t, n, netip.MustParseAddr(query.Get("ip")))
	if err != nil {
		return err
	}
	text, err := json.Marshal(flows)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	return err
}
