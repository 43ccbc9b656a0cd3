#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the conformance suites of the Kubernetes network policy API on the cluster of make cluster-up, with the gates of that API on:
# conformance-policy-api.sh [FOCUS]. FOCUS is a regular expression for names of cases. There are two suites (hack/networkpolicyapi): admin is about
# AdminNetworkPolicy and BaselineAdminNetworkPolicy, cluster about ClusterNetworkPolicy. Each CRD comes from the version of its suite. The cases are
# unmodified; their servers over SCTP are replaced (sctp.yaml).
#
# The outputs are in .testbed/conformance-policy-api/SUITE.log; at the end there is the list of what has been run, and what failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

focus=${1:-.}
module=sigs.k8s.io/network-policy-api
report=.testbed/conformance-policy-api
timeout=300s
suites=(admin cluster)
# The package that is the suite, below hack/networkpolicyapi/SUITE.
declare -A packages=([admin]=. [cluster]=$module/conformance)

KUBECONFIG=$(bin/lab kubeconfig)
export KUBECONFIG
mkdir -p $report bin
for suite in "${suites[@]}"; do
	echo "==> suite $suite: program and CRDs"
	(cd hack/networkpolicyapi/"$suite" && go mod download $module && go test -c -o ../../../bin/policyapi-"$suite".test "${packages[$suite]}")
	for definition in "$(cd hack/networkpolicyapi/"$suite" && go list -m -f '{{.Dir}}' $module)"/config/crd/experimental/policy.networking.k8s.io_*.yaml; do
		bin/lab kubectl apply --server-side -f "$definition"
	done
done
bin/lab kubectl apply -f hack/networkpolicyapi/sctp.yaml
trap 'bin/lab kubectl delete -f hack/networkpolicyapi/sctp.yaml >/dev/null' EXIT

echo "==> gates: helm upgrade"
bin/helm upgrade antrea build/charts/antrea --namespace kube-system --reuse-values --force-conflicts \
	--set featureGates.AdminNetworkPolicy=true,featureGates.ClusterNetworkPolicy=true >$report/helm.log || {
	cat $report/helm.log
	exit 1
}
bin/lab kubectl -n kube-system rollout status deployment/antrea-controller --timeout=$timeout
bin/lab kubectl -n kube-system rollout status daemonset/antrea-agent --timeout=$timeout

# list SUITE RESULT prints the cases of a suite with a result.
list() { sed -nE "s/^    --- $2: TestConformance\/([^/ ]+) .*/\1/p" $report/"$1".log; }

failed=0
for suite in "${suites[@]}"; do
	echo "==> suite $suite"
	bin/lab kubectl wait --for=delete namespace -l conformance-house --timeout=$timeout
	bin/policyapi-"$suite".test -test.v -test.timeout=2h -test.run "^TestConformance\$/$focus" --all-features >$report/"$suite".log 2>&1 || failed=1
done
for suite in "${suites[@]}"; do
	list "$suite" PASS | sed 's/^/passed: /'
	list "$suite" SKIP | sed 's/^/skipped by itself: /'
	list "$suite" FAIL | sed 's/^/FAILED: /'
	passed=$(list "$suite" PASS | wc -l)
	failures=$(list "$suite" FAIL | wc -l)
	[ "$passed" -gt 0 ] || failed=1
	echo "conformance-policy-api: suite=$suite passed=$passed failed=$failures skipped=$(list "$suite" SKIP | wc -l)"
done
exit $failed
