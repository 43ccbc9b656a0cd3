// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitor shows the controller's state in the cluster, and prepares the objects in which agents show theirs.
//
// querier.go says what the controller's state is; the aggregated API serves that, too. monitor.go writes it into the object
// AntreaControllerInfo every minute. agents.go keeps one AntreaAgentInfo per Node: it makes the objects, which agents may only
// update, and deletes those of Nodes that are gone. nodes.go is its core without I/O. Only the controller that serves does any of
// this. Without the CRDs nothing else is affected.
package monitor
