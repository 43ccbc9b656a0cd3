#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Fuzzes each parser of what comes from outside for FUZZTIME (a duration, or a number of inputs such as 1000x): every function Fuzz... of the
# module but the ones in hack/fuzz.sh. An input that fails is printed, is kept below testdata/fuzz of its package, and fails the package's tests until
# the fault is repaired. The other targets still run.
#
#   hack/fuzz-parsers.sh [EXPRESSION]    only targets whose path/Name matches, such as cniserver/FuzzRequest
#   hack/fuzz-parsers.sh --list          prints the targets
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/fuzz-log.sh

go=${GO:-go}
module=$($go list -m)
# These compare the eBPF programs with the oracle, and report other things.
programs=pkg/agent/oncache/datapath/oracle

# targets prints FOLDER/NAME of each target, in the order of folders.
targets() {
	$go list -f '{{range .TestGoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}' ./... |
		sed "s|^$PWD/||" | { grep -v -e '^$' -e "^$programs/" || true; } |
		{ xargs grep -oE '^func Fuzz[A-Za-z0-9_]*\(f \*testing\.F\)' /dev/null || true; } |
		sed -E 's|/[^/]*:func ([A-Za-z0-9_]*).*|/\1|' | sort
}

all=$(targets)
if [ "${1:-}" = --list ]; then
	echo "$all"
	exit
fi
selected=$(grep -E -e "${1:-.}" <<<"$all") || {
	echo "fuzz-parsers: no target matches ${1:-.}; hack/fuzz-parsers.sh --list prints them" >&2
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Where the interesting inputs of earlier runs are: Go's own place for them.
corpus=$($go env GOCACHE)/fuzz
# A parser that believes a length may not get that much memory (KiB). The fuzzing itself shares 100 MiB with each worker.
ulimit -v $((6 << 20))

# input FOLDER LOG prints the inputs that failed according to the log: machines of CI do not keep their files. The line before it is one
# that hack/show-failures.sh counts among the target's output.
input() {
	local name file
	sed -nE -e 's/^ *Failing input written to (testdata\S*)$/\1/p' "$2" | while read -r file; do
		name=${file%/*}
		echo "=== input ${name##*/} $1/$file"
		head -c 20000 "$1/$file"
		echo
	done
	# Inputs of earlier runs are in the cache and get no file.
	sed -nE -e 's/^ *failure while testing seed corpus entry: (Fuzz\w*)\/([0-9a-f]{16,})$/\1 \2/p' "$2" | while read -r name file; do
		for file in "$1/testdata/fuzz/$name/$file" "$corpus/$module/$1/$name/$file"; do
			[ ! -e "$file" ] || { echo "=== input $name $file" && head -c 20000 "$file" && echo; }
		done
	done
}

failed=() built='' broken=''
for target in $selected; do
	folder=${target%/*} name=${target##*/}
	if [ "$built" != "$folder" ]; then
		built=$folder broken=''
		# Only the module's own code guides the fuzzing, and parsers of libraries that are called directly. go test -fuzz would compile all of
		# Kubernetes again, and count what happens there.
		$go test -c -ldflags=-w -o "$work/test" -gcflags="$module/...=-d=libfuzzer" -gcflags="github.com/vishvananda/netlink/nl=-d=libfuzzer" \
			-gcflags="github.com/ovn-kubernetes/libovsdb/...=-d=libfuzzer" "./$folder" || broken=' (does not build)'
	fi
	if [ "$broken" ]; then
		failed+=("$target$broken")
		continue
	fi
	echo "== $target"
	(cd "$folder" && "$work/test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${FUZZTIME:-1000x}" -test.fuzzminimizetime 100x \
		-test.fuzzcachedir "$corpus/$module/$folder" -test.parallel "${FUZZWORKERS:-2}" 2>&1) | shorten | tee "$work/log" ||
		ended_late "$work/log" || {
		failed+=("$target")
		input "$folder" "$work/log"
	}
	if grep -q 'not built with coverage instrumentation' "$work/log"; then
		failed+=("$target (without coverage)")
	fi
done
if [ ${#failed[@]} -gt 0 ]; then
	printf 'FAIL: %s\n' "${failed[@]}"
	exit 1
fi
echo "fuzz-parsers: $(wc -l <<<"$selected") targets, no failure"
