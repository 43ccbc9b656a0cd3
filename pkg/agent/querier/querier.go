// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package querier answers what the agent's API asks about the agent as a whole.
package querier

import (
	"context"
	"errors"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/version"
)

// OpenFlow is what the agent's OpenFlow client tells about the bridge.
type OpenFlow interface {
	IsConnected() bool
	GetFlowTableStatus() ([]openflow.TableStatus, error)
}

// OVSDB is what the agent's OVSDB client tells about Open vSwitch.
type OVSDB interface {
	Version() (string, error)
}

// Interfaces counts local Pods.
type Interfaces interface {
	GetContainerInterfaceNum() int
}

// Policies counts what the agent has received from antrea-controller.
type Policies interface {
	Counts() (policies, addressGroups, appliedToGroups int)
}

// Agent collects the agent's own state. All fields are required, except the Pod's name and namespace, which are empty
// when the agent does not run in a Pod.
type Agent struct {
	Node       *config.NodeConfig
	Interfaces Interfaces
	OpenFlow   OpenFlow
	OVSDB      OVSDB
	Policies   Policies

	PodName, PodNamespace string
	APIPort               int
	// NodePortLocalPortRange is shown as configured; empty when the feature is off.
	NodePortLocalPortRange string
}

// AgentInfo returns the present state. What cannot be read shows as a condition with status False and its error as the
// message.
func (a *Agent) AgentInfo(context.Context) apis.AgentInfo {
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
	openflowErr := a.flowCounts(&info.OVSInfo)

	now := metav1.NewTime(time.Now())
	condition := func(kind apis.AgentConditionType, err error) {
		c := apis.AgentCondition{Type: kind, Status: corev1.ConditionTrue, LastHeartbeatTime: now}
		if err != nil {
			c.Status, c.Message = corev1.ConditionFalse, err.Error()
		}
		info.AgentConditions = append(info.AgentConditions, c)
	}
	// That the agent answers at all is what makes it healthy.
	condition(apis.AgentHealthy, nil)
	condition(apis.OVSDBConnectionUp, ovsdbErr)
	condition(apis.OpenflowConnectionUp, openflowErr)
	return info
}

var errNotConnected = errors.New("no OpenFlow connection to the bridge")

func (a *Agent) flowCounts(info *apis.OVSInfo) error {
	if !a.OpenFlow.IsConnected() {
		return errNotConnected
	}
	tables, err := a.OpenFlow.GetFlowTableStatus()
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
