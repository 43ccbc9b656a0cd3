// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cniserver connects Pods to the Node's OVS bridge. It serves the plugin antrea-cni over gRPC on a unix socket
// (ADD, CHECK, DEL), and delegates addresses to the host-local IPAM plugin. After an agent restart it brings the bridge in
// line with the Node's Pods (Reconcile).
//
// One request does not harm others: connections and requests are limited. When the agent panics during a request, it
// answers with code 0 and writes request and stack to the log; before that, ADD undoes its steps. The steps are marked in
// the code: an agent may die after any of them, and its successor repairs what is left.
//
// The CNI configuration says where leases are (its name, ipam.dataDir). The bridge's external_ids list all directories
// except the usual one under antrea-ipam-leases, so that Reconcile collects leases in each of them. An address
// that an interface has from a former directory is not leased again.
//
// More than 1,024 Pods: a host interface's name has 24 bits of hash after the Pod's first characters. Among 2,000 Pods with
// the same first characters two names collide with a probability of 11 %, which costs one of them a sandbox. host-local
// reads all leases twice at each ADD, so its time grows with the number of Pods; nothing else does.
package cniserver
