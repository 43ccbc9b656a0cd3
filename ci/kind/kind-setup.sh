#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes a kind cluster whose network is Antrea with ONCache, from the images and the chart of this checkout:
#
#   kind-setup.sh create CLUSTER [--num-workers N] [--ip-family ipv4|ipv6|dual] [--feature-gates G=BOOL,...] [--tunnel-type geneve|vxlan]
#                                [--build docker|archives] [-- ARGUMENTS OF helm install]
#   kind-setup.sh destroy CLUSTER
#
# It needs kind, kubectl, helm and docker in PATH, and the kernel modules openvswitch and geneve (or vxlan) on docker's host. --build docker builds
# the images from the Dockerfiles, and antctl with go, on any system. Without it, they are what `make images` has written into bin/images for the
# architecture of docker's host. The images are never pulled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

images=(antrea-agent-ubuntu antrea-controller-ubuntu antrea-mc-controller)
chart=build/charts/antrea
timeout=180s

say() { printf 'kind-setup: %s\n' "$*"; }
die() {
	printf 'kind-setup: %s\n' "$*" >&2
	exit 1
}
usage() {
	sed -n '7,9s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

# check refuses everything that can be refused before anything is made.
check() {
	local tool tools=(kind kubectl helm docker)
	[[ $cluster =~ ^[a-z0-9][a-z0-9.-]*$ ]] || die "the name of the cluster is \"$cluster\", must be like oncache-1"
	case $family in ipv4 | ipv6 | dual) ;; *) die "--ip-family is \"$family\", must be ipv4, ipv6 or dual" ;; esac
	case $tunnel in geneve | vxlan) ;; *) die "--tunnel-type is \"$tunnel\", must be geneve or vxlan" ;; esac
	[[ $workers =~ ^[0-9]+$ ]] || die "--num-workers is \"$workers\", must be a number"
	[[ -z $gates || $gates =~ ^[A-Za-z0-9]+=(true|false)(,[A-Za-z0-9]+=(true|false))*$ ]] ||
		die "--feature-gates is \"$gates\", must be like ONCache=true,Egress=false"
	case $build in docker) tools+=(go git) ;; archives) ;; *) die "--build is \"$build\", must be docker or archives" ;; esac
	for tool in "${tools[@]}"; do
		command -v "$tool" >/dev/null || die "$tool is not in PATH"
	done
	arch=$(docker version --format '{{.Server.Arch}}') || die "docker does not answer, see above"
	antctl=bin/antctl
	[ "$build" = docker ] || check_archives
	! kind get clusters 2>/dev/null | grep -x -- "$cluster" >/dev/null || die "the cluster $cluster exists: destroy it first, or choose another name"
}

check_archives() {
	local file
	antctl=bin/images/programs/linux_$arch/antctl
	for file in "${images[@]/#/bin/images/}"; do
		[ -e "${file}_$arch.tar" ] || die "${file}_$arch.tar does not exist: run make images IMAGE_ARCHS=$arch, or use --build docker"
	done
	[ -x "$antctl" ] || die "$antctl does not exist: run make images IMAGE_ARCHS=$arch"
}

# build_images builds by Dockerfile, under the names that the chart has, and antctl for this system.
build_images() {
	local image name
	for image in "${images[@]}"; do
		name=${image#antrea-}
		say "building $image"
		docker build -t "ghcr.io/antrea-oncache/$image:latest" -f "build/images/${name%-ubuntu}/Dockerfile" \
			--build-arg "VERSION=v$(cat VERSION)" --build-arg "REVISION=$(git rev-parse HEAD)" .
	done
	CGO_ENABLED=0 go build -o "$antctl" ./cmd/antctl
}

load() {
	say "loading $1"
	if [ "$build" = docker ]; then
		kind load docker-image "ghcr.io/antrea-oncache/$1:latest" --name "$cluster"
	else
		kind load image-archive "bin/images/$1_$arch.tar" --name "$cluster"
	fi
}

configuration() {
	local i
	printf 'kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnetworking:\n  disableDefaultCNI: true\n  ipFamily: %s\nnodes:\n- role: control-plane\n' "$family"
	for ((i = 0; i < workers; i++)); do
		printf -- '- role: worker\n'
	done
}

# prepare_nodes mounts a bpffs on Nodes that have none: systemd in a container does not mount it, and ONCache needs it.
prepare_nodes() {
	local node
	for node in $(kind get nodes --name "$cluster"); do
		docker exec "$node" sh -c 'mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf'
	done
}

create() {
	local image gate values=(--set "tunnelType=$tunnel")
	check
	for image in agent controller; do
		values+=(--set "${image}Image.tag=latest" --set "${image}Image.pullPolicy=Never")
	done
	for gate in ${gates//,/ }; do
		values+=(--set "featureGates.$gate")
	done
	[ "$build" = archives ] || build_images
	say "creating the cluster $cluster with $workers workers"
	configuration | kind create cluster --name "$cluster" --config -
	trap undo EXIT
	prepare_nodes
	for image in "${images[@]}"; do
		load "$image"
	done
	kind get kubeconfig --name "$cluster" >"bin/kubeconfig-$cluster"
	say "checking the cluster"
	"$antctl" check cluster --kubeconfig "bin/kubeconfig-$cluster"
	say "installing $chart"
	helm --kube-context "kind-$cluster" --namespace kube-system install antrea "$chart" "${values[@]}" "$@" --wait --timeout "$timeout"
	kubectl --context "kind-$cluster" wait --for=condition=Ready nodes --all --timeout="$timeout"
	trap - EXIT
	say "ready: kubectl --context kind-$cluster get nodes"
}

# undo removes a cluster that did not become ready, and keeps its logs.
undo() {
	kind export logs ".ci-logs/$cluster" --name "$cluster" || true
	destroy
	say "the cluster did not become ready; its logs are in .ci-logs/$cluster" >&2
}

destroy() {
	kind delete cluster --name "$cluster"
	rm -f "bin/kubeconfig-$cluster"
}

[ $# -ge 2 ] || usage
command=$1 cluster=$2
shift 2
workers=1 family=ipv4 gates='' tunnel=geneve build=archives
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--num-workers) workers=$2 ;;
	--ip-family) family=$2 ;;
	--feature-gates) gates=$2 ;;
	--tunnel-type) tunnel=$2 ;;
	--build) build=$2 ;;
	*) usage ;;
	esac
	shift 2
done
case $command in
create) create "${@:2}" ;;
destroy) destroy ;;
*) usage ;;
esac
