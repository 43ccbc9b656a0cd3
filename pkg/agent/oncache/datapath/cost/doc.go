// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cost measures what a hit costs in lookups of the same key, and compares it with testdata/cost.txt.
//
// Files: cost_test.go contains the tests and their scenarios, measure_test.go the programs and yardsticks, run_test.go how they take
// turns, world_test.go a cache full of flows, record_test.go the record.
package cost
