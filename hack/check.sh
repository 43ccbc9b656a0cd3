#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Checks what one can wait for, at most five minutes with warm caches: check.sh [BASE]. Changes since the branch left BASE (default
# main), committed or not, are checked for format, by vet and by the unit tests of its packages with the race detector. Then each program in bin/,
# which make check builds, has to answer.
#
# It leaves out what needs a machine or minutes: the eBPF programs in the kernel, clusters, and packages that only import what has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go=${GO:-go} base=${1:-main}
limit=4m
begun=$(git merge-base HEAD "$base" 2>/dev/null) || {
	echo "check: there is no branch $base to compare with: make check BASE=REVISION" >&2
	exit 1
}
mapfile -t changed < <({ git diff --name-only --diff-filter=d "$begun"; git ls-files --others --exclude-standard; } | sort -u)
failed=()

# step NAME COMMAND... runs a step and prints its time; its output only if it fails.
step() {
	local began=$SECONDS output
	if output=$("${@:2}" 2>&1); then
		printf '%-10s ok, %d s\n' "$1" $((SECONDS - began))
	else
		printf '%-10s FAILED after %d s\n%s\n' "$1" $((SECONDS - began)) "$output"
		failed+=("$1")
	fi
}

# named PATTERN prints the changed files whose paths match the extended regular expression.
named() { printf '%s\n' "${changed[@]}" | grep -E "$1" || true; }

# packages prints the folders of changed Go files in this module, as ./FOLDER.
packages() {
	local folder
	named '\.go$|/testdata/|mutants\.txt$' | sed -E 's|/testdata/.*||; s|/[^/]*\.[a-z]+$||' | sort -u | while read -r folder; do
		[ -z "$(compgen -G "$folder/*.go")" ] || ! (cd "$folder" && [ "$($go list -m 2>/dev/null)" = "$module" ]) || echo "./$folder"
	done
}

check_format() {
	local unformatted
	unformatted=$(named '\.go$' | xargs -r gofmt -l)
	[ -z "$unformatted" ] || { echo "not formatted by gofmt: $unformatted" && return 1; }
	named '^bpf/.*\.[ch]$' | xargs -r clang-format-14 --dry-run --Werror
	git grep -lE '^#!/.*[/ ](ba)?sh$' -- "${scripts[@]}" 2>/dev/null | xargs -r shellcheck -x -P SCRIPTDIR
}

check_vet() {
	[ ${#vetted[@]} = 0 ] || "$go" vet "${vetted[@]}"
	"$go" run ./test/tools/mutants -check test/*/mutants.txt pkg/agent/oncache/datapath/*/mutants.txt
}

# check_tests leaves out packages whose tests need a machine (test-e2e), the kernel (test-bpf) or a cluster. The
# documents' tests read everything, and have nothing to race.
check_tests() {
	local tested=() package
	for package in "${vetted[@]}"; do
		case $package in
		./pkg/agent/oncache/datapath/* | ./test/e2e | ./test/acceptance | ./docs) ;;
		*) tested+=("$package") ;;
		esac
	done
	"$go" test -vet=off -timeout "$limit" ./docs || return 1
	[ ${#tested[@]} = 0 ] || CGO_ENABLED=1 "$go" test -race -vet=off -timeout "$limit" "${tested[@]}"
}

# check_programs asks each program for what it can say without a cluster, and lets the daemons refuse a configuration.
check_programs() {
	local program
	for program in antctl antrea-agent antrea-controller lab; do
		"bin/$program" --help >/dev/null || return 1
	done
	bin/lab kind >/dev/null || return 1
	CNI_COMMAND=VERSION bin/antrea-cni </dev/null | grep -q supportedVersions || { echo "antrea-cni does not print its versions" && return 1; }
	printf 'trafficEncapMode: nonsense\n' >"$work/antrea-agent.conf"
	printf 'apiPort: 99999999\n' >"$work/antrea-controller.conf"
	for program in antrea-agent antrea-controller; do
		! "bin/$program" --config "$work/$program.conf" >"$work/said" 2>&1 || { echo "$program accepts an invalid configuration" && return 1; }
		grep -qE 'trafficEncapMode: .*nonsense|apiPort: 99999999' "$work/said" || { echo "$program does not name the invalid key:" && cat "$work/said" && return 1; }
	done
	bin/helm template antrea build/charts/antrea --namespace kube-system --include-crds >"$work/antrea.yml"
	cmp -s "$work/antrea.yml" build/yamls/antrea.yml || { echo "build/yamls/antrea.yml is not what the chart renders: make manifest" && return 1; }
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
module=$($go list -m)
mapfile -t vetted < <(packages)
mapfile -t scripts < <(named '^(\.ci|build|ci|hack)/' | grep -v '\.go$' || true)
[ ${#scripts[@]} -gt 0 ] || scripts=(hack/check.sh)
echo "check: ${#changed[@]} files in ${#vetted[@]} packages have changed since $base (${begun:0:12})"
step format check_format
step vet check_vet
step tests check_tests
step programs check_programs
[ ${#failed[@]} = 0 ] || { echo "check: failed: ${failed[*]}" && exit 1; }
echo "check: passed after $SECONDS s; make test runs the rest"
