#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the acceptance tests on the cluster of make cluster-up, with the gate ONCache off and then on: acceptance.sh [FLAG_OF_TEST_BINARY...].
# ACCEPTANCE_GATES="on" runs them with one gate only. Each gate is switched as a user does: helm upgrade, which replaces agents and controller.
# TRAFFIC_MODE=noEncap, hybrid or wireGuard changes the mode of traffic between Nodes with it, TRAFFIC_MODE=encap back.
#
# The outputs are in .testbed/acceptance-GATE.log, the results in .testbed/acceptance-GATE.xml (JUnit), and what agents and Open vSwitch know after a failed case is in .testbed/acceptance-GATE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra gates <<<"${ACCEPTANCE_GATES:-off on}"
chart=build/charts/antrea
logs=.testbed
timeout=180s

kubeconfig=$(bin/lab kubeconfig)
export KUBECONFIG=$kubeconfig
case ${TRAFFIC_MODE:-} in
"") mode=() ;;
encap) mode=(--set "trafficEncapMode=encap,trafficEncryptionMode=none,oncache.direct=false") ;;
noEncap | hybrid) mode=(--set "trafficEncapMode=$TRAFFIC_MODE,trafficEncryptionMode=none,oncache.direct=true") ;;
wireGuard) mode=(--set "trafficEncapMode=encap,trafficEncryptionMode=wireGuard,oncache.direct=false") ;;
*)
	echo "acceptance: TRAFFIC_MODE is \"$TRAFFIC_MODE\"; it may be encap, noEncap, hybrid or wireGuard" >&2
	exit 2
	;;
esac
mkdir -p $logs

# One case installs the manifest with kubectl, which then owns the fields: hence --force-conflicts.
# switch GATE installs the chart with the gate, and writes the manifest that has been installed.
switch() {
	local value=true
	[ "$1" = on ] || value=false
	echo "==> gate $1${TRAFFIC_MODE:+, mode $TRAFFIC_MODE}: helm upgrade"
	bin/helm upgrade antrea $chart --namespace kube-system --reuse-values --force-conflicts --set featureGates.ONCache=$value "${mode[@]}" >$logs/helm.log || {
		cat $logs/helm.log
		return 1
	}
	bin/helm get manifest antrea --namespace kube-system >$logs/antrea.yml
	bin/lab kubectl -n kube-system rollout status deployment/antrea-controller --timeout=$timeout
	bin/lab kubectl -n kube-system rollout status daemonset/antrea-agent --timeout=$timeout
}

failed=0
results=()
for gate in "${gates[@]}"; do
	case $gate in
	off | on) ;;
	*)
		echo "acceptance: ACCEPTANCE_GATES has \"$gate\"; it may have off and on" >&2
		exit 2
		;;
	esac
done
for gate in "${gates[@]}"; do
	log=$logs/acceptance-$gate.log
	rm -rf "$logs/acceptance-$gate" "$logs/acceptance-$gate.xml"
	switch "$gate"
	ACCEPTANCE_KUBECONFIG=$kubeconfig ACCEPTANCE_MANIFEST=$PWD/$logs/antrea.yml ACCEPTANCE_LOGS=$PWD/$logs/acceptance-$gate KUBECTL=$(bin/lab program kubectl) \
		bin/acceptance.test -test.v -test.timeout=2h -junit "$logs/acceptance-$gate.xml" "$@" 2>&1 | tee "$log" || failed=1
	results+=("$(grep -a '^acceptance: cases=' "$log" || echo "acceptance: no result gate=$gate, see $log")")
done
if [ $failed = 1 ]; then
	for gate in "${gates[@]}"; do hack/show-failures.sh "$logs/acceptance-$gate.log"; done
fi
printf '%s\n' "${results[@]}"
exit $failed
