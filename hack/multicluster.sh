#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Connects two clusters of two Nodes each, which it starts and ends, to a ClusterSet, and tests that, with the gate ONCache off and then on:
# multicluster.sh [FLAG_OF_TEST_BINARY...]. MULTICLUSTER_GATES="on" tests with one gate only. The clusters are called mc-a and mc-b; if they are up
# they are used, and stay. MULTICLUSTER_AWAY is the time for which the leader is cut off from a member, 90s if it is not set.
# MULTICLUSTER_ENCRYPTION=wireGuard encrypts what crosses clusters, on a kernel that has WireGuard, once the chart accepts that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra gates <<<"${MULTICLUSTER_GATES:-off on}"
clusters=(mc-a mc-b)
logs=.testbed
mkdir -p $logs

# shellcheck disable=SC2317 # the trap calls it
down() {
	for name in "${clusters[@]}"; do CLUSTER_NAME=$name bin/lab down; done
}

# install CLUSTER GATE installs the chart, or changes it.
install() {
	local kubeconfig value=true
	[ "$2" = on ] || value=false
	kubeconfig=$(CLUSTER_NAME=$1 bin/lab kubeconfig)
	bin/helm upgrade --install antrea build/charts/antrea --kubeconfig "$kubeconfig" --namespace kube-system \
		--set featureGates.ONCache=$value,featureGates.Multicluster=true,multicluster.enableGateway=true,multicluster.enablePodToPodConnectivity=true,multicluster.trafficEncryptionMode="${MULTICLUSTER_ENCRYPTION:-none}" >$logs/helm.log || {
		cat $logs/helm.log
		return 1
	}
	CLUSTER_NAME=$1 bin/lab ready
}

if ! CLUSTER_NAME=${clusters[0]} bin/lab status >/dev/null 2>&1; then
	trap down EXIT
	for i in "${!clusters[@]}"; do CLUSTER_NAME=${clusters[$i]} bin/lab up --kubelets --nodes=2 --index="$i"; done
fi
CLUSTER_NAME=${clusters[0]} bin/lab connect "${clusters[1]}"

failed=0
for gate in "${gates[@]}"; do
	for name in "${clusters[@]}"; do install "$name" "$gate"; done
	log=$logs/multicluster-$gate.log
	ACCEPTANCE_KUBECONFIG=$(CLUSTER_NAME=${clusters[0]} bin/lab kubeconfig) ACCEPTANCE_LOGS=$PWD/$logs/multicluster-$gate KUBECTL=$(bin/lab program kubectl) \
		MULTICLUSTER_TOOL=$PWD/bin/lab MULTICLUSTER_ANTCTL=$PWD/bin/antctl MULTICLUSTER_NAMES="${clusters[*]}" \
		bin/acceptance.test -test.v -test.timeout=1h -test.run '^TestMulticluster$' "$@" 2>&1 | tee "$log" || failed=1
	[ $failed = 0 ] || hack/show-failures.sh "$log"
done
exit $failed
