#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes targets, each a stage with its time: run-stages.sh ALONE... -- ORDINARY... -- LOW... -- IDLE...
#
# Stages of one group run one after the other: the stages of ALONE without others beside them, because what they measure would change, then the
# other three groups in parallel. LOW get little CPU time, but always some, since virtual machines do not boot without any; IDLE what
# nothing else wants. The output of each stage is in .testbed/STAGE.log. All stages run, even after one has failed. At the end the output of
# the failed ones is shown.
#
# hack/budgets has the CPU seconds of each stage, and hack/cpu-time.sh counts them. A stage that exceeds its budget by a quarter fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=() ordinary=() low=() idle=()
for group in alone ordinary low idle; do
	declare -n stages_of=$group
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		stages_of+=("$1")
		shift
	done
	shift || true
done
stages=("${alone[@]}" "${ordinary[@]}" "${low[@]}" "${idle[@]}")
logs=.testbed
mkdir -p $logs
rm -f $logs/*.stage $logs/*.time

# A stage beside others that takes longer than this is hung.
limit=75m

# run STAGE [COMMAND...] makes the stage, by a command that runs make, and stores in a file whether it failed, its duration, and its CPU time.
run() {
	local began=$SECONDS verdict=passed cpu
	echo "==> $1"
	hack/cpu-time.sh "$logs/$1.time" "${@:2}" "${MAKE:-make}" --no-print-directory "$1" 2>&1 || verdict=FAILED
	cpu=$(cat "$logs/$1.time")
	if [ "$verdict" = passed ] && ! hack/budget.sh "$1" "$cpu"; then
		verdict=FAILED
	fi
	echo "$verdict $((SECONDS - began)) $cpu" >"$logs/$1.stage"
}

# verdict STAGE prints the line with the result of the stage. It fails if the stage did.
verdict() {
	local verdict=FAILED seconds=0 cpu=0
	# A stage that was ended early has no file.
	[ ! -e "$logs/$1.stage" ] || read -r verdict seconds cpu <"$logs/$1.stage"
	echo "==> $1 $verdict after $seconds s (CPU $cpu s)${2:+, $2}"
	[ "$verdict" = passed ]
}

# explain STAGE shows what failed in it.
explain() {
	local said
	said=$(hack/show-failures.sh "$logs/$1.log")
	if [ -z "$said" ]; then
		said=$(tail -n 40 "$logs/$1.log")
	fi
	printf '%s\n' "$said"
}

# run_foreground STAGE... runs stages and shows their output.
run_foreground() {
	local stage
	for stage; do
		run "$stage" | tee -i "$logs/$stage.log"
		# The later stages still run: a failure must not hide another one.
		verdict "$stage" >/dev/null || verdict "$stage" "the later stages still run" || true
	done
}

# beside STAGE... runs stages and prints their results; their output is in their logs.
beside() {
	local stage
	for stage; do
		run "$stage" timeout --foreground --kill-after=1m $limit >"$logs/$stage.log"
		verdict "$stage" "beside others" || true
	done
}

# start_beside COMMAND STAGE... starts these stages, as a process group of their own, after COMMAND PID has given their shell its priority.
groups=()
start_beside() {
	local priority
	read -ra priority <<<"$1"
	shift
	[ $# -gt 0 ] || return 0
	echo "==> from now on beside the others: $* (output in $logs/STAGE.log)"
	set -m
	{
		"${priority[@]}" "$BASHPID" >/dev/null
		beside "$@"
	} &
	groups+=($!)
	set +m
}

# The stages beside others clean up when they are told to end.
end_groups() {
	local group
	for group in "${groups[@]}"; do
		kill -- "-$group" 2>/dev/null || true
	done
	wait || true
}
trap end_groups EXIT
trap 'exit 130' INT TERM

run_foreground "${alone[@]}"
start_beside 'renice -n 5 -p' "${low[@]}"
start_beside 'chrt --idle --pid 0' "${idle[@]}"
run_foreground "${ordinary[@]}"
if [ ${#groups[@]} -gt 0 ]; then
	echo "==> waiting for the stages beside others"
	wait "${groups[@]}"
	groups=()
fi

summary='' failed=() cpu_total=0
for stage in "${stages[@]}"; do
	if verdict "$stage" >/dev/null; then
		read -r _ seconds cpu <"$logs/$stage.stage"
		summary+=" $stage $seconds s (CPU $cpu s);"
		cpu_total=$((cpu_total + cpu))
	else
		failed+=("$stage")
	fi
done
for stage in "${failed[@]}"; do
	explain "$stage"
done
for stage in "${failed[@]}"; do
	verdict "$stage" || true
done
[ ${#failed[@]} -eq 0 ] || exit 1
echo "==> passed:$summary total $SECONDS s (CPU $cpu_total s)"
