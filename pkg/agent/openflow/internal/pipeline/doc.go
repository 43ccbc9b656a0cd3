// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline is the base of the OpenFlow pipeline's features and contains everything that they share. Feature declares what a
// feature implements, Socket what it may use. Core is the part of the client that does not depend on the features: initialization,
// rounds, replay, status. Generator makes flows from tables (the order is computed from what the features say), registers, marks,
// priorities and cookies.
//
// Code that two features need belongs here: features do not import each other.
package pipeline
