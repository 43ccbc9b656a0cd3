// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memberlist tells which Node has an address of an ExternalIPPool. Every agent computes the same from the same objects and the same
// members, also beside agents of Antrea: hashes, keys and gossip are Antrea's.
//
// ring.go contains the consistent hash ring of a set of Nodes, members.go what users of addresses see. gossip.go is the protocol, a library.
// membership.go decides when it begins, which Nodes it joins and when its members count; cluster.go follows Nodes, pools and the key.
//
// Without a key of antrea-controller, no agent takes part and none has addresses. An agent that begins joins others before its members
// count, for up to 5 s: it would take all addresses otherwise. An agent that ends orderly says so.
package memberlist
