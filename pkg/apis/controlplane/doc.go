// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is the internal version of the API group controlplane.antrea.io: the objects that
// antrea-controller computes and agents watch. The objects live in the controller's memory only and are cluster-scoped.
// It is served as version v1beta2; its names and shapes are Antrea's.
//
// +k8s:deepcopy-gen=package
package controlplane
