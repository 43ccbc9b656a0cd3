// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package performance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// Modes of the cache (docs/use/oncache.md).
const (
	modeOff     = "off"
	modeEnforce = "enforce"
)

// restoreTimeout limits the requests that restore the former modes.
const restoreTimeout = 10 * time.Second

// caches are the caches of the two Nodes.
type caches struct {
	*Test
	// absent says why there is nothing to switch on; empty if there is.
	absent string
	// former are the modes at the beginning, by Node.
	former map[string]string
	// now is the mode of both; empty before the first change.
	now string
	// hits are the packets on the fast path at the beginning of the state Fast, by Node.
	hits map[string]uint64
}

// caches reads the caches of both Nodes.
func (t *Test) caches(ctx context.Context) (*caches, error) {
	c := &caches{Test: t, former: map[string]string{}, hits: map[string]uint64{}}
	for _, node := range t.Nodes {
		var status api.Status
		err := t.Agents.Get(ctx, node, "/oncache", nil, &status)
		switch {
		case err != nil && strings.HasSuffix(err.Error(), "is not enabled"):
			c.absent = "the feature gate ONCache is off on Node " + node
		case err != nil:
			return nil, fmt.Errorf("asking the agent of Node %s: %w", node, err)
		case status.State == api.StateUnavailable:
			c.absent = fmt.Sprintf("the cache of Node %s is %s: %s", node, status.State, status.Reason)
		}
		c.former[node] = status.Mode
	}
	return c, nil
}

// states returns the states that can be measured.
func (c *caches) states() []State {
	if c.absent != "" {
		return []State{Host, Slow}
	}
	return []State{Host, Slow, Fast}
}

// enter switches the caches for a state.
func (c *caches) enter(ctx context.Context, state State) error {
	if c.absent != "" || state == Host {
		return nil
	}
	mode := map[State]string{Slow: modeOff, Fast: modeEnforce}[state]
	if c.now != mode {
		for _, node := range c.Nodes {
			if err := c.Agents.SetMode(ctx, node, mode); err != nil {
				return fmt.Errorf("changing the mode of the cache of Node %s to %s: %w", node, mode, err)
			}
		}
		c.now = mode
	}
	if state != Fast {
		return nil
	}
	return c.forEach(ctx, func(node string, status *api.Status) { c.hits[node] = hits(status) })
}

// leave checks that packets have taken the fast path in the state Fast: otherwise its numbers would be of another state.
func (c *caches) leave(ctx context.Context, state State) error {
	if state != Fast {
		return nil
	}
	var idle []string
	err := c.forEach(ctx, func(node string, status *api.Status) {
		if hits(status) == c.hits[node] {
			idle = append(idle, node)
		}
	})
	if err == nil && len(idle) > 0 {
		err = fmt.Errorf("no packet has taken the fast path of Node %s: see antctl get oncache there", strings.Join(idle, " and "))
	}
	return err
}

func hits(status *api.Status) uint64 { return status.Egress.Hits + status.Ingress.Hits }

// forEach calls use with the state of each cache, once that is active.
func (c *caches) forEach(ctx context.Context, use func(node string, status *api.Status)) error {
	for _, node := range c.Nodes {
		var status api.Status
		err := wait.PollUntilContextTimeout(ctx, c.Interval, c.Patience, true, func(ctx context.Context) (bool, error) {
			status = api.Status{}
			err := c.Agents.Get(ctx, node, "/oncache", nil, &status)
			return status.State == api.StateActive, err
		})
		if wait.Interrupted(err) {
			return fmt.Errorf("the cache of Node %s is %s (%s) and not %s after %s", node, status.State, status.Reason, api.StateActive, c.Patience)
		}
		if err != nil {
			return fmt.Errorf("asking the agent of Node %s: %w", node, err)
		}
		use(node, &status)
	}
	return nil
}

// restore sets the former modes, also when ctx has ended.
func (c *caches) restore(ctx context.Context) (err error) {
	if c.now == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	for node, mode := range c.former {
		if failed := c.Agents.SetMode(ctx, node, mode); failed != nil {
			err = errors.Join(err, fmt.Errorf("restoring the mode of the cache, please do so by antctl oncache mode %s --node %s: %w", mode, node, failed))
		}
	}
	return err
}
