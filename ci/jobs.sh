#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# The jobs that a CI system runs for a commit:
#
#   jobs.sh list            prints each job and the machine that it needs
#   jobs.sh matrix KIND     prints the jobs of a kind (check, cluster or e2e) as the matrix of a GitHub workflow
#   jobs.sh run JOB         runs a job
#
# test runs make test, which has virtual machines for Debian's kernels. cluster-TARGET runs make TARGET, on a cluster of machines of user-mode
# Linux. The names of the others have four parts: check (antctl check installation) or e2e (upstream Antrea's tests, from the checkout in
# $UPSTREAM), the tunnel, the IP family, the gate ONCache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
	printf 'jobs: %s\n' "$*" >&2
	exit 1
}

list() {
	local target tunnel family gate
	echo "test debian-12"
	for target in acceptance conformance lifecycle; do
		echo "cluster-$target debian-12"
	done
	for tunnel in geneve vxlan; do
		for family in ipv4 ipv6 dual; do
			for gate in off on; do
				echo "check-$tunnel-$family-$gate ubuntu-24.04"
			done
		done
	done
	# Another kernel.
	echo "check-geneve-dual-on-older ubuntu-22.04"
	for gate in off on; do
		echo "e2e-geneve-ipv4-$gate ubuntu-24.04"
	done
	echo "e2e-vxlan-ipv4-on ubuntu-24.04"
	echo "e2e-geneve-ipv6-on ubuntu-24.04"
	echo "e2e-geneve-dual-on ubuntu-24.04"
}

matrix() {
	case $1 in check | cluster | e2e) ;; *) die "the kind is \"$1\", must be check, cluster or e2e" ;; esac
	list | awk -v kind="$1-" 'index($1, kind) == 1 { printf "%s{\"job\":\"%s\",\"runner\":\"%s\"}", sep, $1, $2; sep = "," }' |
		sed 's/.*/{"include":[&]}\n/'
}

run() {
	local kind tunnel family gate
	list | grep "^$1 " >/dev/null || die "there is no job \"$1\"; see jobs.sh list"
	IFS=- read -r kind tunnel family gate _ <<<"$1"
	echo "jobs: $1 on Linux $(uname -r)"
	case $kind in
	test) .ci/run ;;
	cluster) make "${1#cluster-}" ;;
	check) ci/kind/check.sh --gate "$gate" --tunnel-type "$tunnel" --ip-family "$family" ;;
	e2e)
		[ -n "${UPSTREAM:-}" ] || die "UPSTREAM is not set, must be a checkout of upstream Antrea"
		ci/kind/test-e2e-kind.sh --upstream "$UPSTREAM" --gate "$gate" -- --tunnel-type "$tunnel" --ip-family "$family"
		;;
	esac
}

case "$#$*" in
1list) list ;;
2matrix\ *) matrix "$2" ;;
2run\ *) run "$2" ;;
*)
	sed -n '7,9s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
	;;
esac
