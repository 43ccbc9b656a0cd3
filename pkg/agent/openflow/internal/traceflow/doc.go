// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traceflow is the feature by which traced packets report themselves, and reads the reports.
package traceflow
