// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy is the feature that admits connections by the rules of package policy.
//
//   - networkpolicy.go: tables and base flows;
//   - rules.go: the feature's part of the Client. Peers of rules are immutable sets, as there can be very many;
//   - delta.go: how the flows of a rule differ from the switch's, without visiting common peers;
//   - state.go: which rules share a flow; overflow.go: levels for rules for which a shared flow has no room;
//   - kinds.go: the tables and priorities of a rule; flows.go: the flows of a rule;
//   - stats.go: how much traffic rules have admitted; log.go, packetin.go: packets for the
//     agent (packages auditlog, policyreject); reject.go: answers to rejected packets.
package networkpolicy
