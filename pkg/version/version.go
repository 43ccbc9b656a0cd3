// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version tells which version of the project a binary was built from. The variables are set at link time, for
// example -ldflags "-X github.com/antrea-oncache/antrea/pkg/version.Version=v0.1.0".
package version

import (
	"fmt"
	"runtime"
)

// Product is the name of the project. Programs, chart and objects have Antrea's names, which its users know, so this tells them apart.
const Product = "antrea-oncache"

var (
	// Version is the semantic version with a leading v, for example v0.1.0 or v0.2.0-dev.
	Version = ""
	// GitSHA is the abbreviated commit.
	GitSHA = ""
	// GitTreeState is "clean", or "dirty" when there were uncommitted changes.
	GitTreeState = ""
	// ReleaseStatus is "released" for a release build; anything else is a development build.
	ReleaseStatus = "unreleased"
)

// GetFullVersion returns Version alone for a release, and otherwise Version-GitSHA with the suffix .dirty when the tree
// had uncommitted changes. Parts that were not set at link time read UNKNOWN (the version) or unknown (the commit).
func GetFullVersion() string {
	switch {
	case Version == "":
		return "UNKNOWN"
	case ReleaseStatus == "released":
		return Version
	case GitSHA == "":
		return Version + "-unknown"
	case GitTreeState == "dirty":
		return Version + "-" + GitSHA + ".dirty"
	default:
		return Version + "-" + GitSHA
	}
}

// GetFullVersionWithRuntimeInfo adds the product, the platform and the Go release: "antrea-oncache <version> linux/amd64 go1.26.0".
func GetFullVersionWithRuntimeInfo() string {
	return fmt.Sprintf("%s %s %s/%s %s", Product, GetFullVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
