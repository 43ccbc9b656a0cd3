#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building and testing needs on Debian 12. Does nothing, quickly, when everything is there.
# It also prepares virtual machines (see test/env/testbed/machine), for tests on other kernels, and for everything where the
# running kernel has no Open vSwitch datapath: QEMU, the kernels of the release and of the backports suite, taken from
# the archive that this machine's apt already uses. The kernels are only unpacked into the testbed's cache, not installed.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/antrea-oncache
packages=(
  # compile
  gcc libc6-dev make git clang-14 llvm-14 clang-format-14 libbpf-dev protobuf-compiler shellcheck
  # Nodes, and the tools of tests
  openvswitch-switch iproute2 iptables ipset conntrack tcpdump ethtool iputils-ping procps netcat-openbsd sockperf iperf3 wrk util-linux spin
)
# The tools of make bench; installed when the script is called with the argument bench.
bench_packages=(qperf memcached libmemcached-tools postgresql nginx-light apache2-utils linux-perf)
# Further packages for make suite S=bench-peers; installed when the script is called with the argument peers.
peer_packages=(clang-19)
# virtiofsd and the kernels are unpacked, not installed; virtiofsd is linked with libcap-ng0 and libseccomp2. bc, bison, flex and
# perl build the kernel for user-mode Linux (build-uml-kernel.sh).
vm_packages=(busybox-static kmod xz-utils libcap-ng0 libseccomp2 bc bison flex perl)
policy=/usr/sbin/policy-rc.d
workdir=

say() { printf 'install-deps: %s\n' "$*"; }
die() { printf 'install-deps: %s\n' "$*" >&2; exit 1; }

needs_vm() { [ ! -d /sys/module/openvswitch ] && ! modprobe -n -q openvswitch 2>/dev/null; }

has_go() { command -v go >/dev/null; }

missing() { # prints which of the given packages are not installed
  local p
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || printf '%s\n' "$p"
  done
}

qemu_is_new() { # older versions corrupt the guest's memory under emulation
  local version
  version=$(dpkg-query -W -f '${Version}' qemu-system-x86 2>/dev/null) && dpkg --compare-versions "$version" ge 1:10
}

have_vm() { qemu_is_new && [ -e "$cache/kernel/current" ] && [ -e "$cache/kernel-stable/current" ] && [ -e "$cache/virtiofsd/current" ]; }

# backports_entry DIR CODENAME [RELEASE]: prints, for a copy of /etc/apt in DIR, the deb822 or one-line entry of the suite
# RELEASE-backports (default CODENAME-backports), made from the first entry of the suite CODENAME; the first output line is the file name
# extension.
backports_entry() {
  local f
  for f in "$1"/sources.list.d/*.sources; do
    [ -e "$f" ] || continue
    awk -v suite="$2" -v backports="${3:-$2}-backports" '
      BEGIN { RS = ""; FS = "\n" }
      {
        out = ""; match_suite = 0; deb = 0; enabled = 1
        for (i = 1; i <= NF; i++) {
          line = $i
          if (line ~ /^#/) continue
          if (line ~ /^Types:/ && line ~ /[ \t]deb([ \t]|$)/) deb = 1
          if (line ~ /^Enabled:[ \t]*no/) enabled = 0
          if (line ~ /^Types:/) line = "Types: deb"
          if (line ~ /^Suites:/) {
            n = split(substr(line, 8), s, /[ \t]+/)
            for (j = 1; j <= n; j++) if (s[j] == suite) match_suite = 1
            line = "Suites: " backports
          }
          if (line ~ /^Components:/) line = "Components: main"
          out = out line "\n"
        }
        if (deb && enabled && match_suite) { printf "sources\n%s", out; exit 3 }
      }' "$f" || return 0
  done
  for f in "$1"/sources.list "$1"/sources.list.d/*.list; do
    [ -e "$f" ] || continue
    awk -v suite="$2" -v backports="${3:-$2}-backports" '
      $1 == "deb" {
        options = ""; rest = $0; sub(/^deb[ \t]+/, "", rest)
        if (rest ~ /^\[/) { options = substr(rest, 1, index(rest, "]")) " "; rest = substr(rest, index(rest, "]") + 1) }
        split(rest, w, " ")
        if (w[2] == suite) { printf "list\ndeb %s%s %s main\n", options, w[1], backports; exit 3 }
      }' "$f" || return 0
  done
  return 1
}

guard() { # packages must not start daemons; an existing policy is kept aside
  if [ -e $policy ] && [ ! -e $policy.before-antrea-oncache ]; then mv $policy $policy.before-antrea-oncache; fi
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
}

cleanup() {
  if [ -n "$workdir" ]; then rm -rf "$workdir"; fi
  if grep -qs '^exit 101$' $policy; then rm -f $policy; fi
  [ ! -e $policy.before-antrea-oncache ] || mv $policy.before-antrea-oncache $policy
}

add_backports() {
  local entry
  if apt-cache policy | grep "n=$codename-backports" >/dev/null; then return; fi
  entry=$(backports_entry /etc/apt "$codename") ||
    die "no apt entry of the suite $codename found in /etc/apt to derive $codename-backports from; add one and start again"
  say "adding the suite $codename-backports to apt"
  printf '%s\n' "${entry#*$'\n'}" >"/etc/apt/sources.list.d/antrea-oncache-backports.${entry%%$'\n'*}"
  apt-get -q update
}

# publish TOOL VERSION DIR: makes DIR the current version of a cache entry (see test/env/testbed/cache).
publish() {
  mkdir -p "$cache/$1"
  if [ ! -e "$cache/$1/$2" ]; then
    cp -r "$3" "$cache/$1/.new.$$"
    mv -T "$cache/$1/.new.$$" "$cache/$1/$2"
  fi
  ln -sfn "$2" "$cache/$1/.current.$$"
  mv -T "$cache/$1/.current.$$" "$cache/$1/current"
}

# fetch PACKAGE[=VERSION]: downloads a package without installing it and unpacks it into $workdir/PACKAGE; prints its version.
fetch() {
  local name=${1%%=*} deb
  (cd "$workdir" && apt-get -q download "$1" >&2) || return 1
  deb=$(ls "$workdir/$name"_*.deb)
  dpkg -x "$deb" "$workdir/$name"
  dpkg-deb -f "$deb" Version
}

# The Go of the backports suite is older than the one in go.mod, but fetches that one by itself (GOTOOLCHAIN=auto).
get_go() {
  add_backports
  apt-get -q install -y --no-install-recommends -t "$codename-backports" golang-go ca-certificates
}

# get_kernel ENTRY SUITE: puts the kernel of a suite into the cache.
get_kernel() {
  local image version modules
  image=$(apt-cache depends "linux-image-cloud-amd64/$2" | awk '/Depends: linux-image-/ { print $2; exit }')
  [ -n "$image" ] || die "linux-image-cloud-amd64 of $2 names no kernel package"
  # The signed variant of a new kernel can be missing from a mirror for some time; both contain the same kernel.
  version=$(fetch "$image") || { image+=-unsigned; version=$(fetch "$image"); } || die "the kernel package $image cannot be downloaded"
  modules=$(echo "$workdir/$image"/lib/modules/*)
  # Plain modules load several times faster under emulation.
  find "$modules" -name '*.ko.xz' -exec xz -d {} +
  depmod -b "$workdir/$image" "${modules##*/}"
  rm -rf "${workdir:?}/$image/usr"
  say "kernel ${modules##*/}"
  publish "$1" "$version" "$workdir/$image"
}

