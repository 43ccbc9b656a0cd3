// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import "slices"

// NoPolicy returns the cases of TestGroupNoK8sNP that are tables.
func NoPolicy() []Case {
	return slices.Concat(verdicts, order, isolation, clusterGroups, groups, targets)
}
