// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// followed are the groups of Services that an agent's policies know.
type followed struct {
	groups  map[string][]uint32
	inForce bool
}

func (f *followed) follow(service string, groups []uint32) bool {
	f.groups[service] = groups
	return f.inForce
}

// restartWithGroups starts an agent on the bridge beside the former one, which has stored the groups of Services in the file.
func (w *wire) restartWithGroups(file string) *followed {
	w.T.Helper()
	former := uint16(oftest.TestRound)
	w.C = openflow.NewClient(of.NewSwitch(w.MgmtSocket(oftest.BridgeName)), oftest.NoTableNames, oftest.ProxyAllFeatures)
	w.T.Cleanup(func() { require.NoError(w.T, w.C.Disconnect()) })
	_, err := w.C.Initialize(w.T.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &former}, oftest.DualStackNode, oftest.TestNetwork)
	require.NoError(w.T, err)
	require.NoError(w.T, w.C.KeepGroups(file))
	f := &followed{groups: map[string][]uint32{}}
	w.C.FollowGroups(f.follow)
	return f
}

// A rule that drops connections to a Service drops each one while the agent restarts, whether it learns of its Services or of its policies
// first, and also connections to a Service that comes later.
func TestWireRuleToServicesAfterRestart(t *testing.T) {
	for name, policiesFirst := range map[string]bool{"Services first": false, "policies first": true} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, false)
			file := filepath.Join(t.TempDir(), "groups")
			require.NoError(t, w.C.KeepGroups(file))
			w.install(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.Named("default/other:80/TCP"), oftest.At(openflow.Frontend{Address: netip.MustParseAddrPort("10.96.0.99:80")})))
			w.install(oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.Named("default/web:80/TCP")))
			denies := func(groups []uint32) []*policy.Rule {
				rule := oftest.Egress(2, oftest.PolicyPodB, nil)
				rule.PeerServices = groups
				return []*policy.Rule{orderedRule(rule, policy.Drop, 5, 0)}
			}
			require.NoError(t, w.C.UpdatePolicyRules(denies(w.C.GroupsOf(of.IPProtoTCP, oftest.ClusterIP)), nil))
			client := 5000
			dropped := func() {
				t.Helper()
				client++
				w.swallow(oftest.PodBPort, segment{withPort(oftest.PodBIP, client), oftest.ClusterIP.String(), "S"})
			}
			dropped()

			f := w.restartWithGroups(file)
			dropped()
			installServices := func() {
				require.NoError(t, w.C.InstallService(oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint, oftest.HostEndpoint), oftest.Named("default/web:80/TCP"))))
				dropped()
			}
			installPolicies := func() {
				require.NoError(t, w.C.UpdatePolicyRules(denies(f.groups["default/web"]), nil))
				dropped()
			}
			if policiesFirst {
				installPolicies()
				installServices()
			} else {
				installServices()
				installPolicies()
			}
			w.connect()
			require.NoError(t, w.C.DeleteStaleFlows())
			dropped()
			require.Empty(t, f.groups["default/other"], "the Service is gone")

			late := oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.Named("default/web:81/TCP"), oftest.At(openflow.Frontend{Address: netip.MustParseAddrPort("10.96.0.10:81")}))
			require.ErrorIs(t, w.C.InstallService(late), openflow.ErrPoliciesBehind)
			require.NoError(t, w.C.UpdatePolicyRules(denies(f.groups["default/web"]), nil))
			f.inForce = true
			w.install(late)
			w.swallow(oftest.PodBPort, segment{"10.10.0.12:4000", "10.96.0.10:81", "S"})
		})
	}
}
