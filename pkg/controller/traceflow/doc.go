// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traceflow says when the traces of the cluster begin and end: it gives each a tag, which the traced packet carries and by which
// the agents know it, and ends it when the results of the Nodes are complete, or its time is over.
//
// core.go decides, without I/O and without a clock; controller.go reads objects and writes their status.
package traceflow
