#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs upstream Antrea's end-to-end tests against a kind cluster with this checkout's images:
#
#   test-e2e-kind.sh --upstream DIRECTORY [--gate off|on] [--tests REGEXP] [-- OPTIONS OF kind-setup.sh create]
#
# DIRECTORY is a checkout of upstream Antrea, whose tests are not changed. Without --gate they run with the gate ONCache off, then on. REGEXP
# (default: the tests of features that this project has) is for go test -run. Logs are in .ci-logs/e2e-off and .ci-logs/e2e-on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tests='^(TestConnectivity|TestBasic|TestReconcileGatewayRoutesOnStartup|TestBatchCreatePods|TestNetworkPolicy|TestClusterIPv4|TestAntctl|TestSecurity|TestTraceflow|TestAntreaApiserverTLSConfig|TestOpenAPISchema)$'
upstream='' gates=(off on)
cluster=oncache-e2e

usage() {
	sed -n '7s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--upstream) upstream=$2 ;;
	--tests) tests=$2 ;;
	--gate)
		case $2 in off | on) gates=("$2") ;; *) usage ;; esac
		;;
	*) usage ;;
	esac
	shift 2
done
options=("${@:2}")
if [ -z "$upstream" ] || [ -z "$tests" ]; then
	usage
fi
[ -d "$upstream/test/e2e" ] || {
	echo "test-e2e-kind: $upstream has no test/e2e: it must be a checkout of upstream Antrea" >&2
	exit 1
}

# run GATE runs the tests with the gate "off" or "on". The chart makes that gate a flag: it is not in the ConfigMap,
# where the tests, which do not know it, would fail.
run() {
	local logs=$PWD/.ci-logs/e2e-$1 value=false
	[ "$1" = off ] || value=true
	mkdir -p "$logs"
	ci/kind/kind-setup.sh create "$cluster" --feature-gates "ONCache=$value" "${options[@]}"
	trap 'ci/kind/kind-setup.sh destroy "$cluster"' EXIT
	kind get kubeconfig --name "$cluster" >"$logs/kubeconfig"
	(cd "$upstream" && go test -count=1 -v -timeout=75m ./test/e2e -run "$tests" \
		-args -provider=kind -kind.kubeconfig="$logs/kubeconfig" -deploy-antrea=false -logs-export-dir="$logs") 2>&1 | tee "$logs/tests.log"
	trap - EXIT
	ci/kind/kind-setup.sh destroy "$cluster"
}

for gate in "${gates[@]}"; do
	run "$gate"
done
