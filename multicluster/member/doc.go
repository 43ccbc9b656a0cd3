// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package member is the controller of a member of a ClusterSet: it exports Services and the way to this cluster, and makes ordinary Services
// of the exports of other clusters. Objects, names, conditions and times are Antrea's.
//
// The core has no I/O. It reads a snapshot of the watches (snapshot.go), and decides about
//   - ResourceExports and conditions of ServiceExports: exports.go;
//   - objects that are made from imports: imports.go, services.go, endpoints.go, infos.go;
//   - copies of policies: policies.go; events.go tells the leader which fail;
//   - the Gateway: gateway.go;
//   - the status of the ClusterSet: status.go.
//
// core.go joins these decisions. bounds.go refuses what the leader may not send; objects made of the former content then stay. reach.go
// leaves out addresses without a way, pods.go Pod networks that are not free. memory.go notices a leader that has lost its objects, and delays deletions of
// policies. controller.go writes to both APIs, link.go connects to the leader (package commonarea), view.go makes snapshots, servicecidr.go discovers the Service network.
//
// Differences from Antrea: the EndpointSlices of imported Services are written here, besides Endpoints that no other controller mirrors. A
// ServiceExport that the leader refuses has a condition Conflict. With the ClusterSet the Gateway goes as well.
package member
