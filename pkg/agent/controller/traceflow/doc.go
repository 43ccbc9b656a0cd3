// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traceflow takes part in the traces of the cluster: it sends the packet if the source is a Pod of this Node, and writes what
// this Node has done with the packet into the status of the Traceflow. antrea-controller says when a trace begins and ends (package
// pkg/controller/traceflow).
//
// plan.go finds out what a Traceflow means for this Node. core.go decides what to do, without I/O and without a clock: it turns objects,
// reports of the pipeline and the time into operations. observe.go, egress.go and reports.go turn reports into observations. controller.go runs the
// operations, and status.go writes the status.
//
// The packet is sent again until the trace ends: the first one may come to a Node that does not know of the trace yet.
// All copies have the same ports, so that a Service translates them in the same way, and of each Node the first
// complete path counts.
//
// Live traffic gets the tag a little after the trace begins, and the receiving Nodes continue to remove the tag a
// little longer: no Pod should see it.
package traceflow
