#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Sourced by the scripts that show that a truth table finds faults. Before: sets, seed, faults (the table), and
#   suite    the folder below test with the program truthtable, which is also the first word of its last line
#   wrong    an expression that matches what the program says about a wrong answer, and nothing else
# find_faults runs the lines of the table that begin with its argument, or all. With --match it only checks that the table matches the programs.
# shellcheck disable=SC2154
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build makes the program as it is, or with a file replaced.
build() { "$GO" build -ldflags "-s -w" "$@" -o "$work/truthtable" "./test/$suite/truthtable"; }

# run tries the random sets and writes what the program says to the log.
run() {
	begin=$SECONDS
	"$work/truthtable" -sets "$sets" -seed "$seed" -first >"$work/log" 2>&1
}

find_faults() {
	local only=${1-} match=
	[ "$only" != --match ] || only='' match=1
	if [ -z "$only$match" ]; then
		build
		run || { cat "$work/log"; echo "there are wrong answers without any fault"; exit 1; }
		printf '%-29s %s sets, nothing wrong, after %3d s\n' "no fault" "$sets" $((SECONDS - begin))
	fi
	missed=0
	while IFS= read -r line; do
		[[ $line == "$only"* ]] || continue
		IFS=$'\t' read -r name file from to <<<"$(sed -E 's/ *\| /\t/; s/ \| /\t/; s/ \|( |$)/\t/' <<<"$line")"
		file=pkg/$file
		FROM=$from TO=$to perl -0pe 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$file" >"$work/fault.go"
		if cmp -s "$file" "$work/fault.go"; then
			echo "$name: $file has no \"$from\" any more; bring $0 up to date"
			exit 1
		fi
		[ ! "$match" ] || continue
		echo "{\"Replace\": {\"$PWD/$file\": \"$work/fault.go\"}}" >"$work/overlay.json"
		build -overlay "$work/overlay.json"
		if run; then
			printf '%-29s not found in %s sets\n' "$name" "$sets"
			missed=$((missed + 1))
		elif grep -qP "$wrong" "$work/log"; then
			printf '%-29s found in set %2d after %3d s: %s\n' "$name" "$(grep -oP "^$suite: sets=\K[0-9]+" "$work/log")" $((SECONDS - begin)) \
				"$(grep -m1 -oP "$wrong" "$work/log")"
		else
			cat "$work/log"
			exit 1
		fi
	done <<<"$faults"
	[ ! "$match" ] || return 0
	echo "faults that the random sets did not find: $missed"
	[ "$missed" = 0 ]
}
