// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects compares clusters that meet bad objects, requests and files with clusters that never do. A bad thing must
// be refused where it occurs, and everything else must continue to work.
//
// A cluster (world.go) runs in this process: antrea-controller with its storage (plane.go), and on two Nodes the agents'
// controllers for policies and Nodes and their CNI server (agent.go), started by pkg/agent/start. Kubernetes (kube.go), Open vSwitch
// (switch.go, bridge.go), the host's routes (routes.go) and host-local (cni.go) are fakes that check as little, or refuse
// as much, as the real ones. Devices and network namespaces are real, so root is needed. Each cluster is in a bubble of
// testing/synctest: its clock advances only when nothing is left to be done, so every observation is at a quiet point, and
// no time is lost by waiting.
//
// A set (script.go, disturb.go) is a sequence of phases: the start, changes of Pods, labels, policies and Nodes, and
// disturbances: an agent that restarts with or without controller, another controller, watches that end. It is run twice (run.go),
// without its bad things and with them. Bad things appear at random moments, disappear at once, return with another UID,
// and are all gone at the end: badnode.go, badpod.go, badpolicy.go, bad.go (Namespaces), badinput.go (CNI requests, and
// files of the agents' store that are damaged between the end of an agent and the start of the next one).
//
// After each phase compare.go compares: whether the Nodes are ready and Pods can be connected; the fate of a packet
// from each Pod to each other Pod, which packet.go sends through the flows of both switches; all flows that do not
// belong to policies; routes and addresses of Nodes; the policies that agents know. In disturbances everything that is
// closed before and after must also be closed after each bundle.
//
// # What bad things concern
//
// Any difference is collateral damage, with these exceptions:
//
//   - A Node concerns only itself. There may be flows and routes to Pod networks that it claims, unless they overlap a good Node's Pod network or contain a good Node's address: all good Nodes are older, and the younger one loses.
//   - A Pod concerns itself, and the address that it claims: as a peer the address has the labels of all Pods that claim it,
//     because the Kubernetes API says so.
//   - A policy concerns the Pods that it selects, or all Pods of its Namespace if its selector is invalid. They may be isolated,
//     and not be connected. They may never be more open than without it: the valid parts of bad policies allow no Pod.
//   - A damaged file concerns all Pods of its Node until antrea-controller is back, because its content is unknown: they may be
//     isolated, and new ones not be connected. The Node must still become ready, and nothing may be more open.
//   - A Namespace and a CNI request concern nothing else.
//
// A panic is always collateral damage. When a set has any, it is run again with each of its bad things alone, to find the
// cause; the count is the number of bad things that cause some.
//
// # What it has found
//
// On commit 7cf2a62, before any repair (numbers of the audit in brackets): damaged files open Pods while antrea-controller
// is unreachable (C1). Nodes whose Pod network overlaps this Node's keep agents from becoming ready, and those that overlap
// another Node's get flows that compete with it (C2). A policy that the switch refuses keeps restarted agents from becoming
// ready, and so does one of 4,200 rules (C3, C4). null in a prevResult makes the agent panic (C5). Not in the audit: the
// effects of C2 also follow from a Node whose Pod network contains the addresses of Nodes, because the route to it leads
// tunnel packets into the tunnel. A Node without a name, which no API server accepts, makes the agent panic. A policy with
// a port that is neither number nor name, which is possible in protobuf only, cannot be sent as JSON, so that agents
// receive nothing any more. An empty peer, which no API server accepts, is taken for all Pods of the Namespace and opens
// them.
//
// relist_test.go is about good objects only: the controller, its watches and the agents' watches end and start again.
package objects
