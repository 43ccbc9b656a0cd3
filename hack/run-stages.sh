#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes targets one after the other, each a stage with its time: run-stages.sh STAGE... -- BESIDE...
#
# The stages after "--" run one after the other beside the last one before it, and get the processors only when nothing else wants
# them: the end-to-end tests leave them idle for a third of the time, and fuzzing takes what it gets. The output of each stage is kept in
# .testbed/STAGE.log. All stages run, also after one that fails. It ends with what the failed ones have said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stages=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	stages+=("$1")
	shift
done
beside=("${@:2}")
last=${stages[-1]}
logs=.testbed
mkdir -p $logs
rm -f $logs/*.stage

# No stage beside another one takes longer, or it hangs.
limit=75m

# run STAGE [COMMAND...] makes it, by a command that runs make, and keeps how long it took, and whether it failed, in a file.
run() {
	local begin=$SECONDS verdict=passed
	echo "==> $1"
	"${@:2}" "${MAKE:-make}" --no-print-directory "$1" 2>&1 || verdict=FAILED
	echo "$verdict $((SECONDS - begin))" >"$logs/$1.stage"
}

# verdict STAGE is the line that says what became of it. It fails if the stage did.
verdict() {
	local verdict=FAILED seconds=0
	# A stage that was ended before its end has no file.
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

# run_beside runs the stages beside the last one; it says what becomes of them, their output is in their logs.
run_beside() {
	chrt --idle --pid 0 $BASHPID
	for stage in "${beside[@]}"; do
		run "$stage" timeout --foreground --kill-after=1m $limit >"$logs/$stage.log"
		verdict "$stage" "beside $last" || true
	done
}

group=
# What runs beside cleans up when it is told to end.
trap 'if [ -n "$group" ]; then kill -- "-$group" 2>/dev/null || true; wait "$group" || true; fi' EXIT
trap 'exit 130' INT TERM

for stage in "${stages[@]}"; do
	if [ "$stage" = "$last" ] && [ ${#beside[@]} -gt 0 ]; then
		echo "==> beside $last: ${beside[*]} (output in $logs/STAGE.log)"
		set -m # a process group of their own, to be ended together
		run_beside &
		group=$!
		set +m
	fi
	run "$stage" | tee -i "$logs/$stage.log"
	# The later stages run all the same: a failure must not hide another one.
	verdict "$stage" >/dev/null || verdict "$stage" "the later stages still run" || true
done
if [ -n "$group" ]; then
	echo "==> waiting for what runs beside $last"
	wait "$group"
	group=
fi

summary= failed=()
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
