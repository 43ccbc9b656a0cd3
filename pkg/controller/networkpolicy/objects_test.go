// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

func makeNamespace(name, set string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: parseLabels(set)}}
}

func parseLabels(set string) map[string]string {
	if set == "" {
		return nil
	}
	parsed, err := labels.ConvertSelectorToLabelsMap(set)
	if err != nil {
		panic(err)
	}
	return parsed
}

// makePod makes a Pod "namespace/name" that runs on a Node, if node is not empty, with the addresses ips.
func makePod(name, set, node string, ips ...string) *corev1.Pod {
	namespace, name, _ := strings.Cut(name, "/")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: parseLabels(set)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, ip := range ips {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return pod
}

// makePolicy makes a policy "namespace/name" from a spec in YAML; its UID is "uid-<name>".
func makePolicy(t testing.TB, name, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	namespace, name, _ := strings.Cut(name, "/")
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &policy.Spec))
	return policy
}

// ruleText is a short form of a rule: "In from=[...] ports=[...]".
func ruleText(c *core, rule controlplane.NetworkPolicyRule) string {
	name, peer := "from", rule.From
	if rule.Direction == controlplane.DirectionOut {
		name, peer = "to", rule.To
	}
	var peers []string
	for _, block := range peer.IPBlocks {
		text := cidrText(block.CIDR)
		for _, except := range block.Except {
			text += "-" + cidrText(except)
		}
		peers = append(peers, text)
	}
	for _, group := range peer.AddressGroups {
		peers = append(peers, "{"+groupText(c.groups[group])+"}")
	}
	var ports []string
	for _, service := range rule.Services {
		text := string(*service.Protocol)
		if service.Port != nil {
			text += ":" + service.Port.String()
		}
		if service.EndPort != nil {
			text += fmt.Sprintf("-%d", *service.EndPort)
		}
		ports = append(ports, text)
	}
	text := fmt.Sprintf("%s %s=%v ports=%v", rule.Direction, name, peers, ports)
	if rule.EnableLogging {
		text += " log"
	}
	return text
}

func cidrText(cidr controlplane.IPNet) string {
	addr, _ := netip.AddrFromSlice(cidr.IP)
	return netip.PrefixFrom(addr, int(cidr.PrefixLength)).String()
}

// groupText returns the selectors of a group.
func groupText(g *group) string {
	var texts []string
	for s := range g.selections {
		texts = append(texts, s.selector.normalized())
	}
	slices.Sort(texts)
	return strings.Join(texts, " | ")
}

// memberTexts returns members as "namespace/name ip,ip port:number/protocol", sorted.
func memberTexts(members []controlplane.GroupMember) []string {
	var texts []string
	for _, m := range members {
		text := memberName(&m)
		var ips []string
		for _, ip := range m.IPs {
			addr, _ := netip.AddrFromSlice(ip)
			ips = append(ips, addr.String())
		}
		if len(ips) > 0 {
			text += " " + strings.Join(ips, ",")
		}
		for _, p := range m.Ports {
			text += fmt.Sprintf(" %s:%d/%s", p.Name, p.Port, p.Protocol)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

func memberName(m *controlplane.GroupMember) string {
	switch {
	case m.Node != nil:
		return "node " + m.Node.Name
	case m.Service != nil:
		return "service " + m.Service.Namespace + "/" + m.Service.Name
	default:
		return m.Pod.Namespace + "/" + m.Pod.Name
	}
}

func toJSON(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
