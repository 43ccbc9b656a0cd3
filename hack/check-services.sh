#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that make test-services finds faults: each line of the table below makes one change wrong in AntreaProxy or its part of the
# pipeline, in a copy of the file that the compiler takes in its place, and the first random sets must find it. A name as argument runs the
# lines that begin with it, --match only checks that the table matches the programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

GO=${GO:-go}
sets=${SETS:-40} seed=${SEED:-1}

# name | file below pkg | what is there, at its first place | what takes its place
read -r -d '' faults <<'TABLE' || true
Endpoints that are not ready | agent/proxy/endpoints.go | return e.ready }); len(ready) > 0 | return true }); len(ready) > 0
terminating Endpoints       | agent/proxy/endpoints.go | return e.serving && e.terminating | return false
terminating, without serving | agent/proxy/endpoints.go | return e.serving && e.terminating | return e.terminating
names of ports              | agent/proxy/endpoints.go | q.name == p.name && q.protocol == p.protocol | q.protocol == p.protocol
hints for Nodes             | agent/proxy/endpoints.go | return e.forNode(c.config.NodeName) | return e.forNode("node-1")
internal policy             | agent/proxy/service.go | if f.Local = s.internalLocal; f.External | if f.Local = false; f.External
external policy             | agent/proxy/service.go | f.Local = s.externalLocal | f.Local = false
external policy for Pods    | agent/openflow/service_flows.go | s.selectFlow(local, f, scopeCluster, | s.selectFlow(local, f, scopeLocal,
change of addresses         | agent/proxy/evaluate.go | slices.Equal(p.Frontends, q.Frontends) && |
mode of load balancers      | agent/proxy/service.go | ingress.IPMode != nil && *ingress.IPMode != corev1.LoadBalancerIPModeVIP | false
ranges for others           | agent/openflow/service_flows.go | if !f.Restricted { | if true {
NodePorts of load balancers | agent/proxy/external.go | if !balanced && s.Spec.Type | if s.Spec.Type
label for another proxy     | agent/proxy/service.go | c.ServiceProxyName == "" && labelled | c.ServiceProxyName == "" && labelled && false
affinity                    | agent/openflow/service_flows.go | if s.port.Affinity > 0 { | if false {
Pods that reach themselves  | agent/openflow/service_pipeline.go | toSNAT(priorityNormal, matches(hairpinCT.match(), fromPod.match()), f.gateway, hairpinCT), |
sources from outside        | agent/openflow/service_pipeline.go | toSNAT(priorityLow, matches(snatCT.match(), fromGateway.match()), f.gateway), |
rejections                  | agent/openflow/service_pipeline.go | g.toAgent(ServiceRejectController, meterServiceReject, ServiceRejectCategory)), | []of.Action(nil)...),
UDP to removed Endpoints    | agent/proxy/cleaner.go | lost = lost || !remaining[e] | _ = remaining[e]
TABLE

suite=services wrong='^(set|after set) [0-9]+: \K.*; (want .*|it was .*)'
# shellcheck source=find-faults.sh
source hack/find-faults.sh
find_faults "${1-}"
