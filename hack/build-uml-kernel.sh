#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds a kernel for user-mode Linux: build-uml-kernel.sh FRAGMENT OUT puts OUT/linux-<version of the sources>. `lab prepare
# --functional` calls it. FRAGMENT has lines CONFIG_X=y or CONFIG_X=n, which change the default configuration; it is an error when the kernel does not know
# one, or cannot have it.
#
# The sources are the newest of Debian's backports suite, fetched from the archive that this machine's apt uses, with a configuration and
# lists of its own: apt's own state does not change. Linux 7 is needed: 6.12 has only the slower mode (ptrace), one processor, and a
# verifier that refuses unaligned access to packets there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/install-deps.sh"

suite=trixie # the release whose backports have the sources; the compiler may be older
fragment=$(realpath "$1")
out=$(realpath "$2")
work=$out/work
target=(make -s -C "$work/sources" ARCH=um)

# An option of apt for each thing that must not be the machine's own.
own_apt() {
  local tool=$1
  shift
  "$tool" -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/apt/sources" -o "Dir::State::Lists=$work/apt/lists" \
    -o "Dir::Cache=$work/apt/cache" -o APT::Sandbox::User=root "$@"
}

get_sources() { # sets version
  local entry package deb
  entry=$(backports_entry /etc/apt "$(. /etc/os-release && echo "$VERSION_CODENAME")" $suite) ||
    die "no apt entry of this release found in /etc/apt to derive $suite-backports from"
  mkdir -p "$work"/apt/{sources,lists/partial,cache/archives/partial}
  printf '%s\n' "${entry#*$'\n'}" >"$work/apt/sources/backports.${entry%%$'\n'*}"
  own_apt apt-get update
  package=$(own_apt apt-cache depends linux-source | awk '/Depends: linux-source-/ { print $2; exit }')
  [ -n "$package" ] || die "$suite-backports has no linux-source"
  (cd "$work" && own_apt apt-get download "$package")
  deb=$(ls "$work/$package"_*.deb)
  version=$(dpkg-deb -f "$deb" Version)
  mkdir "$work/sources"
  dpkg-deb --fsys-tarfile "$deb" | tar -xO --wildcards '*.tar.xz' | tar -xJ -C "$work/sources" --strip-components=1
}

configure() {
  local line wrong=()
  "${target[@]}" x86_64_defconfig
  (cd "$work/sources" && scripts/kconfig/merge_config.sh -m .config "$fragment") >/dev/null
  "${target[@]}" olddefconfig
  while read -r line; do
    case $line in
      CONFIG_*=n) ! grep -q "^${line%=n}=" "$work/sources/.config" || wrong+=("$line") ;;
      CONFIG_*) grep -qx "$line" "$work/sources/.config" || wrong+=("$line") ;;
    esac
  done <"$fragment"
  [ ${#wrong[@]} = 0 ] || die "Linux $version cannot be configured with ${wrong[*]}"
}

trap 'rm -rf "$work"' EXIT
get_sources
configure
"${target[@]}" "-j$(nproc)" linux
cp "$work/sources/linux" "$out/linux-$version"
