// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the version of Cilium that make suite S=bench-peers builds and measures.
//
// go.mod raises gobgp to a release: Cilium asks for a commit between two releases, which not every proxy has.
package tools

import (
	_ "github.com/cilium/cilium/daemon"
	_ "github.com/cilium/cilium/plugins/cilium-cni"
)
