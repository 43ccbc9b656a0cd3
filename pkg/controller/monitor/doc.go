// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitor shows the controller's state in the cluster, and prepares the objects in which agents show their
// state.
//
// querier.go collects the controller's state, which the aggregated API also serves. monitor.go writes it into the
// object AntreaControllerInfo every minute. agents.go keeps one AntreaAgentInfo per Node: it creates the objects,
// because agents may only update them, and deletes the objects of deleted Nodes. nodes.go is its core without I/O. Only
// the controller that serves does any of this. Without the CRDs nothing else is affected.
package monitor
