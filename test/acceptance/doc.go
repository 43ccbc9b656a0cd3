// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acceptance tests an installed network plugin from outside, on any cluster with two Nodes: with Pods, kubectl's API, and commands in
// the plugin's own containers. The cases, their commands, strings and time limits are those that users of Antrea rely on and that upstream's
// own end-to-end tests check; each case is named as upstream names it. All of them run with the gate ONCache off and on.
//
// The tests need $KUBECONFIG, the images agnhost, toolbox and nginx on the Nodes (names.go), and $ACCEPTANCE_MANIFEST, the manifest from which
// the plugin was installed.
//
// Files: framework_test.go (clients, what all cases share), pods_test.go (Pods and commands in them), names_test.go (images, labels, limits);
// the cases are in files by subject.
package acceptance
