#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs network cases of Kubernetes' own end-to-end tests, unmodified, on the cluster of make cluster-up: conformance.sh [FOCUS]. FOCUS is a
# regular expression for names of cases; without it, all of Services and NetworkPolicy run that two Nodes without the Internet, a cloud, or SCTP
# can pass.
#
# CONFORMANCE_JOBS processes of the test program share the cases (3): most of their time they wait. Their outputs are in
# .testbed/conformance/N.log; at the end there is the list of what has been run, and what failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

focus=${1:-'\[sig-network\] (Services|Netpol)'}
jobs=${CONFORMANCE_JOBS:-3}
# Disruptive and serial cases restart the control plane, which is not in Pods here; the others need what their names say.
skip='\[Disruptive\]|\[Serial\]|\[Slow\]|LoadBalancer|SCTPConnectivity'
report=.testbed/conformance

program=$(bin/lab program e2e.test)
kubeconfig=$(bin/lab kubeconfig)
PATH=$(dirname "$(bin/lab program kubectl)"):$PATH
rm -rf $report
mkdir -p $report/all

# e2e FOCUS [FLAG...] runs Kubernetes' program.
e2e() {
	"$program" --kubeconfig="$kubeconfig" --provider=local --allowed-not-ready-nodes=0 --minStartupPods=1 --ginkgo.no-color --ginkgo.v \
		--ginkgo.focus="$1" --ginkgo.skip="$skip" "${@:2}" 2>&1
}

# names DIR STATUS prints the cases with this status in the report there, which has a line for each case of the whole program.
names() {
	sed -nE "s/.*<testcase name=\"\[It\] (.*)\" classname=.* status=\"$2\".*/\1/p" "$1"/junit_*.xml | sed 's/&#39;/'"'"'/g; s/&#34;/"/g; s/&amp;/\&/g'
}

e2e "$focus" --ginkgo.dry-run --report-dir=$report/all >$report/list.log || {
	cat $report/list.log
	exit 1
}
mapfile -t cases < <(names $report/all passed | sort -u)
[ ${#cases[@]} -gt 0 ] || {
	echo "conformance: no case has a name that matches $focus" >&2
	exit 2
}
echo "conformance: ${#cases[@]} cases, $jobs at a time"

# share N prints the regular expression for the Nth share of the cases, whose whole names are at the end of what it is matched with.
share() {
	printf '%s\n' "${cases[@]}" | awk -v n="$1" -v jobs="$jobs" '(NR - 1) % jobs == n' | sed 's/[][().*+?|^$\\{}]/\\&/g' | paste -sd'|' | sed 's/.*/(&)$/'
}

# interrupted ends the programs, each of which is a process group of its own.
interrupted() {
	local process
	for process in $(jobs -p); do kill -- "-$process"; done
	wait
	exit 130
}
set -m
trap interrupted INT TERM
for ((n = 0; n < jobs && n < ${#cases[@]}; n++)); do
	e2e "$(share $n)" --ginkgo.timeout=4h --report-dir=$report/$n |
		tee $report/$n.log | { grep -aE --line-buffered '^• |^Ran |\[FAIL\]' || true; } &
done
wait

results=("$report"/[0-9]*/)
list() { for result in "${results[@]}"; do names "$result" "$1"; done | sort; }
list passed | sed 's/^/passed: /'
# The others have skipped themselves: the cluster lacks something, and their output says what.
list skipped | sort -u | comm -12 - <(printf '%s\n' "${cases[@]}") | comm -23 - <({ list passed; list failed; } | sort -u) >$report/skipped
sed 's/^/skipped by itself: /' $report/skipped
list failed | sed 's/^/FAILED: /'
passed=$(list passed | wc -l)
skips=$(wc -l <$report/skipped)
failed=$((${#cases[@]} - passed - skips))
echo "conformance: cases=${#cases[@]} passed=$passed failed=$failed skipped=$skips"
[ $failed = 0 ]
