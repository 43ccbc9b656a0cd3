// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acceptance tests an installed network plugin from outside, on any cluster with two Nodes: with Pods,
// kubectl's API, and commands in the plugin's own containers. Users of Antrea rely on the cases, their commands,
// strings and time limits, and upstream's own end-to-end tests check them; each case is named as upstream names it. All
// of them run with the gate ONCache off and on.
//
// make acceptance runs them on the cluster of make cluster-up. On another cluster they need the images agnhost, toolbox and nginx on the Nodes
// (names_test.go), and
//
//	ACCEPTANCE_KUBECONFIG  the kubeconfig of an administrator
//	ACCEPTANCE_MANIFEST    the manifest from which the plugin was installed; without it one case is skipped
//	ACCEPTANCE_LOGS        where the diagnoses of failed cases are written (acceptance-logs)
//	ACCEPTANCE_SLOWNESS    a factor for all time limits (1), for machines that other programs keep busy
//	KUBECTL                kubectl
//
// They restart and stop agents and controller and change the plugin's configuration: leave out cases with the label disruptive on a cluster that others use.
// As a program (go test -c -o acceptance.test ./test/acceptance) the suite has the flags
//
//	-labels '!disruptive'    labels of cases to run (oncache) or, with !, to leave out (labels_test.go)
//	-test.run, -test.skip    regular expressions for names: of the test, a slash, and of the case
//	-test.shuffle on|SEED    the tests in random order; the seed is printed. Cases of a test keep theirs
//	-junit FILE              the results as JUnit's XML
//
// Ginkgo would add nothing but labels and JUnit, which take two files here, and would take a rewriting of all cases.
//
// Files: framework_test.go, rollout_test.go, pods_test.go, outside_test.go, externalpool_test.go and iperf_test.go contain the shared parts (clients,
// restarts, Pods and commands in them, hosts outside of the cluster, pools of addresses), report_test.go the output of failed cases, names_test.go images, labels and
// limits. The cases are in files by subject. The cases of Antrea's policies (antreapolicy_test.go, policy*_test.go) are mostly tables of
// package policycases; the cases for Nodes need the gate NodeNetworkPolicy, and one for Services antreaProxy.proxyAll: make suite S=policy-cases.
// testExternalIPAccess also needs antreaProxy.proxyAll.
// TestZeroTrust, TestPolicyReports, and the cases of TestNodePortLocal about policies and about an address that is used again are not upstream's.
package acceptance
