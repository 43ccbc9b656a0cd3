// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the version of Kubernetes' own end-to-end tests, of which make conformance runs some. It must be the version of hack/controlplane.
package tools

import _ "k8s.io/kubernetes/test/e2e"
