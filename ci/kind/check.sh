#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes a kind cluster, checks with antctl that the network works, and removes the cluster:
#
#   check.sh --gate off|on [OPTIONS OF kind-setup.sh create]
#
# antctl connects Pods on one Node and on two, through a Service, and against a NetworkPolicy; with the gate on, packets have to take the fast
# path. When a check fails, the cluster's logs are in .ci-logs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cluster=oncache-check
if [ $# -lt 2 ] || [ "$1" != --gate ]; then
	sed -n '7s/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
case $2 in
off) gates=ONCache=false verdict='not expected: feature gate ONCache is off' ;;
on) gates=ONCache=true verdict='packets between Nodes .* take it in both directions' ;;
*)
	echo "check: --gate is \"$2\", must be off or on" >&2
	exit 2
	;;
esac
shift 2

# finish removes the cluster; its logs stay when something has failed.
finish() {
	local code=$?
	[ $code -eq 0 ] || kind export logs ".ci-logs/$cluster" --name "$cluster" || true
	ci/kind/kind-setup.sh destroy "$cluster"
	exit $code
}

ci/kind/kind-setup.sh create "$cluster" --feature-gates "$gates" "$@"
trap finish EXIT
antctl=bin/images/programs/linux_$(docker version --format '{{.Server.Arch}}')/antctl
report=$("$antctl" check installation --kubeconfig "bin/kubeconfig-$cluster" --patience 3m) || {
	echo "$report"
	exit 1
}
echo "$report"
# A cache that does not work is only a warning for antctl.
grep -qE "^ok +fast path +$verdict" <<<"$report" || {
	echo "check: the line about the fast path must be: $verdict" >&2
	exit 1
}
