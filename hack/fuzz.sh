#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Fuzzes the eBPF programs against the oracle, FUZZTIME for each target (a duration, or a number of packets such as 1000x), and
# reports how many of the packets were hits (FuzzLearning and FuzzLocalLearning: were learned). A packet on which both disagree is kept below
# testdata/fuzz of the package and fails its tests until the fault is repaired.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/fuzz-log.sh

package=pkg/agent/oncache/datapath/oracle

stats=$(mktemp -d)
trap 'rm -rf "$stats"' EXIT

mapfile -t targets < <(grep -hoE '^func Fuzz[A-Za-z0-9_]*' $package/*_test.go | sed 's/func //' | sort)
for target in "${targets[@]}"; do
	rm -f "$stats"/*
	ONCACHE_FUZZ_STATS=$stats ${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-160s}" -fuzzminimizetime 100x \
		-parallel "${FUZZWORKERS:-2}" ./$package 2>&1 |
		shorten | tee "$stats/log" || ended_late "$stats/log" || starved "$stats/log" $package
	rm "$stats/log"
	awk -v target="$target" '{ runs += $1; hits += $2 }
		END { printf "%s: %d packets, %.1f %% of them %s, no disagreement\n", target, runs, runs ? 100 * hits / runs : 0,
			target ~ "Learning$" ? "learned" : "hits" }' "$stats"/*
done
