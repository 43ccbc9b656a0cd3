#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the images and the chart of this commit and publishes them:
#
#   publish.sh REGISTRY [REF]
#
# REGISTRY is a host with a path, such as ghcr.io/antrea-oncache. It gets antrea-agent-ubuntu, antrea-controller-ubuntu and antrea-mc-controller, each
# as one index for IMAGE_ARCHS (default: amd64 arm64), and the chart, which has the first two, as charts/antrea. The tags come from the file VERSION:
#
#   1.2.3        images v1.2.3, chart 1.2.3; HEAD must have the tag v1.2.3; nothing that exists is replaced
#   1.2.3-dev    images latest, chart 1.2.3-dev; the former ones are replaced
#
# REF is the ref for which a CI system runs. A release is published for its tag: for a branch nothing is done then, and
# another tag is refused. With REGISTRY_USER and REGISTRY_PASSWORD in the environment it logs in for this run only;
# without, the login of `docker login` is used. A registry on a loopback address (for tests) is asked with HTTP.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Images of the chart. The others are of manifests.
images=(antrea-agent-ubuntu antrea-controller-ubuntu)
others=(antrea-mc-controller)
chart=build/charts/antrea
helm=$PWD/bin/helm

say() { printf 'publish: %s\n' "$*"; }
die() {
	printf 'publish: %s\n' "$*" >&2
	exit 1
}

# check refuses everything that can be refused before anything is built.
check() {
	local key
	[[ $registry =~ ^[a-z0-9.:-]+(/[a-z0-9._-]+)+$ ]] || die "the registry is \"$registry\", must be a host with a path in lower case, like ghcr.io/antrea-oncache"
	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-dev|-(alpha|beta|rc)\.[0-9]+)?$ ]] || die "VERSION is \"$version\", must be like 1.2.3, 1.2.3-rc.1 or 1.2.3-dev"
	for key in version appVersion; do
		grep -qx "$key: $version" "$chart/Chart.yaml" || die "$chart/Chart.yaml has another $key than VERSION, which is $version"
	done
	if [ -n "${REGISTRY_USER:-}" ] && [ -z "${REGISTRY_PASSWORD:-}" ]; then
		die "REGISTRY_USER is set, but REGISTRY_PASSWORD is not"
	fi
	if [ -z "$development" ]; then
		[ -z "$(git status --porcelain)" ] || die "the release $version needs a clean checkout; see git status"
		git tag --points-at HEAD | grep -x "v$version" >/dev/null || die "the release $version needs the tag v$version on this commit: git tag v$version"
	fi
}

# login makes credentials that both tools read, in the directory that is removed at the end.
login() {
	[ -n "${REGISTRY_USER:-}" ] || return 0
	"$helm" registry login "${registry%%/*}" --username "$REGISTRY_USER" --password-stdin --registry-config "$work/config.json" "${http[@]}" \
		<<<"$REGISTRY_PASSWORD"
	export DOCKER_CONFIG=$work
	http+=(--registry-config "$work/config.json")
}

# package_chart makes a package that installs exactly the images in the registry, or fails.
package_chart() {
	local used
	ci/copy-chart.sh "$registry" "$work/antrea"
	"$helm" package "$work/antrea" --destination "$work" >/dev/null
	used=$("$helm" template antrea "$package" --namespace kube-system | sed -n 's/^ *image: "\(.*\)"$/\1/p' | sort -u)
	[ "$used" = "$(printf "$registry/%s:$tag\n" "${images[@]}")" ] || die "the chart would install these images: ${used//$'\n'/, }"
}

push_images() {
	local options=()
	[ -z "$development" ] || options=(--replace)
	"${GO:-go}" run ./build/images/cmd/publish --registry "$registry" --tag "$tag" --version "v$version" --arch "${archs// /,}" \
		"${options[@]}" "${images[@]}" "${others[@]}"
}

push_chart() {
	if [ -z "$development" ] && "$helm" show chart "oci://$registry/charts/antrea" --version "$version" "${http[@]}" >/dev/null 2>&1; then
		say "the chart $version is in the registry already"
		return
	fi
	"$helm" push "$package" "oci://$registry/charts" "${http[@]}"
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	sed -n '7s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
registry=$1
version=$(cat VERSION)
archs=${IMAGE_ARCHS:-amd64 arm64}
development='' tag=v$version http=()
case $version in *-dev) development=1 tag=latest ;; esac
case $registry in localhost[:/]* | 127.*) http=(--plain-http) ;; esac
case ${2:-v$version} in
"v$version") ;;
v[0-9]*) die "the tag is $2, but VERSION is $version" ;;
*)
	[ -n "$development" ] || {
		say "the release $version is published for its tag, not for $2"
		exit 0
	}
	;;
esac
check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=$work/antrea-$version.tgz
"${MAKE:-make}" bin/helm images IMAGE_ARCHS="$archs"
package_chart
login
say "pushing version $version to $registry"
push_images
push_chart
say "published: helm install antrea oci://$registry/charts/antrea --version $version --namespace kube-system"
