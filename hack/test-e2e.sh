#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the suites of the end-to-end tests: test-e2e.sh [FLAG_OF_TEST_BINARY...], with E2E_MACHINES machines at a time.
#
# Each suite makes a cluster of its own, and with user-mode Linux it gets a machine of its own, three at a time: a machine uses two
# fifths of a processor. Other kinds of machine run all suites one after the other. Each suite's whole output is
# in .testbed/e2e/SUITE.log; of suites in parallel, what passed and failed is shown at once, and what the failed ones said at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bed=(bin/lab run --functional)
tests=(bin/e2e.test -test.v -test.timeout=60m "$@")

processors=$(nproc)
machines=${E2E_MACHINES:-$((processors < 2 ? 1 : 3))}
if [ "$(bin/lab kind --functional)" != uml ] || [ "$machines" = 1 ] || [[ " $*" == *" -test.run"* ]]; then
	exec "${bed[@]}" -- "${tests[@]}"
fi

logs=.testbed/e2e
rm -rf $logs
mkdir -p $logs
# The longest ones first, so that the machines end at about the same time.
longest=$'TestGeneveGateOn\nTestGeneveGateOnChanges\nTestNetkitGateOn\nTestRewriteGateOn'
all=$(bin/e2e.test -test.list '^Test')
# They would skip themselves, on machines that take longer to start.
[ "${E2E_ALL:-}" = 1 ] || all=$(grep -vxF $'TestRewriteDualStackGateOn\nTestUpkeep\nTestNoEncapGateOff\nTestNoEncapGateOn\nTestHybridGateOff\nTestHybridGateOn\nTestWireGuardGateOff\nTestWireGuardGateOn\nTestNoEncapMatrixGateOff\nTestNoEncapMatrixGateOn\nTestHybridMatrixGateOff\nTestHybridMatrixGateOn\nTestWireGuardMatrixGateOff\nTestWireGuardMatrixGateOn\nTestNetkitNoEncapGateOn' <<<"$all")
mapfile -t suites < <(grep -xF "$longest" <<<"$all"; grep -vxF "$longest" <<<"$all")
[ ${#suites[@]} -gt 0 ] || { echo "test-e2e: bin/e2e.test has no tests"; exit 1; }

# run SUITE runs a suite in a machine of its own and shows its progress.
run() {
	local began=$SECONDS verdict=passed
	"${bed[@]}" --artifacts="$logs/$1" -- "${tests[@]}" -test.run "^$1\$" 2>&1 | tee "$logs/$1.log" |
		awk '/^\[ *[0-9.]+s\] .* (passed|FAILED) after/ { sub(/^\[[^]]*\] /, ""); print; fflush() }' || verdict=FAILED
	echo "$verdict" >"$logs/$1.verdict"
	echo "==> $1 $verdict after $((SECONDS - began)) s"
}

# Each suite is a process group of its own, so that an interrupt ends the machine and not only the shell that waits for it.
set -m
trap 'for suite in $(jobs -p); do kill -- "-$suite"; done; wait; exit 130' INT TERM
for suite in "${suites[@]}"; do
	[ "$(jobs -rp | wc -l)" -lt "$machines" ] || wait -n
	run "$suite" &
done
wait

failed=0
for suite in "${suites[@]}"; do
	if [ "$(cat "$logs/$suite.verdict")" != passed ]; then
		cat "$logs/$suite.log"
		failed=1
	fi
done
exit $failed
