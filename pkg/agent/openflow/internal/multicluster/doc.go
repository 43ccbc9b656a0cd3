// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package multicluster is the feature that leads packets to other clusters and back.
//
// One Node of each cluster, its gateway Node, exchanges packets with the gateway Nodes of other clusters, through the ordinary tunnel. On all
// other Nodes, packets to a network of another cluster, and answers to one, go through the tunnel to the gateway Node. Their inner destination MAC
// address, config.MulticlusterMAC, differs from the one between Nodes. The gateway Node sends them on: new connections to another cluster get its
// address as their source, so that other clusters see gateway addresses only. Packets from another cluster are for a Service of this one,
// which package service translates as usual, or for a Pod.
//
// With encryption, the tunnel packets between gateway Nodes have addresses of the device that encrypts them, and a gateway Node accepts packets of other
// clusters with these addresses only. The host drops tunnel packets with these addresses that come in clear (package route).
//
// ONCache never learns from these packets, for these reasons: one of their addresses belongs to no Pod network of the cluster; their MAC address is
// not the one that its programs accept from the tunnel, and leads past the mark flows of packets to the tunnel; connections whose source is
// translated have a mark that excludes them (package mark).
//
// Matches, actions, priorities and marks are Antrea's. Unlike there, answers to packets that policies reject find their way in all cases, and
// connections that the gateway Node translates also save the rule that admitted them.
package multicluster
