#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Checks the Promela models of docs/design/model with spin: the protocol as built must hold, and every broken variant must
# be found. A checker that finds nothing wrong with the broken ones proves nothing.
set -euo pipefail
models=$(cd "$(dirname "${BASH_SOURCE[0]}")/../docs/design/model" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# check MODEL VARIANT EXPECTED(0 or 1 errors) PAN_FLAGS... The variable compile is for the compiler: -DCOLLAPSE saves memory.
check() {
	local model=$1 variant=$2 expected=$3 errors states optimize=-O2
	shift 3
	# The search ends at the first error, before the time that optimizing takes.
	[ "$expected" = 0 ] || optimize=-O0
	spin -a "-D$variant" "$models/$model.pml" >spin.log
	gcc $optimize -w -DNOREDUCE ${compile:+"$compile"} -o pan pan.c
	./pan "$@" -m1000000 >pan.log 2>&1 || true
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
	states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.log)
	if grep -q 'max search depth too small\|out of memory' pan.log || [ "$errors" != "$expected" ]; then
		echo "model: $model $variant: $errors errors, expected $expected"
		cat pan.log
		[ ! -e "$model.pml.trail" ] || spin -t -p -g "-D$variant" "$models/$model.pml" | tail -n 60
		failed=1
	else
		echo "model: $model $variant: $([ "$errors" = 0 ] && echo holds || echo "broken, and found"), $states states"
	fi
	rm -f ./*.trail
}

check coherency AS_BUILT 0
check coherency LOSE_EVICTION 0
for variant in PAPER SEPARATE_BUNDLES BUMP_FIRST TWO_STORES NO_LEASE; do
	check coherency "$variant" 1
done
check stamps AS_BUILT 0
for variant in NO_STAMP BUMP_FIRST OWN_COUNT WRAP; do
	check stamps "$variant" 1
done
check restart AS_BUILT 0
for variant in NO_COMPARISON LATE_END NO_EVICTION SAME_EPOCH SILENT; do
	check restart "$variant" 1
done
check local AS_BUILT 0
for variant in ONE_EPOCH ONE_GENERATION NODE_EPOCH STAMP STAMP_WRAP; do
	check local "$variant" 1
done
check handshake AS_BUILT 0
for variant in NO_CANCEL ANY_SYNACK BOTH LOST_NOTE; do
	check handshake "$variant" 1
done
check services AS_BUILT 0
for variant in ANY_ANSWERS ONE_WAY OWN_FORGERY; do
	check services "$variant" 1
done
check halves AS_BUILT 0 -a -f
check halves PROVE_ONCE 1 -a -f
for variant in AS_DESIGNED MAPS_LOST MOVES OTHER_SENDER; do
	check keys "$variant" 0
done
for variant in SHORT_REST LATE ONE_LEASE OWN_LEASE FROM_LEASE VOID_IS_FREE VOID_DROPPED NO_TTL NO_OWNER NO_WAIT REMOVE_AT_ONCE \
	KEEP_KEY HEAR_ANY ANY_SENDER; do
	check keys "$variant" 1
done
check take AS_BUILT 0
for variant in NO_SERIAL NO_SECOND_LOOK SERIAL_FIRST; do
	check take "$variant" 1
done
check telling AS_BUILT 0 -a -f
for variant in NO_REMINDER TOO_RARE; do
	check telling "$variant" 1 -a -f
done
compile=-DCOLLAPSE check openings AS_BUILT 0
for variant in LATE NO_WAIT NO_SECOND_LOOK LOOK_AFTER EVICTS SYNACK_MAKES SYN_RESETS UNANSWERED NO_NUMBER TWO_STEPS NO_BAR LOST_BAR \
	BARS_BLINDLY ONE_LOOK BEGINS_AGAIN NEW_COUNTS NO_GENERATION VOIDS NO_NOTE NOTED_PASSES TAKEN_AT_ONCE NO_CUT CUT_FIRST; do
	check openings "$variant" 1
done
exit "$failed"
