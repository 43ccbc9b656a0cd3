// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/test/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/testbed/progress"
)

const (
	gate      = "ONCache"
	namespace = "default"
)

// bed is the cluster in which is measured.
type bed struct {
	cluster  *cluster.Cluster
	progress *progress.Printer
	length   time.Duration
}

// end is a place that sends or receives.
type end struct {
	space *cluster.Space
	ip    string
}

func (b *bed) measureAll(ctx context.Context) (*table, error) {
	t := &table{}
	node1, node2 := b.cluster.Nodes[0], b.cluster.Nodes[1]
	hosts := [2]end{{node1.Space, node1.IP.String()}, {node2.Space, node2.IP.String()}}
	if err := startServers(hosts[1]); err != nil {
		return nil, err
	}
	// Without an agent a Node has no rules of netfilter and no conntrack; the fast path goes past those that an agent makes.
	if err := b.measure(ctx, t, bare, hosts); err != nil {
		return nil, err
	}
	if err := b.cluster.StartAgents(ctx); err != nil {
		return nil, err
	}
	if err := b.measure(ctx, t, hosted, hosts); err != nil {
		return nil, err
	}
	pods, err := b.makePods(ctx, "veth")
	if err != nil {
		return nil, err
	}
	if err := b.measure(ctx, t, overlay, pods); err != nil {
		return nil, err
	}
	if err := b.configure(ctx, map[string]any{"featureGates": map[string]any{gate: true}}); err != nil {
		return nil, err
	}
	if err := b.measureFast(ctx, t, oncache, pods); err != nil {
		return t, err
	}
	if err := b.configure(ctx, map[string]any{"podInterfaceType": "netkit"}); err != nil {
		return nil, err
	}
	if pods, err = b.makePods(ctx, "netkit"); err != nil {
		return nil, err
	}
	return t, b.measureFast(ctx, t, oncacheNetkit, pods)
}

// makePods makes a client on the first Node and a server on the second.
func (b *bed) makePods(ctx context.Context, kind string) (pods [2]end, err error) {
	for i, role := range []string{"client", "server"} {
		pod, err := b.cluster.CreatePod(ctx, b.cluster.Nodes[i], namespace, role+"-"+kind)
		if err != nil {
			return pods, err
		}
		pods[i] = end{pod.Space, pod.IP.String()}
	}
	return pods, startServers(pods[1])
}

// configure changes the agents' configuration and restarts them.
func (b *bed) configure(ctx context.Context, change map[string]any) error {
	b.progress.Printf("cost: %v", change)
	return b.cluster.EachNode(func(n *cluster.Node) error {
		err := n.WriteAgentConfig(func(conf map[string]any) {
			for key, value := range change {
				conf[key] = value
			}
		})
		if err != nil {
			return err
		}
		return n.RestartAgent(ctx)
	})
}

// measure fills in one row.
func (b *bed) measure(ctx context.Context, t *table, r row, ends [2]end) error {
	for _, p := range protocols {
		if err := b.measureOne(ctx, t, r, p, ends); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) measureOne(ctx context.Context, t *table, r row, p protocol, ends [2]end) (err error) {
	b.progress.Printf("cost: %s, %s", r, p)
	// The first run opens the way and warms what is computed once.
	for _, length := range []time.Duration{time.Second, b.length} {
		if t[r][p], err = roundTrip(ctx, p, ends[0].space, ends[1].ip, length); err != nil {
			return err
		}
	}
	return nil
}

// measureFast is measure, and fails if the traffic did not take the fast path.
func (b *bed) measureFast(ctx context.Context, t *table, r row, ends [2]end) error {
	for _, p := range protocols {
		before, err := b.hits(ctx)
		if err != nil {
			return err
		}
		if err := b.measureOne(ctx, t, r, p, ends); err != nil {
			return err
		}
		after, err := b.hits(ctx)
		if err != nil {
			return err
		}
		// The second before it took the fast path as well, or a part of it.
		if messages := uint64(b.length) / t[r][p]; after-before < messages {
			return fmt.Errorf("%s, %s: %d packets have taken the fast path, of more than %d that were sent", r, p, after-before, messages)
		}
	}
	return nil
}
