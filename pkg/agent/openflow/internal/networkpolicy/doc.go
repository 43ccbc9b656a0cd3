// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy is the feature that admits connections by the rules of package policy.
//
//   - networkpolicy.go: tables and base flows;
//   - rules.go: the feature's part of the Client. Peers of rules can be very many and are immutable sets;
//   - delta.go: how the flows of a rule differ from those on the switch, without visiting the peers that both have;
//   - state.go: which rules share a flow; overflow.go: levels for rules for which a shared flow has no room;
//   - kinds.go: what the effect of a rule is in tables and priorities; flows.go: the flows of a rule;
//   - stats.go: how much traffic rules have admitted; log.go: packets for the audit log (package auditlog).
package networkpolicy
