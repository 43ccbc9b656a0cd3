#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that make test-policy finds faults: each line of the table below makes one change wrong in the controller or the agent, in a copy of
# the file that the compiler takes in its place, and the first random sets must find it. A name as argument runs the
# lines that begin with it, --match only checks that the table matches the programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

GO=${GO:-go}
sets=${SETS:-40} seed=${SEED:-1}

# name | file below pkg | what is there, at its first place | what takes its place
read -r -d '' faults <<'TABLE' || true
ended Pods                  | controller/networkpolicy/pod.go | source.Status.Phase == corev1.PodSucceeded || source.Status.Phase == corev1.PodFailed | false
failed Pods                 | controller/networkpolicy/pod.go | || source.Status.Phase == corev1.PodFailed |
Pods in their Node's network | controller/networkpolicy/pod.go | source.Spec.HostNetwork || |
ports of sidecars           | controller/networkpolicy/pod.go | *container.RestartPolicy == corev1.ContainerRestartPolicyAlways | false
sidecars not told apart     | controller/networkpolicy/controller.go | , RestartPolicy: container.RestartPolicy |
ports of init containers    | controller/networkpolicy/pod.go | container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways | true
empty egress as a direction | controller/networkpolicy/translate.go | || len(source.Spec.Egress) > 0 | || source.Spec.Egress != nil
egress without types        | controller/networkpolicy/translate.go | || len(source.Spec.Egress) > 0 |
one type taken for both     | controller/networkpolicy/translate.go | if len(source.Spec.PolicyTypes) > 0 { | if len(source.Spec.PolicyTypes) > 1 {
isolation without ingress   | controller/networkpolicy/translate.go | if len(source.Spec.Ingress) == 0 { | if false {
isolation without egress    | controller/networkpolicy/translate.go | if len(source.Spec.Egress) == 0 { | if false {
direction of isolation      | controller/networkpolicy/translate.go | t.isolate(controlplane.DirectionOut) | t.isolate(controlplane.DirectionIn)
selectors as alternatives   | controller/networkpolicy/translate.go | selector, err := newGroupSelector(namespace, peer.NamespaceSelector, peer.PodSelector) | if peer.NamespaceSelector != nil && peer.PodSelector != nil { own, _ := newGroupSelector(namespace, nil, peer.PodSelector); t.addGroup(out, own); peer.PodSelector = nil }; selector, err := newGroupSelector(namespace, peer.NamespaceSelector, peer.PodSelector)
names of ports to everybody | controller/networkpolicy/translate.go | if resolvePorts { | if false {
exceptions of later blocks  | controller/networkpolicy/translate.go | for i, text := range source.Except { | for i, text := range source.Except[:min(1, len(source.Except))] {
UDP taken for TCP           | controller/networkpolicy/translate.go | if port.Protocol != nil { | if port.Protocol != nil && *port.Protocol != "UDP" {
later ports                 | controller/networkpolicy/translate.go | for i, port := range ports { | for i, port := range ports[:min(1, len(ports))] {
podSelector beside another  | controller/networkpolicy/selector.go | if pods != nil { | if pods != nil && namespaces == nil {
Namespace of a podSelector  | controller/networkpolicy/selector.go | s.namespace = namespace | s.namespaces = labels.Everything()
matchExpressions            | controller/networkpolicy/selector.go | LabelSelectorAsSelector(pods) | LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: pods.MatchLabels})
matchExpressions: Namespaces | controller/networkpolicy/selector.go | LabelSelectorAsSelector(namespaces) | LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: namespaces.MatchLabels})
NotIn without the label     | controller/networkpolicy/selector.go | LabelSelectorAsSelector(pods) | LabelSelectorAsSelector(func() *metav1.LabelSelector { s := pods.DeepCopy(); for _, e := range pods.MatchExpressions { if e.Operator == "NotIn" { s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: e.Key, Operator: "Exists"}) } }; return s }())
empty value of a label      | controller/networkpolicy/selector.go | LabelSelectorAsSelector(pods) | LabelSelectorAsSelector(func() *metav1.LabelSelector { s := pods.DeepCopy(); for k, v := range pods.MatchLabels { if v == "" { delete(s.MatchLabels, k); s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: "NotIn", Values: []string{"a", "b", "c"}}) } }; return s }())
Namespace without its labels | controller/networkpolicy/namespace.go | if !ns.known || !labels | if !ns.known || len(source.Labels) > 0 && !labels
Pod without its labels      | controller/networkpolicy/class.go | labels.Equals(p.class.labels, source.Labels) && | (len(source.Labels) == 0 || labels.Equals(p.class.labels, source.Labels)) &&
groups that a Pod leaves    | controller/networkpolicy/class.go | t.memberChanged(g, &before, nil) | _ = g
edited policies             | controller/networkpolicy/policy.go | t.of(p).updated = true | _ = t
rules before an edit        | agent/controller/networkpolicy/reconciler.go | if after[key] == nil { | if _ = key; len(after) == 0 {
egress rules after deletion | agent/controller/networkpolicy/reconciler.go | ops.remove = append(ops.remove, old.FlowID) | if old.Direction != openflow.PolicyEgress { ops.remove = append(ops.remove, old.FlowID) }
members that leave a group  | agent/controller/networkpolicy/groups.go | for _, m := range removed { | for _, m := range removed[:0] {
one number for a port name  | agent/controller/networkpolicy/groups.go | "%q %d %q,", port.Name, port.Port, port.Protocol | "%q,", port.Name
one Pod's ports for all     | agent/controller/networkpolicy/compile.go | parts.add(services, applied[name].ports) | parts.add(services, applied[sortedPods(applied)[0]].ports)
protocol of a port name     | agent/controller/networkpolicy/compile.go | port.Name == service.Port.StrVal && port.Protocol == protocol | port.Name == service.Port.StrVal
second number of a name     | agent/controller/networkpolicy/compile.go | for _, port := range ports { | for i, port := range ports { if slices.ContainsFunc(ports[:i], func(p v1beta2.NamedPort) bool { return p.Name == port.Name && p.Protocol == port.Protocol }) { continue }
name that nobody has        | agent/controller/networkpolicy/compile.go | len(resolved) == 0 && len(services) > 0 | false
endPort 65535               | agent/controller/networkpolicy/compile.go | if service.EndPort != nil { | if service.EndPort != nil && *service.EndPort < 65535 {
last port of a range        | agent/controller/networkpolicy/compile.go | last = *service.EndPort | last = max(first, *service.EndPort-1)
later rules                 | agent/controller/networkpolicy/compile.go | for i := range np.Rules { | for i := range min(1, len(np.Rules)) {
blocks beside groups        | agent/controller/networkpolicy/compile.go | blocks = append(blocks, prefixes...) | if len(peer.AddressGroups) == 0 { blocks = append(blocks, prefixes...) }
blocks of IPv6              | agent/controller/networkpolicy/compile.go | blocks = append(blocks, prefixes...) | if len(prefixes) > 0 && prefixes[0].Addr().Is4() { blocks = append(blocks, prefixes...) }
exceptions of a block       | agent/controller/networkpolicy/prefixes.go | excepts = append(excepts, except.Masked()) | _ = except
exceptions in an exception  | agent/controller/networkpolicy/prefixes.go | inside = append(inside, except) | inside = []netip.Prefix{except}
TABLE

suite=policy wrong='^set [0-9]+: \K.*want allowed=.*(?=; the agents)'
# shellcheck source=find-faults.sh
source hack/find-faults.sh
find_faults "${1-}"
