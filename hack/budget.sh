#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if a stage has used a quarter more CPU time than hack/budgets allows: budget.sh STAGE SECONDS SPEED. A machine that is slower than the
# one with which the budgets were recorded, or that is shared, gets more in proportion, and a stage without a budget fails. How slow it is differs
# from minute to minute: SPEED is the output of "budget.sh speed" from when the stage began, and the slower of that and of now counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# measure prints the CPU milliseconds of a loop, which tells how fast this machine is at the moment.
measure() {
	local TIMEFORMAT=%3U i
	{ time for ((i = 0; i < 400000; i++)); do :; done; } 2>&1 | tr -d .
}
now=$((10#$(measure)))
if [ "$1" = speed ]; then
	echo "$now"
	exit
fi

stage=$1 used=$2 before=$3
budget=$(awk -v stage="$stage" '$1 == stage { print $2 }' budgets)
[ -n "$budget" ] || { echo "budget: hack/budgets has no line for $stage, which took $used CPU seconds"; exit 1; }
recorded=$(awk '$1 == "speed" { print $2 }' budgets)

now=$((now > before ? now : before))
slower=$((now > recorded ? now * 100 / recorded : 100))
# Half a minute is noise.
limit=$((budget * slower / 80 + 30))
if [ "$used" -gt "$limit" ]; then
	echo "budget: $stage took $used CPU seconds; its budget is $budget, and $limit would pass at this machine's speed ($slower % of the recorded time for a loop)"
	exit 1
fi
