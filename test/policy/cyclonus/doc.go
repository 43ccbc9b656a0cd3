// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cyclonus compares the oracle of package policy with a second opinion: the matcher of cyclonus
// (github.com/mattfenwick/cyclonus, MIT licence), which says what NetworkPolicies allow and was written by others from the same
// specification. Both judge the same random worlds, each direction of each connection on its own; only the answers are
// compared, and no packet is sent.
//
// It is a module of its own, with tests only: TestSameAnswers compares, and TestKnownFaults shows where the matcher is wrong. What
// these faults may concern is not compared, but counted (leftout_test.go):
//
//   - A selector with NotIn selects objects without the label (k8s.io/apimachinery/pkg/apis/meta/v1, LabelSelector); the matcher says
//     that it does not.
//   - A selector that asks for a label with an empty value does not select objects without the label; the matcher says that it does.
//   - An egress rule with the name of a port and an ipBlock: the specification leaves open what it means. For the oracle addresses
//     have no names, for the matcher they have those of the Pod.
//   - A policy without policyTypes makes the matcher panic: it expects that the API server has filled them in. The comparison
//     does that, as the documentation of the field says, so this is compared.
package cyclonus
