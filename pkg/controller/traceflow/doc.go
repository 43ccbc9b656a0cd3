// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traceflow begins and ends the traces of the cluster: it gives each a tag, which the traced packet carries and
// by which the agents recognize it, and ends it when the results of the Nodes are complete or its time has passed.
//
// core.go decides, without I/O and without a clock; controller.go reads objects and writes their status. validate.go
// is the webhook.
package traceflow
