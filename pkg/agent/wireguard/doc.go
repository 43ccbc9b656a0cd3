// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wireguard encrypts packets to Pods of other Nodes, and packets to other clusters: it keeps the device antrea-wg0 with a peer for each Node whose
// key is known, and on a gateway Node antrea-mc-wg0 with a peer for each other cluster.
//
// peers.go knows the Pod networks and keys of the other Nodes, and decides which peers the device should have. plan.go computes the operations
// that lead there from what the device has. Neither does I/O. kernel.go reads and changes the device, controller.go runs the operations
// and publishes this Node's key. routes.go tells the controller which networks package noderoute connects. clusters.go and clusterroutes.go are the device between
// clusters, whose peers package controller/multicluster decides.
//
// The private key exists only in the device, where former agents and Antrea have left it. Packets to a Node without a key are dropped: the
// host's route leads them to the device, which has no peer for them.
package wireguard
