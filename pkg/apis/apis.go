// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis holds what the components and their clients must agree on to find each other: ports, the token file, and
// the names by which antrea-controller is found and verified. Their messages are defined in the packages below it, and
// in pkg/agent/apis and pkg/httpapi/apis. The names and numbers are Antrea's.
package apis

// LoopbackTokenFile is the file of the bearer token with which antctl in the same Pod may do everything.
const LoopbackTokenFile = "/var/run/antrea/apiserver/loopback-client-token"

// LogDirectory contains the log files of agent and controller as the chart configures them, OVSLogDirectory the log
// files of Open vSwitch as the agent's container sees them.
const (
	LogDirectory    = "/var/log/antrea"
	OVSLogDirectory = "/var/log/antrea/openvswitch"
)

// AgentPort and ControllerPort are the default HTTPS ports of the components (key apiPort).
const (
	AgentPort      = 10350
	ControllerPort = 10349
)

// How agents and the cluster's aggregator find antrea-controller in its Namespace, and verify its certificate.
const (
	// DefaultNamespace is the Namespace of a component that is not told its own.
	DefaultNamespace = "kube-system"
	// ControllerService is the Service that leads to the controller.
	ControllerService = "antrea"
	// ControllerCA is the ConfigMap that has the CA certificates, in PEM, under ControllerCAKey.
	ControllerCA    = "antrea-ca"
	ControllerCAKey = "ca.crt"
)

// WireGuardKey is the annotation of a Node with its public key for WireGuard, in base64.
const WireGuardKey = "node.antrea.io/wireguard-public-key"

// ControllerServerName is the name in the controller's certificate: the DNS name of ControllerService in a Namespace.
func ControllerServerName(namespace string) string {
	return ControllerService + "." + namespace + ".svc"
}
