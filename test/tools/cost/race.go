// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package cost

// The race detector makes everything about ten times slower, the preparations too.
const (
	Members = 10_000
	Factor  = 10
)
