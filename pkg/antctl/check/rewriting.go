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
	// udpPort is the servers' UDP port.
	udpPort = 8081
	// rewrittenPackets is the number of packets of a flow that must arrive between two looks if its sender rewrites it.
	// If rewritten packets are lost, only about two a second arrive: those encapsulated to tell a key or to probe.
	rewrittenPackets = 20
)

// rewriting checks that rewritten packets pass between two Nodes, with TCP and UDP. A stateful firewall, for example,
// drops them silently. tcp is the address of a Pod on the second Node with a busy connection to the server.
func (b *bed) rewriting(ctx context.Context, server *corev1.Pod, clientNode, tcp string, caches map[string]*api.Status) {
	const check = "rewriting"
	nodes := [2]string{clientNode, server.Spec.NodeName}
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
	for _, node := range nodes {
		if reason := caches[node].NotRewriting; reason != "" {
			b.Report.Warn(check, "not tried: packets to Node %s are not rewritten: %s", node, reason)
			return
		}
	}
	port := strings.TrimPrefix(ports[0], "tcp+udp/")
	b.Rewritten(ctx, nodes, "TCP", port, tcp)
	script := fmt.Sprintf("while sleep 0.01; do echo hostname; done | timeout %d nc -u %s %d >/dev/null", int(2*b.Patience.Seconds()), server.Status.PodIP, udpPort)
	client, err := b.Start(ctx, b.pod("busy-udp-client", clientNode, corev1.Container{Command: []string{"sh", "-c", script}}),
		func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" || hasEnded(pod)
		})
	switch {
	case err != nil:
		b.Report.Fail(check+" UDP", "no client: %v", err)
	case hasEnded(client):
		b.Report.Warn(check+" UDP", "not tried: the client has ended %s; it needs nc and timeout", output(client))
	default:
		b.Rewritten(ctx, nodes, "UDP", port, client.Status.PodIP)
	}
}

// Rewritten checks whether rewritten packets of a Pod's flows of a protocol arrive, in both directions, while the flows are busy: on a Node
// with the Pod and on another one.
func (i *Installation) Rewritten(ctx context.Context, nodes [2]string, protocol, port, podIP string) {
	check := "rewriting " + protocol
	var last flowState // after it, the flags of the former round were read
	var former [2]bool // who rewrote in the former round
	var ever, arrived [2]bool
	err := wait.PollUntilContextTimeout(ctx, i.Interval, i.Patience, true, func(ctx context.Context) (bool, error) {
		// Packets are counted between two moments at which the sender rewrites them: after it said so first, and before it says so again.
		before, err := i.flowState(ctx, nodes, protocol, podIP)
		if err != nil {
			return false, err
		}
		now, err := i.flowState(ctx, nodes, protocol, podIP)
		if err != nil {
			return false, err
		}
		for from := range nodes {
			ever[from] = ever[from] || now.rewrites[from]
			if former[from] && now.rewrites[from] && before.received[1-from] >= last.received[1-from]+rewrittenPackets {
				arrived[from] = true
			}
		}
		former = now.rewrites
		last, err = i.flowState(ctx, nodes, protocol, podIP)
		return arrived == [2]bool{true, true}, err
	})
	switch {
	case err == nil:
		i.Report.OK(check, "packets between Nodes %s and %s arrive at port %s in both directions", nodes[0], nodes[1], port)
	case !wait.Interrupted(err):
		i.Report.Fail(check, "%v", err)
	case ever[0] && !arrived[0], ever[1] && !arrived[1]: // a connection rests in both directions when one of them is blocked
		i.Report.Fail(check, "Nodes %s and %s rewrite packets that do not arrive: let %s pass between all Nodes to port %s, from every port, through firewalls without state; or set oncache.tunnel: encap",
			nodes[0], nodes[1], protocol, port)
	default:
		silent := nodes[0]
		if ever[0] {
			silent = nodes[1]
		}
		i.Report.Warn(check, "no packet from Node %s was rewritten within %s; see antctl get oncache flows there", silent, i.Patience)
	}
}

// flowState is the state of a Pod's flows of one protocol on the two Nodes.
type flowState struct {
	// rewrites is set if packets that leave the Node are rewritten. received counts packets that came by the fast path.
	rewrites [2]bool
	received [2]uint64
}

func (i *Installation) flowState(ctx context.Context, nodes [2]string, protocol, podIP string) (l flowState, err error) {
	for n, node := range nodes {
		var flows []api.FlowInfo
		if err := i.Agents.Get(ctx, node, "/oncache", url.Values{"view": {"flows"}, "ip": {podIP}}, &flows); err != nil {
			return l, fmt.Errorf("ask the agent of Node %s for flows: %w", node, err)
		}
		for _, flow := range flows {
			switch {
			case flow.Protocol != protocol:
			case flow.Direction == "egress":
				l.rewrites[n] = l.rewrites[n] || flow.Rewritten
			default:
				l.received[n] += flow.Packets
			}
		}
	}
	return l, nil
}
