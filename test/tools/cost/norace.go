// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package cost

// The group is as large as a group of Pods becomes.
const (
	Members = 100_000
	Factor  = 1
)
