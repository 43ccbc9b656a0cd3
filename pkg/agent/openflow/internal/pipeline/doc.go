// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline is what the features of the OpenFlow pipeline are built on, and all that they share. Feature declares
// what a feature implements, Socket what it may use. Core is the part of the client that does not depend on the features:
// initialization, rounds, replay, status. Generator makes flows from tables (the order is computed from what the features say),
// registers, marks, priorities and cookies.
//
// A feature that two features would have to import is no feature: what both need belongs here.
package pipeline
