// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generic is the common part of the API servers of agent and controller: HTTPS with certificates made at start,
// authorization, the loopback token, and the reported version.
//
// Clients cost little before they are identified, and slow clients do not delay others. Connections of unknown
// clients are closed when there are too many, and connections of clients that neither send nor read. Each request is
// checked first. The number of questions to the Kubernetes API is bounded.
package generic
