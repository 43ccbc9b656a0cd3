#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Takes an installation through its life on a cluster of its own, of two Nodes, that it starts and ends: lifecycle.sh VERSION [FLAG_OF_TEST_BINARY...].
# Installation, upgrade Node by Node to images of another version, rollback, gate off and on, mode of traffic changed and back, Node drained,
# rebooted and added, uninstallation; test/acceptance/lifecycle_test.go contains the cases with their bounds. TRAFFIC_MODE=noEncap, hybrid or wireGuard
# installs in that mode of traffic.
#
# bin/images-next has the images of VERSION, the other version. make lifecycle makes them from the same sources. The upgrade also changes
# oncache.maxFlows, so that the maps of the two versions have different layouts. An empty VERSION leaves the upgrade out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

arch=$(go env GOARCH)
next=${1?the version of the images in bin/images-next}
shift
images=bin/images-next
# Beside a cluster that the user has.
export CLUSTER_NAME=${CLUSTER_NAME:-lifecycle}

bin/lab up --kubelets --nodes=2
trap 'bin/lab down' EXIT
[ -z "$next" ] || for node in node-1 node-2; do
	for image in antrea-agent-ubuntu antrea-controller-ubuntu; do
		bin/lab exec $node -- ctr --namespace=k8s.io images import --digests=false - <"$images/${image}_$arch.tar"
	done
done
bin/lab kubectl -n kube-system rollout status daemonset/kube-proxy --timeout=300s

log=.testbed/lifecycle.log
mkdir -p .testbed
KUBECONFIG=$(bin/lab kubeconfig)
export KUBECONFIG
ACCEPTANCE_KUBECONFIG=$KUBECONFIG ACCEPTANCE_LOGS=$PWD/.testbed/lifecycle KUBECTL=$(bin/lab program kubectl) HELM=$PWD/bin/helm \
	LIFECYCLE_TOOL=$PWD/bin/lab LIFECYCLE_CHART=$PWD/build/charts/antrea LIFECYCLE_NEXT=$next LIFECYCLE_MODE=${TRAFFIC_MODE:-} \
	bin/acceptance.test -test.v -test.timeout=2h -test.run '^TestLifecycle$' "$@" 2>&1 | tee $log || {
	hack/show-failures.sh $log
	exit 1
}
