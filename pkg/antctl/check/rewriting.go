// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

const (
	// udpPort is where the servers answer UDP.
	udpPort = 8081
	// rewrittenPackets is how many packets of a flow must arrive between two looks at which its sender rewrites it. Of a flow whose rewritten
	// packets are lost, only those arrive meanwhile that are encapsulated to tell a key, or as a probe: some two a second.
	rewrittenPackets = 30
)

// rewriting checks that rewritten packets pass between two Nodes, with TCP and UDP. What drops them, such as a stateful firewall, tells nobody.
// tcp is the address of a Pod on the second Node with a busy connection to the server.
func (b *bed) rewriting(ctx context.Context, server *corev1.Pod, clientNode, tcp string, caches map[string]*api.Status) {
	const check = "rewriting"
	nodes := [2]string{server.Spec.NodeName, clientNode}
	ports := [2]string{caches[nodes[0]].Rewrite, caches[nodes[1]].Rewrite}
	switch {
	case ports[0] == "" && ports[1] == "":
		return
	case ports[0] != ports[1]:
		for i, port := range ports {
			if port == "" {
				ports[i] = "no rewriting"
			}
		}
		b.Report.Warn(check, "not tried: Nodes %s (%s) and %s (%s) exchange packets in the tunnel; set oncache.tunnel and oncache.rewritePort to the same on all Nodes",
			nodes[0], ports[0], nodes[1], ports[1])
		return
	}
	port := strings.TrimPrefix(ports[0], "tcp+udp/")
	b.rewritten(ctx, nodes, "TCP", port, tcp)
	script := fmt.Sprintf("while sleep 0.01; do echo hostname; done | timeout %d nc -u %s %d >/dev/null", int(2*b.Patience.Seconds()), server.Status.PodIP, udpPort)
	client, err := b.start(ctx, b.pod("busy-udp-client", clientNode, corev1.Container{Command: []string{"sh", "-c", script}}),
		func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" || hasEnded(pod)
		})
	switch {
	case err != nil:
		b.Report.Fail(check+" UDP", "no client: %v", err)
	case hasEnded(client):
		b.Report.Warn(check+" UDP", "not tried: the client has ended %s; it needs nc and timeout", output(client))
	default:
		b.rewritten(ctx, nodes, "UDP", port, client.Status.PodIP)
	}
}

// rewritten reports whether rewritten packets of a Pod's flow arrive on both Nodes.
func (b *bed) rewritten(ctx context.Context, nodes [2]string, protocol, port, podIP string) {
	check := "rewriting " + protocol
	var last look      // after it, the flags of the former round were read
	var former [2]bool // who rewrote in the former round
	var ever, arrived [2]bool
	err := wait.PollUntilContextTimeout(ctx, b.Interval, b.Patience, true, func(ctx context.Context) (bool, error) {
		// Packets are counted between two moments at which the sender rewrites them: after it said so first, and before it says so again.
		before, err := b.look(ctx, nodes, podIP)
		if err != nil {
			return false, err
		}
		now, err := b.look(ctx, nodes, podIP)
		if err != nil {
			return false, err
		}
		for to := range nodes {
			from := 1 - to
			ever[to] = ever[to] || now.rewrites[from]
			if former[to] && now.rewrites[from] && before.received[to] >= last.received[to]+rewrittenPackets {
				arrived[to] = true
			}
			former[to] = now.rewrites[from]
		}
		last, err = b.look(ctx, nodes, podIP)
		return arrived == [2]bool{true, true}, err
	})
	switch {
	case err == nil:
		b.Report.OK(check, "packets between Nodes %s and %s arrive at port %s in both directions", nodes[1], nodes[0], port)
		return
	case !wait.Interrupted(err):
		b.Report.Fail(check, "%v", err)
		return
	}
	for to, node := range nodes {
		switch {
		case arrived[to]:
		case ever[to]:
			b.Report.Fail(check, "Node %s rewrites packets that do not arrive on Node %s: let %s pass between the Nodes to port %s, from every port, by firewalls without state; or set oncache.tunnel: encap",
				nodes[1-to], node, protocol, port)
		default:
			b.Report.Warn(check, "no packet from Node %s to Node %s was rewritten within %s; see antctl get oncache flows there", nodes[1-to], node, b.Patience)
		}
	}
}

// look is what two Nodes say about the flows of a Pod.
type look struct {
	// rewrites is set if packets that leave the Node are rewritten; received are those that have come by the fast path.
	rewrites [2]bool
	received [2]uint64
}

func (b *bed) look(ctx context.Context, nodes [2]string, podIP string) (l look, err error) {
	for i, node := range nodes {
		var flows []api.FlowInfo
		if err := b.Agents.Get(ctx, node, "/oncache", url.Values{"view": {"flows"}, "ip": {podIP}}, &flows); err != nil {
			return l, fmt.Errorf("Node %s: %w", node, err)
		}
		for _, flow := range flows {
			if flow.Direction == "egress" {
				l.rewrites[i] = l.rewrites[i] || flow.Rewritten
			} else {
				l.received[i] += flow.Packets
			}
		}
	}
	return l, nil
}
