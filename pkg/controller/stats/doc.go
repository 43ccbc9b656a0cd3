// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats adds up the traffic of NetworkPolicies that agents report. The sums live in memory only: they begin at zero when
// antrea-controller starts, when it begins to serve in place of another one, and when a policy is made. They end with the policy.
//
// aggregator.go keeps the sums, report.go enters reports, entry.go checks their entries. A report that is repeated is counted once, so an
// agent that gets no answer sends the same one again.
package stats
