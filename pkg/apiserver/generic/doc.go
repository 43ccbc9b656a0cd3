// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generic is the common part of the API servers of agent and controller: HTTPS with certificates made at start,
// authorization, the loopback token, and the reported version.
//
// Clients cost little before they are identified, and slow clients do not delay others. limits.go defines the limits.
// connections.go closes connections of unknown clients when there are too many, server.go and writer.go connections of
// clients that neither send nor read. gate.go checks each request first. tokens.go and access.go bound the number of
// questions to the Kubernetes API.
package generic
