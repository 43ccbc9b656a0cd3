// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis defines the JSON bodies that the HTTPS APIs of agent and controller share. Field names are Antrea's.
package apis

import "k8s.io/apimachinery/pkg/types"

// FeatureGate is one element of the body of /featuregates.
type FeatureGate struct {
	// Component is "agent" or "controller".
	Component string `json:"component,omitempty"`
	Name      string `json:"name,omitempty"`
	// Status is Enabled or Disabled.
	Status string `json:"status,omitempty"`
	// Version is the stage: ALPHA, BETA, GA or DEPRECATED.
	Version string `json:"version,omitempty"`
}

// EndpointAnswer is the body of the controller's /endpoint: the policies and rules that concern a Pod.
type EndpointAnswer struct {
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// Endpoint is a Pod with the policies that are applied to it, and the rules of any policy that name it as a peer: ingress rules
// with it as a source, egress rules with it as a destination.
type Endpoint struct {
	Namespace       string         `json:"namespace,omitempty"`
	Name            string         `json:"name,omitempty"`
	Policies        []PolicyRef    `json:"policies,omitempty"`
	IngressSrcRules []EndpointRule `json:"ingresssrcrules,omitempty"`
	EgressDstRules  []EndpointRule `json:"egressdstrules,omitempty"`
}

// PolicyRef names a policy as users have made it, of any kind.
type PolicyRef struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
}

// EndpointRule names a rule by its policy, its direction (In or Out) and its index among the rules of that direction.
type EndpointRule struct {
	PolicyRef PolicyRef `json:"policyref,omitempty"`
	Direction string    `json:"direction,omitempty"`
	RuleIndex int       `json:"ruleindex"`
}
