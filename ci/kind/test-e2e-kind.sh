#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs upstream Antrea's end-to-end tests against a kind cluster with this checkout's images, with the gate ONCache off and on:
#
#   test-e2e-kind.sh --upstream DIRECTORY [--tests REGEXP] [--keep]
#
# DIRECTORY is a checkout of upstream Antrea, whose tests are not changed. REGEXP (default: the tests of features that this project has) is
# for go test -run. The logs of both runs are in .ci-logs/off and .ci-logs/on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tests='^(TestConnectivity|TestBasic|TestReconcileGatewayRoutesOnStartup|TestBatchCreatePods|TestNetworkPolicy|TestClusterIPv4|TestAntctl|TestSecurity|TestAntreaApiserverTLSConfig|TestOpenAPISchema)$'
upstream='' keep=
cluster=antrea-oncache-e2e

usage() {
	sed -n '7s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--upstream)
		upstream=${2:-}
		shift
		;;
	--tests)
		tests=${2:-}
		shift
		;;
	--keep) keep=1 ;;
	*) usage ;;
	esac
	shift
done
if [ -z "$upstream" ] || [ -z "$tests" ]; then
	usage
fi
[ -d "$upstream/test/e2e" ] || {
	echo "test-e2e-kind: $upstream has no test/e2e: it must be a checkout of upstream Antrea" >&2
	exit 1
}

destroy() { [ -n "$keep" ] || ci/kind/kind-setup.sh destroy "$cluster"; }

# run GATE runs the tests with the gate "off" or "on". The gate is a flag of the agent and not in the ConfigMap: the tests read the gates there,
# and do not know this one.
run() {
	local logs=$PWD/.ci-logs/$1 value=false
	[ "$1" = off ] || value=true
	mkdir -p "$logs"
	ci/kind/kind-setup.sh create "$cluster" --num-workers 1
	trap destroy EXIT
	kubectl --context "kind-$cluster" -n kube-system patch daemonset antrea-agent --type=json \
		-p "[{\"op\": \"add\", \"path\": \"/spec/template/spec/containers/0/args/-\", \"value\": \"--feature-gates=ONCache=$value\"}]"
	kubectl --context "kind-$cluster" -n kube-system rollout status daemonset/antrea-agent --timeout=180s
	kind get kubeconfig --name "$cluster" >"$logs/kubeconfig"
	(cd "$upstream" && go test -count=1 -v -timeout=75m ./test/e2e -run "$tests" \
		-args -provider=kind -kind.kubeconfig="$logs/kubeconfig" -deploy-antrea=false -logs-export-dir="$logs") 2>&1 | tee "$logs/tests.log"
	trap - EXIT
	destroy
}

run off
run on
