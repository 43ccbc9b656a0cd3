// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the last version of the Kubernetes network policy API whose conformance suite is about AdminNetworkPolicy and
// BaselineAdminNetworkPolicy.
package tools

import _ "sigs.k8s.io/network-policy-api/conformance"
