// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generic is what the API servers of agent and controller have in common: HTTPS with certificates made at
// start, who may do what, the loopback token, and the version that they report.
//
// Clients cost little before it is known who they are, and slow ones keep nobody else waiting. limits.go has the numbers.
// connections.go ends connections of strangers when there are too many, server.go and writer.go those of clients that neither
// send nor read; gate.go is what each request meets first; tokens.go and access.go bound what is asked of the Kubernetes API.
package generic
