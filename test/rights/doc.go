// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights compares the calls of the Kubernetes API in the sources of agent and controller with docs/operate/rbac.md, which test/chart compares with
// the roles in the chart: a call without a right would be denied, and a right without a call is one too many.
//
// A call is found by the types of Kubernetes' client library (calls.go): a verb of a typed client, an informer, which
// lists and watches, and a verb of a dynamic client, whose resource the test knows by the package. A table of the test
// lists the calls of libraries, with the function that causes them; such a row is refused when the program does not
// call that function.
//
// It does not see in which Namespace, and of which objects. An API server does, with the roles of the manifest (denial_test.go): it is asked about
// every verb of every resource, and has to deny whatever docs/operate/rbac.md does not list.
package rights
