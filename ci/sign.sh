#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Signs the images and the chart that ci/publish.sh pushes:
#
#   sign.sh REGISTRY [DIGESTS]
#
# DIGESTS (default: bin/digests) is the file that ci/publish.sh writes. These digests are signed, whatever the tags point to by now.
# cosign takes the identity of the workflow in which it runs, without a key of ours, and puts the signatures beside the images. An index and its image
# of each architecture are signed. With REGISTRY_USER and REGISTRY_PASSWORD in the environment it logs in for this run only. SECURITY.md says how to
# verify the signatures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
	printf 'sign: %s\n' "$*" >&2
	exit 1
}

# check refuses a list that is not what ci/publish.sh writes. Nothing is signed then.
check() {
	local line name found
	[ -s "$digests" ] || die "$digests does not exist, or is empty: ci/publish.sh writes it"
	while IFS= read -r line; do
		[[ $line =~ ^[0-9a-f]{64}\ \ [a-z0-9./:_-]+$ ]] || die "$digests has \"$line\", must be like sha256sum's lines"
		name=${line:66}
		[ "${name#"$registry"/}" != "$name" ] || die "$digests has $name, which is not in $registry"
	done <"$digests"
	for name in antrea-agent-ubuntu antrea-controller-ubuntu antrea-mc-controller charts/antrea; do
		found=$(grep -c "  $registry/$name\$" "$digests" || true)
		[ "$found" = 1 ] || die "$digests has $registry/$name $found times, must have it once"
	done
}

login() {
	[ -n "${REGISTRY_USER:-}" ] || return 0
	[ -n "${REGISTRY_PASSWORD:-}" ] || die "REGISTRY_USER is set, but REGISTRY_PASSWORD is not"
	export DOCKER_CONFIG=$work
	cosign login "${registry%%/*}" --username "$REGISTRY_USER" --password-stdin <<<"$REGISTRY_PASSWORD"
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	sed -n '7s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
registry=$1 digests=${2:-bin/digests}
command -v cosign >/dev/null || die "cosign is not in PATH"
check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
login
while read -r digest name; do
	cosign sign --yes --recursive "$name@sha256:$digest" </dev/null
done <"$digests"
