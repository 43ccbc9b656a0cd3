// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policycases has the cases of Antrea's own end-to-end tests of its policies as data: the objects of each step, and which connections of a
// mesh of Pods must then be made, dropped or rejected. Package acceptance runs them on a cluster.
//
// upstream.txt has the names of all of upstream's cases, and the reasons for those that do not exist here. ZeroTrust is not among them.
package policycases
