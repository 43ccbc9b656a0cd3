// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

type fakeOpenFlow struct {
	connected bool
	err       error
}

func (f fakeOpenFlow) ConnectionError() error {
	if f.connected {
		return nil
	}
	return errors.New("ovs-vswitchd has not answered an echo for 12s")
}

func (f fakeOpenFlow) GetFlowTableStatus(context.Context) ([]openflow.TableStatus, error) {
	return []openflow.TableStatus{{ID: 0, Name: "PipelineRootClassifier", FlowCount: 3}, {ID: 1, Name: "ARPSpoofGuard"}}, f.err
}

type fakeOVSDB struct{ err error }

func (f fakeOVSDB) Version() (string, error) { return "3.1.0", f.err }

type fakeInterfaces int

func (f fakeInterfaces) GetContainerInterfaceNum() int { return int(f) }

type fakePolicies struct{ disconnected bool }

func (f fakePolicies) Connected() bool { return !f.disconnected }

func (fakePolicies) Counts() (policies, addressGroups, appliedToGroups int) { return 3, 2, 1 }

type fakeProblems []problem.Problem

func (f fakeProblems) List() (problems []problem.Problem, dropped int) { return f, 0 }

func testAgent() *Agent {
	return &Agent{
		Node: &config.NodeConfig{
			Name: "n1", OVSBridge: "br-int", PodIPv4CIDR: netip.MustParsePrefix("10.10.0.0/24"),
			Uplink: config.Uplink{IPv4: netip.MustParsePrefix("192.168.0.1/24"), IPv6: netip.MustParsePrefix("fd00::1/64")},
		},
		Interfaces: fakeInterfaces(2), OpenFlow: fakeOpenFlow{connected: true}, OVSDB: fakeOVSDB{}, Policies: fakePolicies{}, Problems: fakeProblems{}, APIPort: 10350,
		PodName: "antrea-agent-x", PodNamespace: "kube-system",
	}
}

func TestAgentInfo(t *testing.T) {
	info := testAgent().AgentInfo(t.Context())
	require.NotEmpty(t, info.Version)
	require.Equal(t, corev1.ObjectReference{Kind: "Pod", Namespace: "kube-system", Name: "antrea-agent-x"}, info.PodRef)
	require.Equal(t, corev1.ObjectReference{Kind: "Node", Name: "n1"}, info.NodeRef)
	require.Equal(t, []string{"10.10.0.0/24"}, info.NodeSubnets)
	require.Equal(t, apis.OVSInfo{Version: "3.1.0", BridgeName: "br-int", FlowTable: map[string]int32{"PipelineRootClassifier": 3, "ARPSpoofGuard": 0}}, info.OVSInfo)
	require.EqualValues(t, 2, info.LocalPodNum)
	require.Equal(t, apis.NetworkPolicyControllerInfo{NetworkPolicyNum: 3, AddressGroupNum: 2, AppliedToGroupNum: 1}, info.NetworkPolicyControllerInfo)
	require.Equal(t, []string{"192.168.0.1", "fd00::1"}, info.NetworkInfo.TransportIPs)
}

func TestConditions(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for _, tc := range []struct {
		name   string
		change func(*Agent)
		// differ are the conditions that are not as in "all well".
		differ map[apis.AgentConditionType]corev1.ConditionStatus
		says   string
	}{
		{"all well", func(*Agent) {}, nil, ""},
		{"no controller", func(a *Agent) { a.Policies = fakePolicies{disconnected: true} },
			map[apis.AgentConditionType]corev1.ConditionStatus{apis.ControllerConnectionUp: no}, "no complete watch"},
		{"no OVSDB", func(a *Agent) { a.OVSDB = fakeOVSDB{errors.New("database gone")} },
			map[apis.AgentConditionType]corev1.ConditionStatus{apis.OVSDBConnectionUp: no}, "database gone"},
		{"no OpenFlow connection", func(a *Agent) { a.OpenFlow = fakeOpenFlow{} },
			map[apis.AgentConditionType]corev1.ConditionStatus{apis.OpenflowConnectionUp: no}, "has not answered an echo for 12s"},
		{"flow counts fail", func(a *Agent) { a.OpenFlow = fakeOpenFlow{true, errors.New("timed out")} },
			map[apis.AgentConditionType]corev1.ConditionStatus{apis.OpenflowConnectionUp: no}, "timed out"},
		{"problems", func(a *Agent) {
			p := problem.Problem{Reason: "R", Subject: problem.Subject{Kind: "Node", Name: "n7"}, Message: "overlaps"}
			a.Problems = fakeProblems{p, p, p, p, p}
		}, map[apis.AgentConditionType]corev1.ConditionStatus{apis.Degraded: yes},
			"Node n7 (R): overlaps; Node n7 (R): overlaps; Node n7 (R): overlaps; and 2 more (antctl get problems)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := testAgent()
			tc.change(a)
			want := map[apis.AgentConditionType]corev1.ConditionStatus{
				apis.AgentHealthy: yes, apis.ControllerConnectionUp: yes, apis.OVSDBConnectionUp: yes, apis.OpenflowConnectionUp: yes, apis.Degraded: no,
			}
			maps.Copy(want, tc.differ)
			got := map[apis.AgentConditionType]corev1.ConditionStatus{}
			var messages string
			for _, condition := range a.AgentInfo(t.Context()).AgentConditions {
				got[condition.Type] = condition.Status
				messages += condition.Message
				require.False(t, condition.LastHeartbeatTime.IsZero())
			}
			require.Equal(t, want, got)
			require.Contains(t, messages, tc.says)
		})
	}
}
