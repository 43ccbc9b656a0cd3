#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes a kind cluster whose network is Antrea with ONCache, from the images and the chart of this checkout:
#
#   kind-setup.sh create CLUSTER [--num-workers N] [--ip-family ipv4|ipv6|dual] [--feature-gates G=BOOL,...] [--tunnel-type geneve|vxlan]
#   kind-setup.sh destroy CLUSTER
#
# It needs kind, kubectl, helm and docker in PATH, the kernel modules openvswitch and geneve (or vxlan) on this host, and the archives that
# `make images` writes into bin/images.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

images=(antrea-agent-ubuntu antrea-controller-ubuntu)
chart=build/charts/antrea
timeout=180s

say() { printf 'kind-setup: %s\n' "$*"; }
die() {
	printf 'kind-setup: %s\n' "$*" >&2
	exit 1
}
usage() {
	sed -n '7,8s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

# check refuses everything that can be refused before anything is made.
check() {
	local tool image
	for tool in kind kubectl helm docker; do
		command -v "$tool" >/dev/null || die "$tool is not in PATH"
	done
	for image in "${images[@]}"; do
		[ -e "bin/images/$image.tar" ] || die "bin/images/$image.tar does not exist: run make images"
	done
	case $family in ipv4 | ipv6 | dual) ;; *) die "--ip-family is \"$family\", must be ipv4, ipv6 or dual" ;; esac
	case $tunnel in geneve | vxlan) ;; *) die "--tunnel-type is \"$tunnel\", must be geneve or vxlan" ;; esac
	[[ $workers =~ ^[0-9]+$ ]] || die "--num-workers is \"$workers\", must be a number"
	[[ -z $gates || $gates =~ ^[A-Za-z0-9]+=(true|false)(,[A-Za-z0-9]+=(true|false))*$ ]] ||
		die "--feature-gates is \"$gates\", must be like ONCache=true,Egress=false"
	! kind get clusters 2>/dev/null | grep -qx -- "$cluster" || die "the cluster $cluster exists: destroy it first, or choose another name"
}

configuration() {
	local i
	printf 'kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnetworking:\n  disableDefaultCNI: true\n  ipFamily: %s\nnodes:\n- role: control-plane\n' "$family"
	for ((i = 0; i < workers; i++)); do
		printf -- '- role: worker\n'
	done
}

create() {
	local image values=(--set "tunnelType=$tunnel" --set agentImage.tag=latest --set controllerImage.tag=latest)
	check
	say "creating the cluster $cluster with $workers workers"
	configuration | kind create cluster --name "$cluster" --config -
	for image in "${images[@]}"; do
		say "loading $image"
		kind load image-archive "bin/images/$image.tar" --name "$cluster"
	done
	if [ -n "$gates" ]; then
		for gate in ${gates//,/ }; do
			values+=(--set "featureGates.$gate")
		done
	fi
	say "installing $chart"
	helm --kube-context "kind-$cluster" --namespace kube-system install antrea "$chart" "${values[@]}" --wait --timeout "$timeout"
	kubectl --context "kind-$cluster" wait --for=condition=Ready nodes --all --timeout="$timeout"
	say "ready: kubectl --context kind-$cluster get nodes"
}

[ $# -ge 2 ] || usage
command=$1 cluster=$2
shift 2
workers=1 family=ipv4 gates='' tunnel=geneve
while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--num-workers) workers=$2 ;;
	--ip-family) family=$2 ;;
	--feature-gates) gates=$2 ;;
	--tunnel-type) tunnel=$2 ;;
	*) usage ;;
	esac
	shift 2
done
case $command in
create) create ;;
destroy) kind delete cluster --name "$cluster" ;;
*) usage ;;
esac
