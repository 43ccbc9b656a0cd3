#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Copies the chart for a registry, as ci/publish.sh and ci/release-assets.sh package it:
#
#   copy-chart.sh REGISTRY DIRECTORY
#
# DIRECTORY, which must not exist, gets the chart with the images of REGISTRY. The links of its README, which are relative to this checkout, lead to
# the project's address: to the version's tag or, of a development version, to main.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

registry=$1 directory=$2
version=$(cat VERSION)
case $version in *-dev) place=main ;; *) place=v$version ;; esac
address=https://github.com/antrea-oncache/antrea/blob/$place
cp -r build/charts/antrea "$directory"

# edit is sed -i, which differs between systems.
edit() {
	sed "$1" "$2" >"$2.new" && mv "$2.new" "$2"
}
for file in "$directory/values.yaml" "$directory/README.md"; do
	edit "s#ghcr.io/antrea-oncache/\(antrea-[a-z]*-ubuntu\)#$registry/\1#" "$file"
done
edit "s#](\.\./\.\./\.\./#]($address/#g; s#](\.\./\.\./#]($address/build/#g" "$directory/README.md"
