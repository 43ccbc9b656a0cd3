// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeipam gives Nodes their Pod networks (spec.podCIDRs), in clusters in which kube-controller-manager does not.
//
// plan.go decides, without I/O, from a list of all Nodes. controller.go reads that list from the storage of the Kubernetes API each time before it
// decides, writes the networks, and reports Nodes that can have none.
//
// A network must never belong to two Nodes. A Node that has networks keeps them: the API refuses to change them. Only the controller that serves
// allocates, and only when it has served for so long that the last request of the former one has ended.
package nodeipam
