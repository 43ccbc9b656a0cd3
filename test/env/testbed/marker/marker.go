// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package marker sets the marks between which the testbed's profiler counts instructions
// (test/env/testbed/machine/profiler). They are instructions of x86-64 that do nothing, so that they can be executed
// without a profiler.
package marker

// Begin begins an interval.
func Begin()

// End ends it. The profiler has written what it has counted when End returns.
func End()
