#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the eBPF programs' tests on Debian's kernels: test-kernels.sh KERNEL..., each in virtual machines of its own, all in
# parallel. A machine keeps one CPU busy, so each kernel has one for the package packets, which takes half of the time, and one for the
# other packages. KERNEL_TESTS_SKIP is a pattern of tests to leave out. KERNEL_TESTS_BETWEEN lists kernels between an older and a newer one
# that run everything. Such a kernel runs what can fail there alone: its verifier loads the programs, they are attached and replaced, and
# netkit devices, which the older kernel may lack. The output of the machines is kept below .testbed, and shown if they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p .testbed
skip=${KERNEL_TESTS_SKIP:-'^TestCost'}
# tests_on KERNEL PART prints the commands. Each package's tests run in its folder, where their testdata is.
tests_on() {
	local folder package only part
	for folder in $(find pkg/agent/oncache/datapath -name '*_test.go' -printf '%h\n' | sort -u); do
		package=${folder##*/} only='' part=others
		[ "$package" != packets ] || part=packets
		[ "$part" = "$2" ] || continue
		if is_between "$1"; then
			case $package in
			datapath) only='Jiffies|DumpReplaysVerdicts|BitField|Alignment|MapStats' ;;
			object) ;;
			attached) only='Netkit|AttachReplaceDetach|Bypassed' ;;
			*) continue ;;
			esac
		fi
		echo "cd $PWD/$folder; $PWD/bin/$package.test -test.v -test.run='$only' -test.skip='$skip';"
	done
	[ "$2" != others ] || echo "$PWD/bin/cniserver.test -test.v -test.run=Netkit"
}
is_between() { [[ " ${KERNEL_TESTS_BETWEEN:-} " == *" $1 "* ]]; }

declare -A machines=()
names=()
# start KERNEL PART starts a machine.
start() {
	CNISERVER_TEST_PLUGINS=$PWD/bin bin/lab vm --kernel="$1" -- /bin/sh -ec "$(tests_on "$1" "$2")" \
		>".testbed/kernel-$1-$2.log" 2>&1 &
	machines[$1-$2]=$!
	names+=("$1-$2")
}
# Background processes do not receive the terminal's interrupt.
trap 'kill "${machines[@]}" 2>/dev/null; exit 130' INT TERM
for kernel in "$@"; do
	is_between "$kernel" || start "$kernel" packets
	start "$kernel" others
done
failed=0
for name in "${names[@]}"; do
	log=.testbed/kernel-$name.log
	if wait "${machines[$name]}"; then
		echo "$name, $(grep -om1 'booting [^ ]*' "$log"): $(grep -c '^--- PASS' "$log") tests passed, $(grep -c '^--- SKIP' "$log") skipped"
	else
		cat "$log"
		echo "$name: FAILED, see above"
		failed=1
	fi
done
exit $failed
