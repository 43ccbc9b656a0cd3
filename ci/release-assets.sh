#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes the files of a release from this commit; make release-assets runs it:
#
#   release-assets.sh REGISTRY DIRECTORY
#
# DIRECTORY, which must not exist, gets antctl for ANTCTL_PLATFORMS (default: Linux, macOS and Windows on amd64 and arm64), the chart and the
# manifests with the images of REGISTRY, the CRDs, the licences of antctl's modules, a software bill of materials (CycloneDX), and
# SHA256SUMS. ci/publish.sh pushes the images; the workflow signs SHA256SUMS and records its provenance.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

chart=build/charts/antrea
platforms=${ANTCTL_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}

die() {
	printf 'release-assets: %s\n' "$*" >&2
	exit 1
}

# build_antctl builds one static program. LDFLAGS comes from the Makefile, so that its version is the images'.
build_antctl() {
	local os=${1%/*} arch=${1#*/} suffix=''
	[ "$os" != windows ] || suffix=.exe
	GOOS=$os GOARCH=$arch CGO_ENABLED=0 "${GO:-go}" build -trimpath -ldflags "${LDFLAGS:-}" -o "$directory/antctl-$os-$arch$suffix" ./cmd/antctl
}

# package_chart makes the chart and the manifests, which name the same images.
package_chart() {
	ci/copy-chart.sh "$registry" "$work/antrea"
	bin/helm package "$work/antrea" --destination "$directory" >/dev/null
	bin/helm template antrea "$work/antrea" --namespace kube-system --include-crds >"$directory/antrea.yml"
	bin/helm show crds "$work/antrea" >"$directory/antrea-crds.yml"
	grep -q '^kind: CustomResourceDefinition$' "$directory/antrea-crds.yml" || die "$chart has no CRDs"
	grep -q "image: \"$registry/antrea-agent-ubuntu:" "$directory/antrea.yml" || die "the manifest does not name the agent's image in $registry"
}

# copy_multicluster makes the manifests of antrea-mc-controller, for antctl mc deploy --manifest-file.
copy_multicluster() {
	local role version tag
	version=$(cat VERSION) tag=v$version
	case $version in *-dev) tag=latest ;; esac
	for role in leader member; do
		sed "s#ghcr.io/antrea-oncache/antrea-mc-controller:latest#$registry/antrea-mc-controller:$tag#" "build/yamls/antrea-multicluster-$role.yml" >"$directory/antrea-multicluster-$role.yml"
		grep -q "image: $registry/antrea-mc-controller:$tag\$" "$directory/antrea-multicluster-$role.yml" || die "antrea-multicluster-$role.yml does not name the image in $registry"
	done
}

# list_modules writes the bill of materials of all programs.
list_modules() {
	(cd hack/sbom && "${GO:-go}" build -o "$work/" github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)
	"$work/cyclonedx-gomod" mod -json -licenses -output "$directory/antrea-oncache.cdx.json" .
}

[ $# -eq 2 ] || {
	sed -n '6s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}
registry=$1 directory=$2
[[ $registry =~ ^[a-z0-9.:-]+(/[a-z0-9._-]+)+$ ]] || die "the registry is \"$registry\", must be a host with a path in lower case, like ghcr.io/antrea-oncache"
for platform in $platforms; do
	[[ $platform =~ ^(linux|darwin|windows)/(amd64|arm64)$ ]] || die "ANTCTL_PLATFORMS has \"$platform\", must be like linux/amd64"
done
[ ! -e "$directory" ] || die "$directory exists: remove it, or choose another directory"
mkdir -p "$directory"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for platform in $platforms; do
	build_antctl "$platform"
done
package_chart
copy_multicluster
list_modules
"${GO:-go}" run ./build/images/cmd/licences "$directory/THIRD-PARTY-LICENSES" "$directory"/antctl-*
cp LICENSE "$directory/"
(cd "$directory" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
