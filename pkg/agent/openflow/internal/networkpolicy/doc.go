// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy is the feature that allows and denies connections by the rules of package policy.
//
//   - networkpolicy.go: tables and base flows;
//   - rules.go: the feature's part of the Client. Peers of rules are immutable sets, as there can be very many;
//   - delta.go: how the flows of a rule differ from the switch's, without visiting common peers;
//   - state.go and users.go: which rules share a flow; overflow.go: levels for rules for which a shared flow has no room;
//   - numbering.go: priorities of rules with an order; seats.go: which rule has which, and moves; former.go: priorities of the agent before;
//   - sourceports.go: Pods with rules about source ports;
//   - kinds.go: the tables and actions of a rule; flows.go: the flows of a rule; actions.go: the flows of rules with an order;
//   - stats.go: how much traffic rules have admitted; log.go, packetin.go: packets for the
//     agent (packages auditlog, policyreject); reject.go: answers to rejected packets.
package networkpolicy
