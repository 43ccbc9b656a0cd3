// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns is the feature that holds answers of DNS to Pods until the agent has read them. A conjunction above all rules in table
// AntreaPolicyIngressRule selects packets from port 53, of the reply direction, to the Pods that rules with names apply to. The switch
// sends them to the agent and keeps nothing: what the agent does not resume is dropped, also while there is no agent.
//
// The source port is seen after the translation of Services is undone. Packets to the host, and thereby answers to the agent's own
// questions, never match: they have no Pod's port in register 1.
//
// ONCache must not carry these packets. Resumed ones pass its mark flows with a bit that excludes them, so nothing is learned from them,
// and a Pod whose answers begin to be held is evicted in the same bundle.
package dns
