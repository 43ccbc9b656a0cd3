// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress is the feature that gives packets of Pods to outside the cluster the way and the mark of their Egress.
//
// L3Forwarding leads packets that no Pod network is for, except answers, to the table EgressMark. There a Pod's packets get the mark of an
// Egress address that this Node has, and go to the gateway; the host's rules translate the source by the mark (package route). If another
// Node has the address, they go through the tunnel to the address itself, whose Node gives packets to its address the mark. TTLs do not
// change on the way: the host that forwards the packet decrements it once.
//
// With traffic shaping, the table EgressQoS behind EgressMark sends packets with the mark of an address that has a bandwidth through a meter, whose id
// is the mark: packets of local Pods and packets from the tunnel share it. Answers have no limit.
//
// New connections that come from the tunnel to an address that is not an Egress address of this Node are dropped. Tables, priorities
// and marks are Antrea's; unlike there, only local Pods' packets leave out Egress by destination.
//
// ONCache never learns from these packets: see the flow of packets to other Nodes' addresses in package mark.
package egress
