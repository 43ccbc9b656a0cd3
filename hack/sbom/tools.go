// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sbom pins the program that lists the modules of a release (ci/release-assets.sh).
package sbom
