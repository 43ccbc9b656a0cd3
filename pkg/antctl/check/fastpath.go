// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// acceleratedPackets is the number of packets of one connection that must take the fast path, on each Node and in each
// direction.
const acceleratedPackets = 100

// fastPath keeps a connection between two Nodes busy, and asks both agents whether its packets take the fast path, and whether they arrive
// if they are rewritten there.
func (b *bed) fastPath(ctx context.Context, server *corev1.Pod, clientNode string, caches map[string]*api.Status) {
	const check = "fast path"
	nodes := []string{server.Spec.NodeName, clientNode}
	for _, node := range nodes {
		cache := caches[node]
		if cache == nil {
			b.Report.OK(check, "not expected: feature gate ONCache is off on Node %s", node)
			return
		}
		if cache.State != api.StateActive {
			b.Report.Warn(check, "not tried: the cache of Node %s is %s", node, cache.State)
			return
		}
	}
	if why, err := b.notCached(ctx, nodes[0], nodes[1]); err != nil {
		b.Report.Fail(check, "%v", err)
		return
	} else if why != "" {
		b.Report.OK(check, "not expected between Nodes: on Node %s, Node %s is %s", nodes[0], nodes[1], why)
		return
	}
	// One curl uses one connection for all its requests.
	script := fmt.Sprintf(`curl -s -o /dev/null --max-time %d "http://%s/hostname?[1-9999999]"; exit 0`, int(2*b.Patience.Seconds()), hostPort(server))
	client, err := b.Start(ctx, b.pod("busy-client", clientNode, corev1.Container{Command: []string{"sh", "-c", script}}),
		func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" })
	if err != nil {
		b.Report.Fail(check, "no client: %v", err)
		return
	}
	for _, node := range nodes {
		if err := b.accelerated(ctx, node, client.Status.PodIP); err != nil {
			b.Report.Fail(check, "Node %s: %v; see antctl oncache explain --from %s/busy-client --to %[3]s/server --port %d there", node, err, b.Name, serverPort)
			return
		}
	}
	b.Report.OK(check, "packets between Nodes %s and %s take it in both directions", nodes[1], nodes[0])
	b.rewriting(ctx, server, clientNode, client.Status.PodIP, caches)
}

// notCached returns why the cache of a Node has no hits to another one; empty if it can have some.
func (b *bed) notCached(ctx context.Context, node, other string) (why string, err error) {
	var known []api.NodeInfo
	if err := b.Agents.Get(ctx, node, "/oncache", url.Values{"view": {"nodes"}}, &known); err != nil {
		return "", fmt.Errorf("asking the agent of Node %s how it reaches others: %w", node, err)
	}
	for _, n := range known {
		if n.Name == other && n.OnOVS == "" {
			return "", nil
		}
		if n.Name == other {
			why = n.OnOVS
		}
	}
	return why, nil
}

// accelerated waits until packets of a Pod have taken the fast path of a Node in both directions.
func (b *bed) accelerated(ctx context.Context, node, podIP string) error {
	query := url.Values{"view": {"flows"}, "ip": {podIP}}
	packets := map[string]uint64{}
	err := wait.PollUntilContextTimeout(ctx, b.Interval, b.Patience, true, func(ctx context.Context) (bool, error) {
		var flows []api.FlowInfo
		if err := b.Agents.Get(ctx, node, "/oncache", query, &flows); err != nil {
			return false, err
		}
		clear(packets)
		for _, flow := range flows {
			packets[flow.Direction] += flow.Packets
		}
		return packets["egress"] >= acceleratedPackets && packets["ingress"] >= acceleratedPackets, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("of a busy connection only %d packets of egress and %d of ingress took it within %s", packets["egress"], packets["ingress"], b.Patience)
	}
	return err
}
