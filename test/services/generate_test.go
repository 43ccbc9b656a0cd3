// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Each feature that a fault may concern is so frequent that a few dozen sets have it.
func TestGeneratorIsReproducibleAndVaried(t *testing.T) {
	const seeds, turns = 3, 45
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		a, b := NewGenerator(rand.New(rand.NewPCG(seed, 2))), NewGenerator(rand.New(rand.NewPCG(seed, 2)))
		former := a.World()
		for turn := range turns {
			w := a.World()
			require.Equal(t, w, b.World())
			probes := a.Probes(former, w)
			require.Equal(t, probes, b.Probes(former, w))
			for _, p := range probes {
				seeProbe(seen, w, p)
			}
			seeChange(seen, former, w)
			former = w
			if turn%5 == 4 {
				require.Equal(t, a.Reconfigure(), b.Reconfigure())
			}
			a.Edit()
			b.Edit()
		}
	}
	for _, what := range []string{
		"served", "rejected", "dropped", "left as it is", "affinity", "open", "several Endpoints", "TCP", "UDP", "SCTP", "IPv4", "IPv6", "dual stack",
		"Pod", "Node", "outside", "itself", "a Node's Endpoint", "an outside Endpoint", "another Node's Pod",
		"cluster IP", "load balancer", "external IP", "NodePort", "external IP of several", "Local for Pods", "Local from outside", "hints", "terminating",
		"Endpoint has gone", "Endpoint is new", "Service has gone", "Service is new", "UDP moves", "not admitted",
	} {
		require.Greater(t, seen[what], 10, "%s: %v", what, seen)
	}
	for _, what := range []string{"Node's zone", "node hints", "Service again", "left alone", "ipMode"} {
		require.Positive(t, seen[what], "%s: %v", what, seen)
	}
}

func seeProbe(seen map[string]int, w *World, p *Probe) {
	count := func(what string, yes bool) {
		if yes {
			seen[what]++
		}
	}
	v := w.Verdict(p)
	f := w.frontend(p.Client.Node, p.To, p.Protocol)
	seen[v.Outcome.String()]++
	seen[string(p.Protocol)]++
	seen[map[ClientKind]string{FromPod: "Pod", FromNode: "Node", FromOutside: "outside"}[p.Client.Kind]]++
	count("IPv4", p.To.Addr().Is4())
	count("IPv6", p.To.Addr().Is6())
	count("affinity", v.Affinity)
	count("open", v.Open)
	count("several Endpoints", len(v.Endpoints) > 1)
	count("left alone", f == nil && slices.ContainsFunc(w.Services, w.isLeftAlone))
	for _, e := range v.Endpoints {
		count("itself", e.Address.Addr() == p.Client.IP)
		isNode := slices.ContainsFunc(w.Nodes, func(n *Node) bool { return slices.Contains(n.Addresses, e.Address.Addr()) })
		count("a Node's Endpoint", isNode)
		count("an outside Endpoint", e.Node == "")
		count("another Node's Pod", e.Node != "" && e.Node != p.Client.Node && !isNode)
		count("terminating", e.Terminating)
	}
	if f == nil {
		return
	}
	seen[map[addressKind]string{clusterIP: "cluster IP", loadBalancerIP: "load balancer", externalIP: "external IP", nodePort: "NodePort"}[f.kind]]++
	count("dual stack", len(f.service.Spec.IPFamilies) == 2)
	count("not admitted", v.Outcome == Dropped && f.kind == loadBalancerIP)
	count("Local for Pods", p.Client.Kind == FromPod && f.isLocalFor(FromPod))
	count("Local from outside", f.isLocalFor(FromOutside) && p.Client.Kind == FromOutside)
	ready := filter(w.endpoints(f), func(e *Endpoint) bool { return e.Ready })
	count("hints", len(v.Endpoints) < len(ready) && !f.isLocalFor(p.Client.Kind))
	byZone := w.Settings
	byZone.NodeHints = false
	without := *w
	without.Settings = byZone
	other := without.Verdict(p)
	count("node hints", fmt.Sprint(other.Addresses()) != fmt.Sprint(v.Addresses()))
	owners := 0
	for _, g := range w.frontends(p.Client.Node) {
		if g.address == f.address && g.protocol == f.protocol {
			owners++
		}
	}
	count("external IP of several", owners > 1)
	for _, ingress := range f.service.Status.LoadBalancer.Ingress {
		count("ipMode", ingress.IPMode != nil && *ingress.IPMode == corev1.LoadBalancerIPModeProxy)
	}
}

// seeChange looks at what the change of the World has done to its connections.
func seeChange(seen map[string]int, former, w *World) {
	for i, n := range w.Nodes {
		if n.Zone != former.Nodes[i].Zone {
			seen["Node's zone"]++
		}
	}
	has := func(in *World, s *corev1.Service) *corev1.Service {
		for _, other := range in.Services {
			if other.Name == s.Name {
				return other
			}
		}
		return nil
	}
	for _, s := range former.Services {
		if now := has(w, s); now == nil {
			seen["Service has gone"]++
		} else if now.UID != s.UID {
			seen["Service again"]++
		}
	}
	for _, s := range w.Services {
		if has(former, s) == nil {
			seen["Service is new"]++
		}
	}
	for _, f := range former.frontends("node-1") {
		p := &Probe{Client{FromPod, "node-1", netip.MustParseAddr(aPod)}, f.address, f.protocol}
		before, now := former.Verdict(p), w.Verdict(p)
		for _, a := range before.Addresses() {
			if !slices.Contains(now.Addresses(), a) {
				seen["Endpoint has gone"]++
			}
			if f.protocol == corev1.ProtocolUDP && w.Continues(p, a) == Moves {
				seen["UDP moves"]++
			}
		}
		for _, a := range now.Addresses() {
			if !slices.Contains(before.Addresses(), a) {
				seen["Endpoint is new"]++
			}
		}
	}
}
