// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net/rpc"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// Client talks to an Agent.
type Client struct{ rpc *rpc.Client }

// startTimeout limits the time in which an agent loads programs and maps.
const startTimeout = 30 * time.Second

// Connect waits until the agent at a socket is ready. ended is closed when its process has ended.
func Connect(ctx context.Context, socket string, ended <-chan struct{}) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		c, err := rpc.Dial("unix", socket)
		if err == nil {
			if err = c.Call("Agent.Ready", Nothing{}, &Nothing{}); err == nil {
				return &Client{c}, nil
			}
			c.Close()
		}
		last = err
		select {
		case <-ended:
			return nil, fmt.Errorf("the agent has ended: %w", last)
		case <-ctx.Done():
			return nil, fmt.Errorf("the agent is not ready: %w", last)
		case <-tick.C:
		}
	}
}

// Status, Learning, Evict and Fill are the methods of Agent.
func (c *Client) Status() (*api.Status, error) {
	var s api.Status
	err := c.rpc.Call("Agent.Status", Nothing{}, &s)
	return &s, err
}

// Learning is described with Status.
func (c *Client) Learning(on bool) error { return c.rpc.Call("Agent.Learning", on, &Nothing{}) }

// Evict is described with Status.
func (c *Client) Evict() (took time.Duration, err error) {
	err = c.rpc.Call("Agent.Evict", Nothing{}, &took)
	return took, err
}

// Fill is described with Status.
func (c *Client) Fill(flows int) error { return c.rpc.Call("Agent.Fill", flows, &Nothing{}) }

// Close ends the connection, not the agent.
func (c *Client) Close() error { return c.rpc.Close() }
