// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 defines the objects of crd.antrea.io/v1beta1: the objects with which agents and controller show their
// state in the cluster, Traceflow, and policies with their tiers and groups. Kinds and field names are Antrea's. The
// dynamic client reads and writes them (package pkg/client/crd), so they need no generated code.
package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the version of the CRDs.
var SchemeGroupVersion = schema.GroupVersion{Group: "crd.antrea.io", Version: "v1beta1"}

// Kinds of the objects, and the name of the only AntreaControllerInfo. An AntreaAgentInfo has the name of its Node.
const (
	AntreaAgentInfoKind      = "AntreaAgentInfo"
	AntreaControllerInfoKind = "AntreaControllerInfo"
	AntreaControllerInfoName = "antrea-controller"
)

// AntreaAgentInfo is the state of one agent. antrea-controller makes it with its Node and deletes it with the Node; the agent
// fills it.
type AntreaAgentInfo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Version string `json:"version,omitempty"`
	// PodRef is the agent's own Pod, NodeRef the Node it serves.
	PodRef  corev1.ObjectReference `json:"podRef,omitempty"`
	NodeRef corev1.ObjectReference `json:"nodeRef,omitempty"`
	// NodeSubnets are the Node's Pod CIDRs.
	NodeSubnets                 []string                    `json:"nodeSubnets,omitempty"`
	OVSInfo                     OVSInfo                     `json:"ovsInfo,omitempty"`
	NetworkPolicyControllerInfo NetworkPolicyControllerInfo `json:"networkPolicyControllerInfo,omitempty"`
	LocalPodNum                 int32                       `json:"localPodNum,omitempty"`
	AgentConditions             []AgentCondition            `json:"agentConditions,omitempty"`
	APIPort                     int                         `json:"apiPort,omitempty"`
	// APICABundle has the CA certificates, in PEM, that verify the agent's API under the name localhost.
	APICABundle            []byte `json:"apiCABundle,omitempty"`
	NodePortLocalPortRange string `json:"nodePortLocalPortRange,omitempty"`
}

// OVSInfo describes the bridge.
type OVSInfo struct {
	Version    string `json:"version,omitempty"`
	BridgeName string `json:"bridgeName,omitempty"`
	// FlowTable is the number of flows by table name.
	FlowTable map[string]int32 `json:"flowTable,omitempty"`
}

// NetworkPolicyControllerInfo counts policy objects: those that the agent has received, or that the controller has computed.
type NetworkPolicyControllerInfo struct {
	NetworkPolicyNum  int32 `json:"networkPolicyNum"`
	AddressGroupNum   int32 `json:"addressGroupNum"`
	AppliedToGroupNum int32 `json:"appliedToGroupNum"`
}

// AgentConditionType names one aspect of the agent's health.
type AgentConditionType string

const (
	AgentHealthy AgentConditionType = "AgentHealthy"
	// ControllerConnectionUp is true while all watches of antrea-controller are open and complete.
	ControllerConnectionUp AgentConditionType = "ControllerConnectionUp"
	OVSDBConnectionUp      AgentConditionType = "OVSDBConnectionUp"
	OpenflowConnectionUp   AgentConditionType = "OpenflowConnectionUp"
	// Degraded is true while the agent refuses or cannot handle an object, a file or a peer; the rest works. Antrea has no
	// such condition.
	Degraded AgentConditionType = "Degraded"
)

// AgentCondition is the state of one aspect of the agent's health.
type AgentCondition struct {
	Type              AgentConditionType     `json:"type"`
	Status            corev1.ConditionStatus `json:"status"`
	LastHeartbeatTime metav1.Time            `json:"lastHeartbeatTime"`
	Reason            string                 `json:"reason,omitempty"`
	Message           string                 `json:"message,omitempty"`
}

// AntreaControllerInfo is the state of the controller that serves. The same object is in the aggregated API, as
// controllerinfos.system.antrea.io/v1beta1.
type AntreaControllerInfo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Version string `json:"version,omitempty"`
	// PodRef is the controller's own Pod, NodeRef its Node, ServiceRef the Service that leads to it.
	PodRef                      corev1.ObjectReference      `json:"podRef,omitempty"`
	NodeRef                     corev1.ObjectReference      `json:"nodeRef,omitempty"`
	ServiceRef                  corev1.ObjectReference      `json:"serviceRef,omitempty"`
	NetworkPolicyControllerInfo NetworkPolicyControllerInfo `json:"networkPolicyControllerInfo,omitempty"`
	// ConnectedAgentNum is the number of Nodes whose agents watch NetworkPolicies.
	ConnectedAgentNum    int32                 `json:"connectedAgentNum,omitempty"`
	ControllerConditions []ControllerCondition `json:"controllerConditions,omitempty"`
	APIPort              int                   `json:"apiPort,omitempty"`
}

// ControllerConditionType names one aspect of the controller's health.
type ControllerConditionType string

// ControllerHealthy is true while the controller writes the object.
const ControllerHealthy ControllerConditionType = "ControllerHealthy"

// ControllerCondition is the state of one aspect of the controller's health.
type ControllerCondition struct {
	Type              ControllerConditionType `json:"type"`
	Status            corev1.ConditionStatus  `json:"status"`
	LastHeartbeatTime metav1.Time             `json:"lastHeartbeatTime"`
	Reason            string                  `json:"reason,omitempty"`
	Message           string                  `json:"message,omitempty"`
}
