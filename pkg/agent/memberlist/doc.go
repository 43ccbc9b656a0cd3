// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memberlist tells which Node has an address of an ExternalIPPool. Every agent computes the same from the same objects and the same
// members, also beside agents of Antrea: hashes and keys are Antrea's.
//
// ring.go contains the consistent hash ring of a set of Nodes, members.go what users of addresses see.
package memberlist
