#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the images and the chart of this commit and publishes them:
#
#   publish.sh REGISTRY [REF] [--build docker|archives]
#
# REGISTRY is a host with a path, such as ghcr.io/antrea-oncache. It gets antrea-agent-ubuntu, antrea-controller-ubuntu and antrea-mc-controller, each
# as one index for IMAGE_ARCHS (default: amd64 arm64), and the chart, which has the first two, as charts/antrea. The tags come from the file VERSION:
#
#   1.2.3        images v1.2.3, chart 1.2.3; HEAD must have the tag v1.2.3; nothing that exists is replaced
#   1.2.3-dev    images latest, chart 1.2.3-dev; the former ones are replaced
#
# REF is the ref for which a CI system runs. A release is published for its tag: for a branch nothing is done then, and
# another tag is refused. With REGISTRY_USER and REGISTRY_PASSWORD in the environment it logs in for this run only (not with --build docker, which refuses them);
# without, the login of `docker login` is used. A registry on a loopback address (for tests) is asked with HTTP.
#
# Without --build docker, `make images` makes the images, on Debian 12. With it, docker builds the Dockerfiles on any system, and pushes each image when
# it is complete; docker with buildx, git and helm must be in PATH. Such a build does not give the same digest again, so a release's image that is in
# the registry stays if this checkout has pushed it (bin/pushed-COMMIT). For several architectures, buildx needs a builder that can make them.
#
# bin/digests gets the digests that were pushed, as sha256sum writes them, for ci/sign.sh. Whoever can write to the registry could push other content
# under a release's tag beforehand: it is refused, since it would be signed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Images of the chart. The others are of manifests.
images=(antrea-agent-ubuntu antrea-controller-ubuntu)
others=(antrea-mc-controller)
chart=build/charts/antrea
helm=$PWD/bin/helm
digests=bin/digests

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
	case $build in docker) check_docker ;; archives) ;; *) die "--build is \"$build\", must be docker or archives" ;; esac
	if [ -n "${REGISTRY_USER:-}" ] && [ -z "${REGISTRY_PASSWORD:-}" ]; then
		die "REGISTRY_USER is set, but REGISTRY_PASSWORD is not"
	fi
	if [ -z "$development" ]; then
		[ -z "$(git status --porcelain)" ] || die "the release $version needs a clean checkout; see git status"
		git tag --points-at HEAD | grep -x "v$version" >/dev/null || die "the release $version needs the tag v$version on this commit: git tag v$version"
	fi
}

check_docker() {
	local tool
	for tool in docker git helm; do
		command -v "$tool" >/dev/null || die "$tool is not in PATH"
	done
	docker buildx version >/dev/null || die "docker has no buildx, see above"
	[ -z "${REGISTRY_USER:-}" ] || die "REGISTRY_USER is set: with --build docker, use docker login ${registry%%/*} instead"
	helm=$(command -v helm)
}

# login makes credentials that both tools read, in the directory that is removed at the end.
login() {
	[ -n "${REGISTRY_USER:-}" ] || return 0
	"$helm" registry login "${registry%%/*}" --username "$REGISTRY_USER" --password-stdin --registry-config "$work/config.json" ${http[@]+"${http[@]}"} \
		<<<"$REGISTRY_PASSWORD"
	export DOCKER_CONFIG=$work
	http+=(--registry-config "$work/config.json")
}

# package_chart makes a package that installs exactly the images in the registry, or fails.
package_chart() {
	local used
	ci/copy-chart.sh "$registry" "$work/antrea"
	if [ -n "$development" ]; then
		"$helm" package "$work/antrea" --destination "$work" >/dev/null
	else
		# A commit gives the same package again and, by the file's time, the same digest in the registry; older versions of Helm do not.
		SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) "$helm" package "$work/antrea" --destination "$work" >/dev/null
		TZ=UTC touch -t "$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M.%S)" "$package"
	fi
	used=$("$helm" template antrea "$package" --namespace kube-system | sed -n 's/^ *image: "\(.*\)"$/\1/p' | sort -u)
	[ "$used" = "$(printf "$registry/%s:$tag\n" "${images[@]}")" ] || die "the chart would install these images: ${used//$'\n'/, }"
}

