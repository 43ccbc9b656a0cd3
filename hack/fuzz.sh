#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Fuzzes the eBPF programs against the oracle, FUZZTIME for each target, and says how many of the packets were hits
# (FuzzLearning: were learned). A packet on which both do not agree is kept below testdata/fuzz of the package and fails its
# tests until the fault is gone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stats=$(mktemp -d)
trap 'rm -rf "$stats"' EXIT
for target in FuzzCases FuzzFrames FuzzLearning; do
	rm -f "$stats"/*
	# Of the progress that is reported every three seconds, one line a minute is enough.
	ONCACHE_FUZZ_STATS=$stats ${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-160s}" -fuzzminimizetime 100x \
		-parallel "${FUZZWORKERS:-2}" ./pkg/agent/oncache/datapath |
		awk '!/^fuzz: elapsed/ || n++ % 20 == 0 { print; fflush() }'
	awk -v target="$target" '{ runs += $1; hits += $2 }
		END { printf "%s: %d packets, %.1f %% of them %s, no disagreement\n", target, runs, runs ? 100 * hits / runs : 0,
			target == "FuzzLearning" ? "learned" : "hits" }' "$stats"/*
done
