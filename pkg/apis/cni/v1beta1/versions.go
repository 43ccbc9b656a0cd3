// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// SupportedCNIVersions are the versions of the CNI specification that the plugin and the server understand, oldest first.
var SupportedCNIVersions = []string{"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}
