// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/bench/native/agent"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// maxFlows is the default of the agent's configuration.
const maxFlows = 1 << 20

// stopGrace limits the time for a program to end.
const stopGrace = 10 * time.Second

// rewritePort is the default of the agent's configuration.
const rewritePort = 585

// caches are the agents of a pair's Nodes.
type caches struct {
	nodes []*cacheNode
}

type cacheNode struct {
	*agent.Client
	node    *nodepair.Node
	process *cluster.Process
	pins    string
}

// startCaches starts the agents of a state.
func (b *Bed) startCaches(ctx context.Context, network network, state result.State, pair *nodepair.Pair) (_ *caches, err error) {
	c := &caches{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	for i, n := range pair.Nodes {
		peer := pair.Nodes[1-i]
		id := fmt.Sprintf("bench-%s-%s-%d", network.name, state, i+1)
		config := agent.Config{
			Socket: filepath.Join(b.dir, id+".sock"), PinPath: filepath.Join(sandbox.BPFFS, id), MaxFlows: maxFlows,
			PodIP: n.PodIP, PodMAC: n.PodMAC, Gateway: n.Gateway, VirtualMAC: n.TunnelMAC,
			Transport: n.Transport, Peer: peer.Transport, PeerNetwork: peer.PodNetwork, Direct: pair.Direct,
		}
		if i == 0 {
			config.Service = network.service
		}
		if state == result.Rewrite {
			config.RewritePort = rewritePort
		}
		text, err := json.Marshal(config)
		if err != nil {
			return nil, err
		}
		node := &cacheNode{node: n, pins: config.PinPath}
		c.nodes = append(c.nodes, node)
		if node.process, err = cluster.NewSpace(id, n.Host).Start(b.Self, "agent", string(text)); err != nil {
			return nil, err
		}
		if node.Client, err = agent.Connect(ctx, config.Socket, node.process.Done()); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", id, err, node.process.Stderr())
		}
	}
	return c, nil
}

func (c *caches) each(do func(*cacheNode) error) error {
	for _, n := range c.nodes {
		if err := do(n); err != nil {
			return fmt.Errorf("cache of Node %v: %w", n.node.Transport, err)
		}
	}
	return nil
}

// Learning implements bed.Cache.
func (c *caches) Learning(on bool) error {
	return c.each(func(n *cacheNode) error { return n.Client.Learning(on) })
}

// Fill implements bed.Cache.
func (c *caches) Fill(flows int) error {
	return c.each(func(n *cacheNode) error { return n.Client.Fill(flows) })
}

// Evict implements bed.Cache.
func (c *caches) Evict() (longest time.Duration, err error) {
	err = c.each(func(n *cacheNode) error {
		took, err := n.Client.Evict()
		longest = max(longest, took)
		return err
	})
	return longest, err
}

// Status implements bed.Cache.
func (c *caches) Status() (all []*api.Status, err error) {
	err = c.each(func(n *cacheNode) error {
		s, err := n.Client.Status()
		all = append(all, s)
		return err
	})
	return all, err
}

// close stops the agents and removes what they leave on purpose.
func (c *caches) close() error {
	var errs []error
	for _, n := range c.nodes {
		if n.Client != nil {
			errs = append(errs, n.Client.Close())
		}
		if n.process != nil {
			errs = append(errs, n.process.Stop(stopGrace))
		}
		errs = append(errs, n.node.Host.Do(func() error { return datapath.RemoveAll(n.pins) }))
	}
	return errors.Join(errs...)
}
