#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes targets, each a stage with its time: run-stages.sh ALONE... -- ORDINARY... -- SECOND... -- LOW... -- IDLE... -- IDLE...
#
# Stages of one group run one after the other: the stages of ALONE without others beside them, because what they measure would change, then the
# other five groups in parallel. SECOND have the priority of ORDINARY. LOW get little CPU time, but always some, since virtual machines do not
# boot without any; IDLE what nothing else wants. The output of each stage is in .testbed/STAGE.log; the outputs of ALONE and ORDINARY are shown as well.
# All stages run, even after one has failed. At the end the output of the failed ones is shown.
#
# hack/budgets has the CPU seconds of each stage, and hack/cpu-time.sh counts them. A stage that exceeds its budget by a quarter fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=() ordinary=() second=() low=() idle=() idle2=()
for group in alone ordinary second low idle idle2; do
	declare -n stages_of=$group
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		stages_of+=("$1")
		shift
	done
	shift || true
done
[ $# -eq 0 ] || {
	echo "run-stages: these stages are in a seventh group, but there are only six: $*" >&2
	exit 2
}
stages=("${alone[@]}" "${ordinary[@]}" "${second[@]}" "${low[@]}" "${idle[@]}" "${idle2[@]}")
logs=.testbed
mkdir -p $logs
rm -f $logs/*.stage $logs/*.time
for stage in "${stages[@]}"; do rm -f "$logs/$stage.log"; done

# A stage beside others that takes longer than this is hung.
limit=75m
# The seconds in which stages clean up when they are told to end.
grace=60

# run STAGE [COMMAND...] makes the stage, by a command that runs make, and stores in a file whether it failed, its duration, and its CPU time.
run() {
	local began=$SECONDS verdict=passed cpu speed
	echo "==> $1"
	speed=$(hack/budget.sh speed)
	hack/cpu-time.sh "$logs/$1.time" "${@:2}" "${MAKE:-make}" --no-print-directory "$1" 2>&1 || verdict=FAILED
	# A program that was killed has not written it.
	cpu=$(grep -xE '[0-9]+' "$logs/$1.time" 2>/dev/null) || {
		echo "budget: the CPU time of $1 is unknown, since hack/cpu-time.sh did not write it"
		cpu=0 verdict=FAILED
	}
	if [ "$verdict" = passed ] && ! hack/budget.sh "$1" "$cpu" "$speed"; then
		verdict=FAILED
	fi
	echo "$verdict $((SECONDS - began)) $cpu" >"$logs/$1.stage"
}

# verdict STAGE prints the line with the result of the stage. It fails if the stage did.
verdict() {
	local verdict seconds cpu
	# A stage that was ended early, or never began because its group was, has no file.
	if [ ! -e "$logs/$1.stage" ]; then
		echo "==> $1 FAILED: it has not run to its end"
		return 1
	fi
	read -r verdict seconds cpu <"$logs/$1.stage"
	echo "==> $1 $verdict after $seconds s (CPU $cpu s)${2:+, $2}"
	[ "$verdict" = passed ]
}

# explain STAGE shows what failed in it.
explain() {
	local said
	[ -e "$logs/$1.log" ] || return 0
	said=$(hack/show-failures.sh "$logs/$1.log")
	if [ -z "$said" ]; then
		said=$(tail -n 40 "$logs/$1.log")
	fi
	printf '%s\n' "$said"
}

# shown STAGE... runs stages and shows their output.
shown() {
	local stage
	for stage; do
		# When all are told to end, tee still takes the last words: a program that cannot write them dies before it has cleaned up.
		run "$stage" | (trap '' HUP INT TERM && exec tee "$logs/$stage.log")
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

# start FUNCTION COMMAND STAGE... starts these stages, as a process group of their own, after COMMAND PID has given their shell its priority.
groups=()
start() {
	local function=$1 priority
	read -ra priority <<<"$2"
	shift 2
	[ $# -gt 0 ] || return 0
	[ "$function" = shown ] || echo "==> from now on beside the others: $* (output in $logs/STAGE.log)"
	set -m
	{
		"${priority[@]}" "$BASHPID" >/dev/null
		"$function" "$@"
	} </dev/null &
	groups+=($!)
	set +m
}

# finish GROUP waits for its end. If its shell was killed, the stages without a result have failed, and the one that still runs ends.
finish() {
	wait "$1" || end "$1"
}

# members GROUP lists the processes of a process group that are not zombies.
members() {
	ps -eo pgid=,stat=,pid=,args= | awk -v group="$1" '$1 == group && $2 !~ /^Z/'
}

# end GROUP... tells the processes to end, and waits until they have cleaned up. Processes that still run are killed.
end() {
	local group left deadline=$((SECONDS + grace))
	for group; do
		kill -- "-$group" 2>/dev/null || true
	done
	for group; do
		while left=$(members "$group") && [ -n "$left" ]; do
			if [ $SECONDS -ge $deadline ]; then
				printf '==> killed, since they did not end within %s s:\n%s\n' "$grace" "$left"
				kill -KILL -- "-$group" 2>/dev/null || true
				break
			fi
			sleep 0.1
		done
	done
}
trap 'end "${groups[@]}"' EXIT
trap 'exit 130' HUP INT TERM

start shown : "${alone[@]}"
[ ${#groups[@]} = 0 ] || finish "${groups[0]}"
groups=()
start beside : "${second[@]}"
start beside 'renice -n 5 -p' "${low[@]}"
start beside 'chrt --idle --pid 0' "${idle[@]}"
start beside 'chrt --idle --pid 0' "${idle2[@]}"
others=("${groups[@]}")
start shown : "${ordinary[@]}"
[ ${#groups[@]} = ${#others[@]} ] || finish "${groups[-1]}"
if [ ${#others[@]} -gt 0 ]; then
	echo "==> waiting for the stages beside others"
	for group in "${others[@]}"; do finish "$group"; done
fi
groups=()

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
