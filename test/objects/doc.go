// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects compares clusters that meet bad objects, requests and files with clusters that never do: what is bad must be refused
// where it is, and everything else must go on.
//
// A cluster is in this process: antrea-controller with its storage, and on two Nodes the agents' controllers for policies and Nodes and
// their CNI server, put together in the order of cmd/antrea-agent. Kubernetes (kube.go), Open vSwitch (switch.go, bridge.go), the host's
// routes (routes.go) and host-local (cni.go) are fakes that check as little, or refuse as much, as the real ones; devices and network
// namespaces are real, so root is needed. Each cluster lives in a bubble of testing/synctest: its clock runs only while nothing is left to be
// done, so every look at it is at a quiet point, and no time is lost with waiting.
//
// A set (script.go, disturb.go) is a sequence of phases: the begin, changes of Pods, labels, policies and Nodes, and disturbances: an agent that
// begins again with or without controller, another controller, watches that end. It is lived twice, without its bad things and with them.
// These appear at random moments, at once disappear, come back with another UID, and are all gone at the end: badnode.go, badpod.go,
// badpolicy.go, bad.go (Namespaces), badinput.go (CNI requests and files of the agents' store, damaged between an agent's end and the
// next one's begin).
//
// After each phase compare.go compares: whether the Nodes are ready and Pods can be connected; what becomes of a packet from each Pod to each
// other one, which packet.go sends through the flows of both switches; all flows that are not about policies; routes and addresses of
// Nodes; the policies that agents know. In disturbances what is closed before and after must be closed after each bundle, too.
//
// # What bad things concern
//
// Any difference is collateral, but for these:
//
//   - A Node concerns nobody but itself. There may be flows and routes to Pod networks that it claims, unless they overlap those of a good
//     Node or contain a good Node's address: all good Nodes are older, and who is younger loses.
//   - A Pod concerns itself, and the address that it claims: for peers this has the labels of all Pods that claim it, which is what the
//     Kubernetes API says.
//   - A policy concerns the Pods that it selects, all of its Namespace's if its selector makes no sense. They may be isolated, and not be
//     connected; they may never be more open than without it: what bad policies allow, as far as they make sense, is no Pod.
//   - A damaged file concerns all Pods of its Node, as nobody knows what was in it, until antrea-controller is back: they may be isolated, and
//     new ones not be connected. The Node must get ready all the same, and nothing may be more open.
//   - A Namespace and a CNI request concern nobody else.
//
// A panic is collateral in any case. When a set has any, it is lived again with each of its bad things alone, to tell which it was; collateral
// counts these.
//
// # What it has found
//
// On commit 7cf2a62, before anything was mended (numbers of the audit in brackets): files that are damaged open Pods while antrea-controller is
// away (C1); Nodes whose Pod network overlaps the own one keep agents from getting ready, and those that overlap another Node's get
// flows that compete with it (C2); so do, which is not in the audit, Nodes whose Pod network contains the addresses of Nodes: the route to
// it leads tunnel packets into the tunnel; a policy that the switch refuses keeps agents that begin again from getting ready, also one of 4,200
// rules (C3, C4); null in a prevResult makes the agent panic (C5). Not in the audit are: a Node without a name, which no API server accepts, makes
// the agent panic; a policy with a port that is neither number nor name, which comes as protobuf only, cannot be sent as JSON, so that agents get
// nothing any more; a peer that says nothing, which no API server accepts, is taken for all Pods of the Namespace and opens them.
//
// relist_test.go is about good objects only: the controller and its watches, and those of agents, end and begin again.
package objects
