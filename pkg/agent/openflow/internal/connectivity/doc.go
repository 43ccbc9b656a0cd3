// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connectivity contains the features without which no Pod has a network: the root of the pipeline, local Pods and the
// gateway, remote Nodes, neighbor discovery, and conntrack.
package connectivity
