// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cyclonus compares the oracle of package policy with a second opinion: the matcher of cyclonus
// (github.com/mattfenwick/cyclonus, MIT licence), an evaluator of NetworkPolicies that others have written from the same
// specification. Both judge the same random worlds, each direction of each connection on its own. Only the answers are
// compared; no packet is sent.
//
// It is a module of its own, with tests only: TestSameAnswers compares, and TestKnownFaults shows where the matcher is wrong.
// Connections that these faults may affect are not compared, only counted (leftout_test.go):
//
//   - A selector with NotIn selects objects without the label (k8s.io/apimachinery/pkg/apis/meta/v1, LabelSelector); the matcher says
//     that it does not.
//   - A selector that asks for a label with an empty value does not select objects without the label; the matcher says that it does.
//   - An egress rule with the name of a port and an ipBlock: the specification leaves open what it means. For the oracle, addresses
//     have no port names; for the matcher, they have the Pod's port names.
//   - A policy without policyTypes makes the matcher panic: it expects the API server to have filled them in. The comparison fills
//     them in, as the documentation of the field says, so these connections are compared.
package cyclonus