get_virtiofsd() { # QEMU's newer packages no longer have it
  local version
  version=$(apt-cache madison qemu-system-common | awk -F '[| ]+' '!/-backports\// { print $2; exit }')
  [ -n "$version" ] || die "apt knows no qemu-system-common of the suite $codename, which has virtiofsd"
  fetch "qemu-system-common=$version" >/dev/null || die "qemu-system-common $version cannot be downloaded"
  mkdir "$workdir/virtiofsd"
  cp "$workdir/qemu-system-common/usr/lib/qemu/virtiofsd" "$workdir/virtiofsd/"
  say "virtiofsd of QEMU $version"
  publish virtiofsd "$version" "$workdir/virtiofsd"
}

# The tools of Prometheus are unpacked: its package would start a server.
get_promtool() {
  local version
  version=$(fetch prometheus) || die "apt has no package prometheus, which has promtool"
  mkdir "$workdir/promtool"
  cp "$workdir/prometheus/usr/bin/promtool" "$workdir/promtool/"
  say "promtool of Prometheus $version"
  publish promtool "$version" "$workdir/promtool"
}

main() {
  local vm=no want=("${packages[@]}") lack
  case "$*" in
    "") ;;
    bench) want+=("${bench_packages[@]}") ;;
    peers) want+=("${peer_packages[@]}") ;;
    *) die "arguments \"$*\" are unknown; use none, bench for what make bench measures with, or peers for what make suite S=bench-peers does" ;;
  esac
  [ -e /etc/debian_version ] || die "this script knows Debian only; install what it lists by hand"
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  if [ "$(dpkg --print-architecture)" = amd64 ]; then
    vm=yes
    want+=("${vm_packages[@]}")
  elif needs_vm; then
    die "the virtual machine is built for amd64 only, and this kernel has no openvswitch"
  fi
  mapfile -t lack < <(missing "${want[@]}")
  if [ ${#lack[@]} = 0 ] && has_go && [ -e "$cache/promtool/current" ] && { [ $vm = no ] || have_vm; }; then
    say "everything is installed"
    return
  fi
  [ "$(id -u)" = 0 ] || die "something is missing (${lack[*]:-Go, promtool, or parts of the virtual machine}): run as root"
  export DEBIAN_FRONTEND=noninteractive
  workdir=$(mktemp -d)
  chmod 755 "$workdir"
  chown _apt "$workdir" # the user that apt downloads as
  trap cleanup EXIT
  trap 'exit 130' INT TERM
  guard
  apt-get -q update
  if [ ${#lack[@]} != 0 ]; then
    say "installing ${lack[*]}"
    apt-get -q install -y --no-install-recommends "${lack[@]}"
  fi
  if ! has_go; then get_go; fi
  if [ ! -e "$cache/promtool/current" ]; then get_promtool; fi
  if [ $vm = yes ]; then
    add_backports
    if ! qemu_is_new; then apt-get -q install -y --no-install-recommends -t "$codename-backports" qemu-system-x86; fi
    if [ ! -e "$cache/kernel/current" ]; then get_kernel kernel "$codename-backports"; fi
    if [ ! -e "$cache/kernel-stable/current" ]; then get_kernel kernel-stable "$codename"; fi
    if [ ! -e "$cache/virtiofsd/current" ]; then get_virtiofsd; fi
  fi
  say "done"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then main "$@"; fi
