// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generic is what the API servers of agent and controller have in common: HTTPS with certificates made at
// start, who may do what, the loopback token, and the version that they report.
package generic
