// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oftest contains fixtures for tests of the pipeline: a Node, its Pods, peers, policies and Services; clients on a switch
// in memory or on a bridge of Open vSwitch (package ovstest); flows as text.
package oftest
