// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is the internal version of the API group controlplane.antrea.io: what antrea-controller computes and
// agents watch. The objects live in the controller's memory only and are cluster-scoped. Version v1beta2 is what is served;
// its names and shapes are Antrea's.
//
// +k8s:deepcopy-gen=package
package controlplane
