#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints what a make target will install and how long it will take, and refuses at once what cannot work: preflight.sh
# TARGET MINUTES_AT_FIRST MINUTES_LATER. It changes nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/install-deps.sh

target=$1 first=$2 later=$3
# The disk space for Go's module and build caches, the testbed's cache and the packages, measured with empty caches.
needed_gb=10

refuse() {
  printf '%s: %s\n' "$target" "$*" >&2
  exit 1
}

# free_gb DIR prints how many GB are free where DIR is or will be.
free_gb() {
  local dir=$1
  while [ ! -e "$dir" ]; do dir=$(dirname "$dir"); done
  df --output=avail -BG "$dir" | tail -n 1 | tr -dc 0-9
}

# has_control_plane reports whether the versions in go.mod have been built (test/env/testbed/controlplane).
has_control_plane() {
  local etcd apiserver
  etcd=$(awk '$1 == "go.etcd.io/etcd/server/v3" { print $2; exit }' hack/controlplane/go.mod)
  apiserver=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' hack/controlplane/go.mod)
  [ -e "$cache/etcd/$etcd" ] && [ -e "$cache/kube-apiserver/$apiserver" ]
}

# has_kubelet does the same for the last program that a cluster with kubelets needs.
has_kubelet() {
  local version
  version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' hack/controlplane/go.mod)
  [ -e "$cache/kubelet/$version" ] && [ -e "$cache/kubectl/$version" ]
}

[ "$(uname -s)" = Linux ] || refuse "this is $(uname -s); network namespaces and eBPF need Linux"
[ "$(id -u)" = 0 ] || refuse "it makes network namespaces and loads eBPF programs: run it as root"
case $PWD in
  *[\ \'\"\\\$\`]*) refuse "the path $PWD has a blank, a quote, \$ or \\, which neither make nor the virtual machine can have: clone to another directory" ;;
  /dev/* | /proc/* | /sys/*) refuse "$PWD is not a place for files that last: clone to another directory" ;;
esac

mapfile -t lack < <(missing "${packages[@]}" "${vm_packages[@]}")
notes=()
[ ${#lack[@]} = 0 ] || notes+=("packages of Debian, with what they need: ${lack[*]}")
has_go || notes+=("Go, from Debian's backports suite")
qemu_is_new || notes+=("QEMU, from Debian's backports suite, which is added to apt (/etc/apt/sources.list.d)")
[ -e "$cache/kernel/current" ] && [ -e "$cache/kernel-stable/current" ] && [ -e "$cache/virtiofsd/current" ] ||
  notes+=("two kernels of Debian and virtiofsd, only unpacked into $cache")
has_control_plane || notes+=("etcd and kube-apiserver, compiled into $cache (7 minutes of processor time)")
[[ $target != *test && $target != *cluster-up ]] || has_kubelet ||
  notes+=("the other programs of Kubernetes (4 minutes of processor time) and containerd, compiled into $cache")
[[ $target != *test && $target != *cluster-up ]] || [ -e "$cache/uml-kernel" ] ||
  notes+=("the Nodes' kernel, compiled into $cache (about 10 minutes of processor time)")
if [ ${#notes[@]} = 0 ]; then
  printf '%s: everything is installed; about %s minutes on two cores\n' "$target" "$later"
  exit 0
fi
for dir in "$cache" "$PWD" "${GOPATH:-$HOME/go}"; do
  free=$(free_gb "$dir")
  [ "$free" -ge $needed_gb ] || refuse "$free GB are free at $dir, want $needed_gb for packages, modules and compiled programs"
done
printf '%s: about %s minutes on two cores the first time, %s later. It installs:\n' "$target" "$first" "$later"
printf '  - %s\n' "${notes[@]}"
printf '  - the Go modules of go.mod and hack/controlplane/go.mod, into the module cache of Go\n'
load=$(cut -d. -f1 /proc/loadavg)
[ "$load" -lt "$(nproc)" ] ||
  printf 'This machine is busy: about %s programs use its %s processors, so compiling takes about %s times as long.\n' "$load" "$(nproc)" $((1 + load / $(nproc)))
printf 'No service is started or enabled. To remove it: make clean, rm -r %s, apt-get remove.\n' "$cache"
if [ -t 0 ] && [ -t 1 ]; then
  read -r -t 10 -p "It begins in 10 seconds; Return begins at once, Ctrl-C ends it. " || echo
fi
