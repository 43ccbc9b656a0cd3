// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// The controller watches Namespaces, Pods and policies, and the agents watch policies and groups, in streams that do not wait for each
// other. A marker goes through all of them: its policy has its rules once everything before it in every stream has been processed.

const (
	markerNamespace = "marker"
	markerLabel     = "marker"
	markerPort      = 9 // no other policy has it
	settleTimeout   = 30 * time.Second
	markerPeriod    = 20 * time.Millisecond // a look at the flows is a process
)

// markerPods are on each Node; no packets are sent to them.
var markerPods = []*policy.Pod{
	{Namespace: markerNamespace, Name: "marker-1", Labels: map[string]string{markerLabel: "0"}, Node: "node-1", IPv4: netip.MustParseAddr("10.10.1.250"), IPv6: netip.MustParseAddr("fd00:10:10:1::fa")},
	{Namespace: markerNamespace, Name: "marker-2", Labels: map[string]string{markerLabel: "0"}, Node: "node-2", IPv4: netip.MustParseAddr("10.10.2.250"), IPv6: netip.MustParseAddr("fd00:10:10:2::fa")},
}

func markerName(n int) string { return fmt.Sprint("marker-", n) }

var (
	markerFlow = regexp.MustCompile(`sctp6?,tp_dst=9 .*conjunction\((\d+),3/3\)`)
	flowSource = regexp.MustCompile(`(?:nw|ipv6)_src=([0-9a-f.:]+)`)
)

// settle returns when everything in the API is realized on the switches of all Nodes.
func (c *cluster) settle(ctx context.Context, f *fabric) error {
	if err := c.setMarker(ctx); err != nil {
		return err
	}
	return c.waitMarked(ctx, f)
}

func (c *cluster) waitMarked(ctx context.Context, f *fabric) error {
	for name, n := range f.Nodes {
		id, peers := "", 0
		err := wait.PollUntilContextTimeout(ctx, markerPeriod, settleTimeout, true, func(context.Context) (bool, error) {
			id, peers = markerRule(n)
			return c.markedBy(id, peers, name), nil
		})
		if err != nil {
			return fmt.Errorf("changes are not realized on %s after %s: marker %d has rule %q with %d peers, the one before had rule %q: %w",
				name, settleTimeout, c.marks, id, peers, c.marker[name], err)
		}
		c.marker[name] = id
	}
	return nil
}

// markedBy reports whether a rule on a switch is the complete rule of the last marker.
func (c *cluster) markedBy(id string, peers int, node string) bool {
	return id != "" && id != c.marker[node] && peers == 2*len(markerPods)
}

// marked reports whether the last marker is on all switches.
func (c *cluster) marked(f *fabric) bool {
	ids := map[string]string{}
	for name, n := range f.Nodes {
		id, peers := markerRule(n)
		if !c.markedBy(id, peers, name) {
			return false
		}
		ids[name] = id
	}
	c.marker = ids
	return true
}

// markerRule returns the id of the marker's rule on the switch and the number of its peers there. No other rule has its port.
func markerRule(n *switchpair.Node) (id string, peers int) {
	flows := n.OVS.DumpFlows(switchpair.BridgeName)
	for _, flow := range flows {
		if m := markerFlow.FindStringSubmatch(flow); m != nil {
			id = m[1]
		}
	}
	for _, flow := range flows {
		if m := flowSource.FindStringSubmatch(flow); m != nil && isMarker(m[1]) && strings.Contains(flow, "conjunction("+id+",1/3)") {
			peers++
		}
	}
	return id, peers
}

func isMarker(address string) bool {
	return slices.ContainsFunc(markerPods, func(p *policy.Pod) bool { return p.IPv4.String() == address || p.IPv6.String() == address })
}

// setMarker replaces the marker by the next one: a new policy, whose Pods get the label that it selects at the same time.
func (c *cluster) setMarker(ctx context.Context) error {
	policies := c.api.NetworkingV1().NetworkPolicies(markerNamespace)
	if c.marks > 0 {
		if err := policies.Delete(ctx, markerName(c.marks), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	c.marks++
	if err := c.markAntrea(ctx); err != nil {
		return err
	}
	labels := map[string]string{markerLabel: strconv.Itoa(c.marks)}
	if _, err := c.api.CoreV1().Namespaces().Update(ctx, namespaceObject(markerNamespace, labels), metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, pod := range markerPods {
		labeled := *pod
		labeled.Labels = labels
		if _, err := c.api.CoreV1().Pods(pod.Namespace).Update(ctx, labeled.Object(), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	selector := metav1.LabelSelector{MatchLabels: labels}
	marker := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: markerNamespace, Name: markerName(c.marks), UID: types.UID(markerName(c.marks))}}
	marker.Spec = networkingv1.NetworkPolicySpec{
		PodSelector: selector, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &selector, PodSelector: &selector}},
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolSCTP), Port: ptr.To(intstr.FromInt32(markerPort))}},
		}},
	}
	_, err := policies.Create(ctx, marker, metav1.CreateOptions{})
	return err
}
