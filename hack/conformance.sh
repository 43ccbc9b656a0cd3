#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs network cases of Kubernetes' own end-to-end tests, unmodified, on the cluster of make cluster-up: conformance.sh [FOCUS]. FOCUS is a
# regular expression for names of cases; without it, all of Services and NetworkPolicy run that two Nodes without the Internet, a cloud, or SCTP
# can pass.
#
# The output is in .testbed/conformance.log; at the end there is the list of what has been run, and what failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

focus=${1:-'\[sig-network\] (Services|Netpol)'}
# Disruptive and serial cases restart the control plane, which is not in Pods here; the others need what their names say.
skip='\[Disruptive\]|\[Serial\]|\[Slow\]|LoadBalancer|SCTPConnectivity'
logs=.testbed
report=$logs/conformance

program=$(bin/cluster program e2e.test)
kubeconfig=$(bin/cluster kubeconfig)
rm -rf $report
mkdir -p $report
failed=0
PATH=$(dirname "$(bin/cluster program kubectl)"):$PATH "$program" --kubeconfig="$kubeconfig" --provider=local --report-dir=$report \
	--allowed-not-ready-nodes=0 --minStartupPods=1 --ginkgo.focus="$focus" --ginkgo.skip="$skip" --ginkgo.no-color --ginkgo.timeout=4h --ginkgo.v 2>&1 |
	tee $logs/conformance.log | grep -aE --line-buffered '^(Will run|• |Ran |\[FAIL\])|FAILED' || failed=1

# The report of JUnit has a line for each case of the whole program.
list() { sed -nE "s/.*<testcase name=\"(\[It\] )?([^\"]*)\".* status=\"$1\".*/\2/p" $report/junit_*.xml | sed 's/&#39;/'"'"'/g; s/&#34;/"/g; s/&amp;/\&/g'; }
list passed | sed 's/^/passed: /'
list failed | sed 's/^/FAILED: /'
passed=$(list passed | wc -l)
lost=$(list failed | wc -l)
echo "conformance: cases=$((passed + lost)) passed=$passed failed=$lost"
exit $failed
