// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cniserver connects Pods to the Node's OVS bridge. It serves the plugin antrea-cni over gRPC on a unix socket
// (ADD, CHECK, DEL), delegates addresses to the host-local IPAM plugin, and after an agent restart brings what it finds
// on the bridge in line with the Node's Pods (Reconcile).
package cniserver
