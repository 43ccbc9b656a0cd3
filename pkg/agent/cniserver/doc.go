// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cniserver connects Pods to the Node's OVS bridge. It serves the plugin antrea-cni over gRPC on a unix socket
// (ADD, CHECK, DEL), delegates addresses to the host-local IPAM plugin, and after an agent restart brings what it finds
// on the bridge in line with the Node's Pods (Reconcile).
//
// boundary.go is what keeps one request from harming others: limits of connections and requests, and recovery, which answers
// a request with which the agent panics with code 0 and writes request and stack to the log. Before that, ADD takes back what
// it has done. steps.go marks the steps after which an agent may end without anything that its successor does not mend.
//
// Leases are where the CNI configuration says (its name, ipam.dataDir). The bridge's external_ids keep all directories but
// the usual one under antrea-ipam-leases, so that Reconcile collects in each (leases.go), and an address that an interface
// has from a former directory is not given again.
//
// More than 1,024 Pods: the names of host interfaces have 24 bits of hash behind the Pod's first characters; of 2,000 Pods with
// the same ones two collide with a probability of 11 %, which costs one of them a sandbox. host-local reads all leases twice at
// each ADD, so what that takes grows with their number; nothing else does.
package cniserver
