#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Fuzzes the eBPF programs against the oracle, FUZZTIME for each target (a duration, or a number of packets such as 1000x), and
# reports how many of the packets were hits (FuzzLearning and FuzzLocalLearning: were learned). A packet on which both disagree is kept below
# testdata/fuzz of the package and fails its tests until the fault is repaired.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stats=$(mktemp -d)
trap 'rm -rf "$stats"' EXIT

# ended_late LOG: the log's only failure is that the time is over. Go before 1.27 sometimes treats that as a failure when a
# busy machine keeps its workers from answering in time (go.dev/issue/75804).
ended_late() {
	! grep -q 'Failing input written' "$1" && [ "$(sed -n '/^--- FAIL/,/^FAIL/p' "$1" | sed '1d;$d')" = '    context deadline exceeded' ] &&
		echo "The deadline alone is not a failure (go.dev/issue/75804)."
}

for target in FuzzCases FuzzFrames FuzzLearning FuzzLocal FuzzLocalLearning; do
	rm -f "$stats"/*
	# The progress is reported every three seconds; one line a minute is enough.
	ONCACHE_FUZZ_STATS=$stats ${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-160s}" -fuzzminimizetime 100x \
		-parallel "${FUZZWORKERS:-2}" ./pkg/agent/oncache/datapath/oracle 2>&1 |
		awk '!/^fuzz: elapsed/ || n++ % 20 == 0 { print; fflush() }' | tee "$stats/log" || ended_late "$stats/log"
	rm "$stats/log"
	awk -v target="$target" '{ runs += $1; hits += $2 }
		END { printf "%s: %d packets, %.1f %% of them %s, no disagreement\n", target, runs, runs ? 100 * hits / runs : 0,
			target ~ "Learning$" ? "learned" : "hits" }' "$stats"/*
done
