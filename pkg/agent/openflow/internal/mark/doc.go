// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mark is the feature that marks the packets which ONCache may learn from.
package mark
