// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// A rule about a Service matches each connection to it, also of a client whose Endpoint an affinity has chosen, and none to the Endpoint itself.
func TestWireRuleToServices(t *testing.T) {
	for name, affinity := range map[string]time.Duration{"without affinity": 0, "with affinity": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, false)
			w.install(oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.WithAffinity(affinity)))
			through := func(port string) segment { return segment{"10.10.0.12:" + port, "10.96.0.10:80", "S"} }
			w.pass(oftest.PodBPort, through("5000"), oftest.TunnelPort, segment{"10.10.0.12:5000", "10.10.1.20:8080", "S"})
			if affinity > 0 {
				await(t, func() bool { w.settle(); return len(w.affinities()) == 1 }, "one client with affinity")
			}
			rule := oftest.Egress(2, oftest.PolicyPodB, nil)
			rule.PeerServices = w.C.GroupsOf(of.IPProtoTCP, netip.MustParseAddrPort("10.96.0.10:80"))
			require.NotEmpty(t, rule.PeerServices)
			require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{orderedRule(rule, policy.Drop, 5, 0)}, nil))
			w.settle()
			w.swallow(oftest.PodBPort, through("5001"))
			directly := segment{"10.10.0.12:5002", "10.10.1.20:8080", "S"}
			w.pass(oftest.PodBPort, directly, oftest.TunnelPort, directly)
		})
	}
}

// A rule that is applied to a Service decides about clients of its NodePort by their own addresses, wherever the Endpoint is, and not about
// clients of other addresses of the Service. A Pod that dials a NodePort is such a client.
func TestWireRuleAppliedToNodePort(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint openflow.Endpoint
		at       uint32
		// source is the address that the Endpoint sees.
		source string
		stage  policy.Stage
	}{
		"Pod of this Node":             {oftest.LocalEndpoint, oftest.PodAPort, "198.51.100.7:5000", policy.StageTiers},
		"Pod of another one":           {oftest.ElsewhereEndpoint, oftest.TunnelPort, "10.10.0.1:5000", policy.StageTiers},
		"another host":                 {openflow.Endpoint{Address: netip.MustParseAddrPort("192.168.77.103:8080")}, oftest.GWPort, "169.254.0.253:5000", policy.StageTiers},
		"Pod of this Node, baseline":   {oftest.LocalEndpoint, oftest.PodAPort, "198.51.100.7:5000", policy.StageBaseline},
		"Pod of another one, baseline": {oftest.ElsewhereEndpoint, oftest.TunnelPort, "10.10.0.1:5000", policy.StageBaseline},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, false)
			require.NoError(t, w.C.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
			w.install(oftest.With(oftest.ClusterPort(test.endpoint), oftest.At(openflow.Frontend{Address: oftest.ClusterIP},
				openflow.Frontend{Address: netip.MustParseAddrPort("0.0.0.0:30080"), NodePort: true})))
			dialed := netip.AddrPortFrom(oftest.NodeIP, 30080)
			rule := &policy.Rule{FlowID: 2, Direction: policy.Ingress, Peers: oftest.Prefixes("192.0.2.0/24", "10.10.0.12/32")}
			rule.AppliedToServices = w.C.GroupsOf(of.IPProtoTCP, dialed)
			require.NotEmpty(t, rule.AppliedToServices)
			rule = orderedRule(rule, policy.Drop, 5, 0)
			rule.Effect.Order.Stage = test.stage
			require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{rule}, nil))
			w.settle()
			w.drop(oftest.GWPort, segment{"192.0.2.7:4000", dialed.String(), "S"})
			for _, c := range w.connectionsOf("192.0.2.7") {
				require.Contains(t, c, "mark=16,", "the connection has not passed the policies")
				require.Contains(t, c, fmt.Sprintf("reply=(src=%s,dst=192.0.2.7,", test.endpoint.Address.Addr()), "its source is not translated")
			}
			from := test.at
			w.drop(from, segment{test.endpoint.Address.String(), "192.0.2.7:4000", "SA"})
			w.pass(oftest.GWPort, segment{"198.51.100.7:5000", dialed.String(), "S"}, test.at, segment{test.source, test.endpoint.Address.String(), "S"})
			require.False(t, w.links[test.at].pending(), "the dropped packet has arrived")
			passed := w.connectionsOf("198.51.100.7")
			require.NotEmpty(t, passed)
			for _, c := range passed {
				require.NotContains(t, c, "mark=16,")
			}
			w.swallow(oftest.PodBPort, segment{"10.10.0.12:4000", dialed.String(), "S"})
			if test.at == oftest.PodAPort {
				w.pass(oftest.PodBPort, segment{"10.10.0.12:5000", oftest.ClusterIP.String(), "S"}, test.at, segment{"10.10.0.12:5000", test.endpoint.Address.String(), "S"})
			}
		})
	}
}

// connectionsOf returns what conntrack knows about connections of a client.
func (w *wire) connectionsOf(client string) (connections []string) {
	w.T.Helper()
	for line := range strings.Lines(w.Appctl("dpctl/dump-conntrack")) {
		if strings.Contains(line, "orig=(src="+client+",") {
			connections = append(connections, line)
		}
	}
	return connections
}
