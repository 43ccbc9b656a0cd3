# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# For scripts that fuzz: what they make of the output of one target.

# shorten passes on a report of progress every minute, and the last one. Go reports it every three seconds.
shorten() {
	awk '/^fuzz: elapsed/ { last = $0; if (n++ % 20 == 0) { print; last = "" }; fflush(); next }
		{ if (last != "") print last; last = ""; print; fflush() }'
}

# ended_late LOG: the log's only failure is the end of the time. Go before 1.27 sometimes treats that as a failure when a
# busy machine keeps its workers from answering in time (go.dev/issue/75804).
ended_late() {
	! grep -q 'Failing input written' "$1" && [ "$(sed -n '/^--- FAIL/,/^FAIL/p' "$1" | sed '1d;$d')" = '    context deadline exceeded' ] &&
		echo "The deadline alone is not a failure (go.dev/issue/75804)."
}

# starved LOG PACKAGE: the log's only failure is a worker that has not answered for some seconds, on an input that passes alone: on a busy machine, fuzzing
# gets no processor for so long. The input is removed.
starved() {
	local input
	grep -q 'fuzzing process hung or terminated unexpectedly' "$1" || return
	[ "$(grep -c 'Failing input written' "$1")" = 1 ] || return
	input=$(sed -n 's/.*Failing input written to //p' "$1")
	${GO:-go} test -count=1 -run "^${input#testdata/fuzz/}\$" "./$2" && rm "$2/$input" &&
		echo "Its input passes alone, so this is not a failure: the fuzzing process had no processor for some seconds."
}
