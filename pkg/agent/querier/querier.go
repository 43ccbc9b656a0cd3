// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package querier answers what the agent's API asks about the agent as a whole.
package querier

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/version"
)

// OpenFlow is the part of the agent's OpenFlow client that describes the bridge.
type OpenFlow interface {
	// ConnectionError is nil while the switch answers.
	ConnectionError() error
	GetFlowTableStatus(ctx context.Context) ([]openflow.TableStatus, error)
}

// OVSDB is the part of the agent's OVSDB client that describes Open vSwitch.
type OVSDB interface {
	Version() (string, error)
}

// Interfaces counts local Pods.
type Interfaces interface {
	GetContainerInterfaceNum() int
}

// Policies describes the data received from antrea-controller.
type Policies interface {
	// Connected reports whether all watches are open and complete.
	Connected() bool
	Counts() (policies, addressGroups, appliedToGroups int)
}

// Problems knows what the agent refuses or cannot handle at present.
type Problems interface {
	List() (problems []problem.Problem, dropped int)
}

// Agent collects the agent's own state. All fields are required, except the Pod's name and namespace, which are empty
// when the agent does not run in a Pod.
type Agent struct {
	Node       *config.NodeConfig
	Interfaces Interfaces
	OpenFlow   OpenFlow
	OVSDB      OVSDB
	Policies   Policies
	Problems   Problems

	PodName, PodNamespace string
	APIPort               int
	// NodePortLocalPortRange is shown as configured; empty when the feature is off.
	NodePortLocalPortRange string
}

// AgentInfo returns the present state. An item that cannot be read is a condition with status False and the error as
// message.
func (a *Agent) AgentInfo(ctx context.Context) apis.AgentInfo {
	info := apis.AgentInfo{
		Version:                version.GetFullVersion(),
		NodeRef:                corev1.ObjectReference{Kind: "Node", Name: a.Node.Name},
		NodeSubnets:            prefixes(a.Node.PodIPv4CIDR, a.Node.PodIPv6CIDR),
		LocalPodNum:            int32(a.Interfaces.GetContainerInterfaceNum()),
		APIPort:                a.APIPort,
		NodePortLocalPortRange: a.NodePortLocalPortRange,
		OVSInfo:                apis.OVSInfo{BridgeName: a.Node.OVSBridge},
	}
	if a.PodName != "" {
		info.PodRef = corev1.ObjectReference{Kind: "Pod", Namespace: a.PodNamespace, Name: a.PodName}
	}
	for _, transport := range []netip.Prefix{a.Node.Uplink.IPv4, a.Node.Uplink.IPv6} {
		if transport.IsValid() {
			info.NetworkInfo.TransportIPs = append(info.NetworkInfo.TransportIPs, transport.Addr().String())
		}
	}

	policies, addressGroups, appliedToGroups := a.Policies.Counts()
	info.NetworkPolicyControllerInfo = apis.NetworkPolicyControllerInfo{
		NetworkPolicyNum: int32(policies), AddressGroupNum: int32(addressGroups), AppliedToGroupNum: int32(appliedToGroups),
	}

	ovsVersion, ovsdbErr := a.OVSDB.Version()
	info.OVSInfo.Version = ovsVersion
	openflowErr := a.flowCounts(ctx, &info.OVSInfo)

	now := metav1.NewTime(time.Now())
	condition := func(kind apis.AgentConditionType, err error) {
		c := apis.AgentCondition{Type: kind, Status: corev1.ConditionTrue, LastHeartbeatTime: now}
		if err != nil {
			c.Status, c.Message = corev1.ConditionFalse, err.Error()
		}
		info.AgentConditions = append(info.AgentConditions, c)
	}
	// An agent that answers is healthy.
	condition(apis.AgentHealthy, nil)
	condition(apis.ControllerConnectionUp, a.controllerError())
	condition(apis.OVSDBConnectionUp, ovsdbErr)
	condition(apis.OpenflowConnectionUp, openflowErr)
	info.AgentConditions = append(info.AgentConditions, a.degraded(now))
	return info
}

func (a *Agent) controllerError() error {
	if a.Policies.Connected() {
		return nil
	}
	return errors.New("no complete watch of antrea-controller")
}

// shownProblems bounds the message of the condition; antctl get problems shows all.
const shownProblems = 3

func (a *Agent) degraded(now metav1.Time) apis.AgentCondition {
	c := apis.AgentCondition{Type: apis.Degraded, Status: corev1.ConditionFalse, LastHeartbeatTime: now}
	problems, dropped := a.Problems.List()
	if len(problems) == 0 {
		return c
	}
	c.Status, c.Reason = corev1.ConditionTrue, string(problems[0].Reason)
	var shown []string
	for _, p := range problems[:min(len(problems), shownProblems)] {
		shown = append(shown, fmt.Sprintf("%s (%s): %s", p.Subject, p.Reason, p.Message))
	}
	c.Message = strings.Join(shown, "; ")
	if more := len(problems) - len(shown) + dropped; more > 0 {
		c.Message += fmt.Sprintf("; and %d more (antctl get problems)", more)
	}
	return c
}

func (a *Agent) flowCounts(ctx context.Context, info *apis.OVSInfo) error {
	if err := a.OpenFlow.ConnectionError(); err != nil {
		return err
	}
	tables, err := a.OpenFlow.GetFlowTableStatus(ctx)
	if err != nil {
		return err
	}
	info.FlowTable = make(map[string]int32, len(tables))
	for _, table := range tables {
		info.FlowTable[table.Name] = int32(table.FlowCount)
	}
	return nil
}

func prefixes(all ...netip.Prefix) []string {
	var valid []string
	for _, p := range all {
		if p.IsValid() {
			valid = append(valid, p.String())
		}
	}
	return valid
}
