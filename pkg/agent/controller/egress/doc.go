// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress decides which Node has which address of Egresses. It does no I/O. Every agent computes the same from the same objects and
// the same members, also beside agents of Antrea: hashes, keys and the order of Egresses are Antrea's.
//
// ring.go contains the consistent hash ring of a set of Nodes, schedule.go the Nodes of all addresses.
//
// The agent does not use it yet: it has no membership, and assigns no addresses.
package egress
