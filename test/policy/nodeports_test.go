// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

func TestNodePortOpinion(t *testing.T) {
	const (
		service = "{service: {namespace: x, name: s}}"
		deny    = " {tier: application, priority: 5, appliedTo: [" + service + "], ingress: [{name: d, action: Drop, from: [{ipBlock: {cidr: 198.51.100.0/24}}]}]}"
		pods    = " {tier: application, priority: %d, appliedTo: [{podSelector: {}}], ingress: [{name: p, action: %s, from: [{%s}]}]}"
	)
	for _, test := range []struct {
		name     string
		policies []string
		local    bool
		// here and there are the opinions where the server's Node is dialed, and where the other Node is.
		here, there Opinion
	}{
		{"no policy", nil, false, MayAllow, MayAllow},
		{"only the Node's own Pods serve", nil, true, MayAllow, MayDrop},
		{"denied", []string{deny}, false, MayDrop, MayDrop},
		{"another Service", []string{" {priority: 5, appliedTo: [{service: {namespace: x, name: t}}], ingress: [{name: d, action: Drop}]}"}, false, MayAllow, MayAllow},
		{"another client", []string{" {priority: 5, appliedTo: [" + service + "], ingress: [{name: d, action: Drop, from: [{ipBlock: {cidr: 10.10.0.0/16}}]}]}"}, false, MayAllow, MayAllow},
		{"rejected in the baseline tier", []string{" {tier: baseline, priority: 5, appliedTo: [" + service + "], ingress: [{name: d, action: Reject}]}"}, false, MayReject, MayReject},
		{"allowed before the Pod's rules", []string{
			" {priority: 1, appliedTo: [" + service + "], ingress: [{name: a, action: Allow}]}", fmt.Sprintf(pods, 5, "Drop", ""),
		}, false, MayAllow, MayAllow},
		{"the Pod denies the gateway", []string{fmt.Sprintf(pods, 5, "Drop", "ipBlock: {cidr: 10.10.0.0/16}")}, false, MayAllow, MayDrop},
		{"the Pod denies the Node", []string{fmt.Sprintf(pods, 5, "Reject", "nodeSelector: {}")}, false, MayAllow, MayReject},
		{"the Pod denies the client", []string{fmt.Sprintf(pods, 5, "Drop", "ipBlock: {cidr: 198.51.100.0/24}")}, false, MayDrop, MayAllow},
		{"denied at the Endpoint's port", []string{" {priority: 5, appliedTo: [" + service + "], ingress: [{name: d, action: Drop, ports: [{protocol: TCP, port: 8080}]}]}"}, false, MayDrop, MayDrop},
		{"not at the Service's port", []string{" {priority: 5, appliedTo: [" + service + "], ingress: [{name: d, action: Drop, ports: [{port: 80}, {port: 30000}]}]}"}, false, MayAllow, MayAllow},
		{"a name of a port that denies", []string{" {priority: 5, appliedTo: [" + service + "], ingress: [{name: d, action: Reject, from: [{ipBlock: {cidr: 10.10.0.0/16}}], ports: [{port: nothing}]}]}"}, false, MayDrop, MayDrop},
		{"a name of a port that allows", []string{
			deny, " {priority: 1, appliedTo: [" + service + "], ingress: [{name: a, action: Allow, ports: [{port: http}, {port: 81}]}]}",
		}, false, MayDrop, MayDrop},
		{"a number beside a name of a port", []string{
			deny, " {priority: 1, appliedTo: [" + service + "], ingress: [{name: a, action: Allow, ports: [{port: http}, {port: 8080}]}]}",
		}, false, MayAllow, MayAllow},
		{"isolated by Kubernetes", []string{"k8s x {podSelector: {}}"}, false, MayDrop, MayDrop},
		{"passed to Kubernetes", []string{
			" {priority: 1, appliedTo: [" + service + "], ingress: [{name: p, action: Pass}]}", deny, "k8s x {podSelector: {}, ingress: [{}]}",
		}, false, MayAllow, MayAllow},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := handmade(t)
			w.set(t, test.policies)
			via := &ClusterIP{Namespace: "x", Name: "s", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: 8080, NodePort: 30000, Local: test.local}
			p := &Probe{From: outside[0], To: w.Pods[1], Protocol: via.Protocol, Port: via.TargetPort, Via: via}
			require.Equal(t, "node-2", p.To.Node)
			p.Dialed = "node-2"
			require.Equal(t, test.here, w.Opinion(p))
			p.Dialed = "node-1"
			require.Equal(t, test.there, w.Opinion(p))
		})
	}
}

// NodePorts are the only difference that they make, and every outcome comes.
func TestNodePortsOfWorlds(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(4) {
		newGenerator := func() *Generator { return NewAntreaGenerator(NewGeneratorWithTurnover(rand.New(rand.NewPCG(seed, 2)))) }
		a, b := newGenerator().WithNodePorts(rand.New(rand.NewPCG(seed, 3))), newGenerator()
		for range 40 {
			w, without := a.Next(), b.Next()
			require.Equal(t, without.Pods, w.Pods)
			require.Equal(t, without.Policies, w.Policies)
			require.Equal(t, without.AntreaNetworkPolicies, w.AntreaNetworkPolicies)
			require.Equal(t, without.ClusterNetworkPolicies, slices.DeleteFunc(slices.Clone(w.ClusterNetworkPolicies), func(p *crd.ClusterNetworkPolicy) bool { return isNodePortPolicy(p.Name) }))
			probes := a.Probes(w)
			require.Equal(t, len(b.Probes(without)), slices.IndexFunc(append(probes, &Probe{Dialed: "none"}), func(p *Probe) bool { return p.Dialed != "" }))
			for _, p := range probes {
				if p.Dialed != "" {
					seen[fmt.Sprintf("%v, here %t, IPv6 %t, local %t", w.Opinion(p), p.Dialed == p.To.Node, p.IPv6, p.Via.Local)]++
				}
			}
		}
	}
	for _, opinion := range []Opinion{MayAllow, MayDrop, MayReject} {
		for _, six := range []bool{false, true} {
			require.Greater(t, seen[fmt.Sprintf("%v, here true, IPv6 %t, local true", opinion, six)], 5, "%v", seen)
			for _, here := range []bool{false, true} {
				require.Greater(t, seen[fmt.Sprintf("%v, here %t, IPv6 %t, local false", opinion, here, six)], 5, "%v", seen)
			}
		}
	}
}
