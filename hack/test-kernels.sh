#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the eBPF programs' tests on Debian's kernels: test-kernels.sh KERNEL..., each in a virtual machine of its own, all in
# parallel, because one machine keeps one CPU busy. KERNEL_TESTS_SKIP is a pattern of tests to leave out, KERNEL_TESTS_BETWEEN lists kernels
# that leave out the package packets, whose tests run single programs, because an older and a newer kernel run it. Their output is kept
# below .testbed, and shown if they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p .testbed
skip=${KERNEL_TESTS_SKIP:-'^TestCost'}
# tests_on KERNEL prints the commands. Each package's tests run in its folder, where their testdata is.
tests_on() {
	local folder
	for folder in $(find pkg/agent/oncache/datapath -name '*_test.go' -printf '%h\n' | sort -u); do
		[[ " ${KERNEL_TESTS_BETWEEN:-} " != *" $1 "* || $folder != */packets ]] || continue
		echo "cd $PWD/$folder; $PWD/bin/${folder##*/}.test -test.v -test.skip='$skip';"
	done
	echo "$PWD/bin/cniserver.test -test.v -test.run=Netkit"
}
declare -A machines=()
# Background processes do not receive the terminal's interrupt.
trap 'kill "${machines[@]}" 2>/dev/null; exit 130' INT TERM
for kernel in "$@"; do
	CNISERVER_TEST_PLUGINS=$PWD/bin bin/lab vm --kernel="$kernel" -- /bin/sh -ec "$(tests_on "$kernel")" \
		>".testbed/kernel-$kernel.log" 2>&1 &
	machines[$kernel]=$!
done
failed=0
for kernel in "$@"; do
	log=.testbed/kernel-$kernel.log
	if wait "${machines[$kernel]}"; then
		echo "$kernel, $(grep -om1 'booting [^ ]*' "$log"): $(grep -c '^--- PASS' "$log") tests passed, $(grep -c '^--- SKIP' "$log") skipped"
	else
		cat "$log"
		echo "$kernel: FAILED, see above"
		failed=1
	fi
done
exit $failed
