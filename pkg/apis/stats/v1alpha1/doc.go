// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API group stats.antrea.io: what antrea-controller shows of the traffic of NetworkPolicies. The objects
// live in the controller's memory, can only be read, and exist as long as the policy of the same Namespace and name. Kinds and
// field names are Antrea's. The group has no internal version, because there is only one version and nothing is written.
//
// +k8s:deepcopy-gen=package
package v1alpha1
