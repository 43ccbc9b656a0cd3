// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policyreject answers packets that rules of Antrea-native policies reject, so that clients learn it at once: with a TCP reset, or an
// ICMP message that a policy forbids the communication (servicereject.Prohibited). The drop itself is the pipeline's: it does not depend on
// the agent.
//
// The answer seems to come from the destination of the packet. Its way is chosen so that conntrack undoes the translation of a Service, and no other policy sees the answer as a connection of its own. A Responder receives the packets and sends the answers. Each sender
// has its share of answers (package share), and nothing is answered that the agent has sent itself.
package policyreject
