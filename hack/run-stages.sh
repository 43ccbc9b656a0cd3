#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes targets one after the other, each a stage with its time: run-stages.sh STAGE... -- STAGE... -- BACKGROUND_STAGE...
#
# The background stages run one after the other, in parallel with the stages between the two "--", and get only CPU time that
# nothing else wants: instructions are counted on one CPU, and fuzzing uses whatever it gets. The output of each stage is in
# .testbed/STAGE.log. All stages run, even after one has failed. At the end the output of the failed ones is shown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=() accompanied=()
while [ "$1" != -- ]; do
	alone+=("$1")
	shift
done
shift
while [ "$1" != -- ]; do
	accompanied+=("$1")
	shift
done
beside=("${@:2}")
stages=("${alone[@]}" "${accompanied[@]}")
logs=.testbed
mkdir -p $logs
rm -f $logs/*.stage

# A background stage that takes longer than this is hung.
limit=75m

# run STAGE [COMMAND...] makes the stage, by a command that runs make, and stores its duration and whether it failed in a
# file.
run() {
	local begin=$SECONDS verdict=passed
	echo "==> $1"
	"${@:2}" "${MAKE:-make}" --no-print-directory "$1" 2>&1 || verdict=FAILED
	echo "$verdict $((SECONDS - begin))" >"$logs/$1.stage"
}

# verdict STAGE prints the line with the result of the stage. It fails if the stage did.
verdict() {
	local verdict=FAILED seconds=0
	# A stage that was ended early has no file.
	[ ! -e "$logs/$1.stage" ] || read -r verdict seconds <"$logs/$1.stage"
	echo "==> $1 $verdict after $seconds s${2:+, $2}"
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

# run_beside runs the background stages. It prints their results; their output is in their logs.
run_beside() {
	chrt --idle --pid 0 $BASHPID
	for stage in "${beside[@]}"; do
		run "$stage" timeout --foreground --kill-after=1m $limit >"$logs/$stage.log"
		verdict "$stage" "in the background" || true
	done
}

group=
# The background stages clean up when they are told to end.
trap 'if [ -n "$group" ]; then kill -- "-$group" 2>/dev/null || true; wait "$group" || true; fi' EXIT
trap 'exit 130' INT TERM

for stage in "${stages[@]}"; do
	if [ "$stage" = "${accompanied[0]}" ] && [ ${#beside[@]} -gt 0 ]; then
		echo "==> in the background from now on: ${beside[*]} (output in $logs/STAGE.log)"
		set -m # a process group of their own, to be ended together
		run_beside &
		group=$!
		set +m
	fi
	run "$stage" | tee -i "$logs/$stage.log"
	# The later stages still run: a failure must not hide another one.
	verdict "$stage" >/dev/null || verdict "$stage" "the later stages still run" || true
done
if [ -n "$group" ]; then
	echo "==> waiting for the stages in the background"
	wait "$group"
	group=
fi

summary='' failed=()
for stage in "${stages[@]}" "${beside[@]}"; do
	if verdict "$stage" >/dev/null; then
		read -r _ seconds <"$logs/$stage.stage"
		summary+=" $stage $seconds s;"
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
echo "==> passed:$summary total $SECONDS s"
