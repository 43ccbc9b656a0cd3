// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicehealth answers load balancers: the health check port of each Service with externalTrafficPolicy Local
// reports the number of its Endpoints on this Node, and one port for all other Services reports whether this Node
// forwards connections to Services. Ports, paths and answers equal kube-proxy's, because load balancers rely on them
// (Kubernetes, "Virtual IPs and Service Proxies", and KEP-3836 for the paths /healthz and /livez).
//
// listener.go contains the HTTP servers of one port, server.go the servers of all Services, node.go the server of the
// Node.
package servicehealth
