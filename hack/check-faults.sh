#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that test-faults finds what it is there for: a run in which datagrams are dropped, and one in which isolated Pods are open.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# sabotage EXPRESSION must be in the summary of a run with this fault.
for fault in 'lose lost_established=[1-9]' 'open forbidden_delivered=[1-9]'; do
	read -r sabotage found <<<"$fault"
	log=.testbed/faults-$sabotage.log
	if bin/testbed run --functional --artifacts=".testbed/faults-$sabotage" -- bin/faults -seed 1 -events 1 -sabotage -kinds "^$sabotage\$" >"$log" 2>&1; then
		echo "$sabotage: the run has passed, see $log"
		exit 1
	fi
	grep -E "^faults: events=1 .*$found" "$log" || { tail -n 20 "$log"; exit 1; }
done
