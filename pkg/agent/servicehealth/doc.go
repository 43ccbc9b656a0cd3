// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicehealth answers load balancers: at the health check port of each Service with externalTrafficPolicy Local, how many
// Endpoints it has on this Node, and at one port for all others, whether this Node forwards connections to Services. Ports, paths and answers
// are those of kube-proxy, because load balancers rely on them (Kubernetes, "Virtual IPs and Service Proxies", and KEP-3836 for
// the paths /healthz and /livez).
//
// listener.go has the HTTP servers of one port, server.go those of all Services, node.go the one of the Node.
package servicehealth
