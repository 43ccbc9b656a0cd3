// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis defines the JSON bodies of the agent's HTTPS API. Field names are Antrea's. Clients also use it, so like
// pkg/agent/oncache/api it needs nothing of the agent.
package apis

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// AgentInfo is the body of /agentinfo: one object.
type AgentInfo struct {
	Version string `json:"version,omitempty"`
	// PodRef is the agent's own Pod, NodeRef the Node it serves.
	PodRef  corev1.ObjectReference `json:"podRef"`
	NodeRef corev1.ObjectReference `json:"nodeRef"`
	// NodeSubnets are the Node's Pod CIDRs.
	NodeSubnets                 []string                    `json:"nodeSubnets,omitempty"`
	OVSInfo                     OVSInfo                     `json:"ovsInfo"`
	NetworkPolicyControllerInfo NetworkPolicyControllerInfo `json:"networkPolicyControllerInfo"`
	LocalPodNum                 int32                       `json:"localPodNum"`
	AgentConditions             []AgentCondition            `json:"agentConditions,omitempty"`
	APIPort                     int                         `json:"apiPort,omitempty"`
	NodePortLocalPortRange      string                      `json:"nodePortLocalPortRange,omitempty"`
	NetworkInfo                 NetworkInfo                 `json:"networkInfo"`
}

// Types that the object AntreaAgentInfo also contains.
type (
	OVSInfo                     = v1beta1.OVSInfo
	NetworkPolicyControllerInfo = v1beta1.NetworkPolicyControllerInfo
	AgentCondition              = v1beta1.AgentCondition
	AgentConditionType          = v1beta1.AgentConditionType
)

// The types of conditions.
const (
	AgentHealthy           = v1beta1.AgentHealthy
	ControllerConnectionUp = v1beta1.ControllerConnectionUp
	OVSDBConnectionUp      = v1beta1.OVSDBConnectionUp
	OpenflowConnectionUp   = v1beta1.OpenflowConnectionUp
	Degraded               = v1beta1.Degraded
)

// NetworkInfo holds the addresses that peers send tunnel packets to.
type NetworkInfo struct {
	TransportIPs []string `json:"transportIPs,omitempty"`
}

// PodInterface is one element of the body of /podinterfaces.
type PodInterface struct {
	// PodName is the Pod's name.
	PodName       string   `json:"name,omitempty"`
	PodNamespace  string   `json:"podNamespace,omitempty"`
	InterfaceName string   `json:"interfaceName,omitempty"`
	IPs           []string `json:"ips,omitempty"`
	MAC           string   `json:"mac,omitempty"`
	PortUUID      string   `json:"portUUID,omitempty"`
	OFPort        uint32   `json:"ofPort,omitempty"`
	ContainerID   string   `json:"containerID,omitempty"`
}

// FQDNCacheEntry is one element of the body of /fqdncache: an address of a name in policies.
type FQDNCacheEntry struct {
	FQDNName       string    `json:"fqdnName,omitempty"`
	IPAddress      string    `json:"ipAddress,omitempty"`
	ExpirationTime time.Time `json:"expirationTime"`
}

// Member is one element of the body of /memberlist: a Node, and whether its agent takes part in the cluster's gossip.
type Member struct {
	NodeName string `json:"nodeName,omitempty"`
	IP       string `json:"ip,omitempty"`
	// Status is Alive or Dead.
	Status string `json:"status,omitempty"`
}

// ServiceExternalIP is one element of the body of /serviceexternalip: a Service with an ExternalIPPool, its address, and the Node that answers for it.
type ServiceExternalIP struct {
	ServiceName    string `json:"serviceName,omitempty"`
	Namespace      string `json:"namespace,omitempty"`
	ExternalIPPool string `json:"externalIPPool,omitempty"`
	ExternalIP     string `json:"externalIP,omitempty"`
	AssignedNode   string `json:"assignedNode,omitempty"`
}

// States of an Egress, as a Node sees it.
const (
	EgressAssigned  = "Assigned"
	EgressNoAddress = "NoAddress"
	EgressNoNode    = "NoNode"
	// EgressRefused is the state of an Egress whose packets the Node drops.
	EgressRefused = "Refused"
)

// Egress is one element of the body of /egresses: an Egress as this Node sees it.
type Egress struct {
	Name           string `json:"name"`
	EgressIP       string `json:"egressIP,omitempty"`
	ExternalIPPool string `json:"externalIPPool,omitempty"`
	EgressNode     string `json:"egressNode,omitempty"`
	// Pods of this Node have the address, as NAMESPACE/NAME.
	Pods   []string `json:"pods,omitempty"`
	State  string   `json:"state"`
	Reason string   `json:"reason,omitempty"`
}

// Problem is one element of the body of /problems: something that the agent refuses or cannot handle.
type Problem struct {
	// Reason is in CamelCase, like the reason of an Event.
	Reason string `json:"reason"`
	// Kind is the kind of a Kubernetes object, or File (the name is its path), or Peer (the name is its address).
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Since is the time at which the problem was found, Times the number of times since.
	Since   metav1.Time `json:"since"`
	Times   int         `json:"times"`
	Message string      `json:"message"`
}

// OVSFlow is one element of the body of /ovsflows: a flow as ovs-ofctl prints it, or a table name.
type OVSFlow struct {
	Flow string `json:"flow,omitempty"`
}

// LogLevel is the body of /loglevel.
type LogLevel struct {
	// Level is klog's verbosity.
	Level int `json:"level"`
}
