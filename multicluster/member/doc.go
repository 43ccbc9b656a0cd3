// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package member is the controller of a member of a ClusterSet: it exports Services and how to reach this cluster, and makes ordinary Services of
// what other clusters export. Objects, names, conditions and times are Antrea's.
//
// The core decides without I/O on what the watches show (snapshot.go): exports.go on ResourceExports and the conditions of ServiceExports,
// imports.go, services.go, endpoints.go and infos.go on what imports become, gateway.go on the Gateway, status.go on the ClusterSet's status. Nothing
// that the leader sends is used unless bounds.go allows it; an object that is refused leaves what was made of its former content. core.go is the
// core's whole result. controller.go writes to both APIs, link.go connects to the leader (package commonarea), view.go makes snapshots,
// servicecidr.go discovers the Service network.
//
// Differences from Antrea: the EndpointSlices of imported Services are written here, besides Endpoints that no other controller mirrors. A
// ServiceExport that the leader refuses has a condition Conflict. With the ClusterSet the Gateway goes as well.
package member