# build_images builds by Dockerfile, and pushes.
build_images() {
	local image name digest
	for image in "${images[@]}" "${others[@]}"; do
		name=$registry/$image:$tag
		if [ -z "$development" ] && digest=$(docker buildx imagetools inspect "$name" --format '{{.Manifest.Digest}}' 2>"$work/error"); then
			is_ours "$digest" "$name" || die "$name exists with digest $digest, and this checkout has not pushed it: a release is never replaced, raise the version"
			say "$name is in the registry already"
			note "$digest" "$name"
			continue
		fi
		[ -n "$development" ] || require_absent "$name" "$(cat "$work/error")"
		say "building and pushing $name"
		image=${image#antrea-}
		docker buildx build --platform "linux/${archs// /,linux/}" -t "$name" -f "build/images/${image%-ubuntu}/Dockerfile" \
			--build-arg "VERSION=v$version" --build-arg "REVISION=$(git rev-parse HEAD)" --metadata-file "$work/metadata.json" --push .
		# Not the digest of the tag, to which others may have pushed by now.
		digest=$(sed -n 's/.*"containerimage\.digest": *"\([^"]*\)".*/\1/p' "$work/metadata.json")
		note "$digest" "$name"
	done
}

push_images() {
	local options=(--digests "$digests")
	[ -z "$development" ] || options+=(--replace)
	"${GO:-go}" run ./build/images/cmd/publish --registry "$registry" --tag "$tag" --version "v$version" --arch "${archs// /,}" \
		"${options[@]}" "${images[@]}" "${others[@]}"
}

# check_chart refuses a release whose chart in the registry is another one. It sets chart_digest if an earlier run has pushed the chart.
check_chart() {
	local out
	[ -z "$development" ] || return 0
	out=$("$helm" pull "oci://${chart_name%:*}" --version "$version" --destination "$work/pulled" ${http[@]+"${http[@]}"} 2>&1) || {
		require_absent "$chart_name" "$out"
		return 0
	}
	chart_digest=$(digest_of "$out")
	if ! is_ours "$chart_digest" "$chart_name"; then
		# The same package is pushed again: the manifest in the registry can contain more than it.
		chart_digest=''
		cmp -s "$package" "$work/pulled/${package##*/}" || die "$chart_name exists with other content: a release is never replaced, raise the version"
	fi
	say "$chart_name is in the registry already"
}

push_chart() {
	local out
	if [ -z "$chart_digest" ]; then
		out=$(TZ=UTC "$helm" push "$package" "oci://$registry/charts" ${http[@]+"${http[@]}"} 2>&1) || die "the chart cannot be pushed: $out"
		chart_digest=$(digest_of "$out")
	fi
	note "$chart_digest" "$chart_name"
}

# require_absent NAME ERROR refuses a release unless ERROR, of a look-up of NAME, says that the registry does not have it. The codes are of the OCI
# distribution specification, "Error Codes"; the tools print codes 404 in words.
require_absent() {
	grep -qiE ': not found$|name[ _]unknown|manifest[ _]unknown' <<<"$2" ||
		die "whether the registry has $1 is not known, and a release is never replaced: ${2:-the look-up failed without a message}"
}

# digest_of prints the digest that Helm has printed.
digest_of() {
	sed -n 's/^Digest: //p' <<<"$1"
}

# note DIGEST NAME writes a digest, as sha256:HEX, of a name with its tag for ci/sign.sh and, of a release, for a further run in this checkout.
note() {
	[[ $1 =~ ^sha256:[0-9a-f]{64}$ ]] || die "the digest of $2 is \"$1\", must be like sha256:..."
	printf '%s  %s\n' "${1#sha256:}" "${2%:*}" >>"$digests"
	[ -n "$development" ] || is_ours "$@" || printf '%s  %s\n' "$@" >>"$pushed"
}

# is_ours DIGEST NAME reports whether a run in this checkout has pushed it.
is_ours() {
	grep -qxsF "$1  $2" "$pushed"
}

usage() {
	sed -n '7s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

registry='' ref='' build=archives
while [ $# -gt 0 ]; do
	case $1 in
	--build)
		[ $# -ge 2 ] || usage
		build=$2
		shift
		;;
	-*) usage ;;
	*)
		[ -z "$ref" ] || usage
		if [ -z "$registry" ]; then registry=$1; else ref=$1; fi
		;;
	esac
	shift
done
[ -n "$registry" ] || usage
version=$(cat VERSION)
archs=${IMAGE_ARCHS:-amd64 arm64}
development='' tag=v$version http=() pushed='' chart_name=$registry/charts/antrea:$version chart_digest=''
case $version in *-dev) development=1 tag=latest ;; esac
case $registry in localhost[:/]* | 127.*) http=(--plain-http) ;; esac
case ${ref:-v$version} in
"v$version") ;;
v[0-9]*) die "the tag is $ref, but VERSION is $version" ;;
*)
	[ -n "$development" ] || {
		say "the release $version is published for its tag, not for $ref"
		exit 0
	}
	;;
esac
check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=$work/antrea-$version.tgz
mkdir -p bin "$work/pulled"
[ -n "$development" ] || pushed=bin/pushed-$(git rev-parse HEAD)
rm -f "$digests"
[ "$build" = docker ] || "${MAKE:-make}" bin/helm images IMAGE_ARCHS="$archs"
package_chart
login
check_chart
say "pushing version $version to $registry"
if [ "$build" = docker ]; then build_images; else push_images; fi
push_chart
say "published: helm install antrea oci://$registry/charts/antrea --version $version --namespace kube-system"
