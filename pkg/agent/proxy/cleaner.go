// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Connections is the kernel's connection tracking table.
type Connections interface {
	// List calls yield for the connections of the zones.
	List(zones []uint16, yield func(*conntrack.Connection) bool) error
	// Delete removes a connection that List has returned. An ended connection is not an error.
	Delete(*conntrack.Connection) error
}

// Datapath is the part of ovsctl.Vswitchd that the controller needs.
type Datapath interface {
	// WaitRevalidation returns when the datapath no longer treats any packet by rules from before the call.
	WaitRevalidation(ctx context.Context) error
}

// ConnectionCache is the part of ONCache that the controller needs.
type ConnectionCache interface {
	// EvictConnection makes the cache forget the connection that client has opened to the address dialed, and that leads to server.
	EvictConnection(protocol uint8, client, dialed, server netip.AddrPort) error
}

// cleaner ends UDP connections through a Service to Endpoints that no longer serve. UDP has no end of its own: as long as the
// client sends, conntrack would translate its packets to the removed Endpoint. TCP connections are left alone, they find out.
type cleaner struct {
	connections Connections
	datapath    Datapath
	// cache is nil without ONCache; ended are connections that conntrack has forgotten and the cache may not.
	cache ConnectionCache
	ended []*conntrack.Connection
	// allowed returns where connections to a frontend may go.
	allowed func(frontendKey) allowance
	// host: connections that the host has translated for NodePorts are also compared.
	host bool

	mu sync.Mutex
	// addresses serve NodePorts.
	addresses map[netip.Addr]bool
	// pending are the frontends whose connections must be compared. all: the frontends of all Services, including
	// deleted ones.
	pending map[frontendKey]bool
	all     bool
	wake    chan struct{}
}

func newCleaner(connections Connections, datapath Datapath, allowed func(frontendKey) allowance) *cleaner {
	return &cleaner{connections: connections, datapath: datapath, allowed: allowed, pending: map[frontendKey]bool{}, wake: make(chan struct{}, 1)}
}

// after asks for the connections to these frontends, which are settled.
func (c *cleaner) after(frontends map[frontendKey]bool) {
	if len(frontends) == 0 {
		return
	}
	c.mu.Lock()
	maps.Copy(c.pending, frontends)
	c.mu.Unlock()
	c.signal()
}

// everything asks for the connections of all Services.
func (c *cleaner) everything() {
	c.mu.Lock()
	c.all = true
	c.mu.Unlock()
	c.signal()
}

func (c *cleaner) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// affected returns the frontends whose connections an operation may have made wrong: those that are new or gone, and all of the port if
// an Endpoint has gone. A new frontend can have connections from before, which are not translated.
func affected(op operation) (frontends []frontendKey) {
	before, now := orEmpty(op.before), orEmpty(op.now)
	if before.Protocol != corev1.ProtocolUDP && now.Protocol != corev1.ProtocolUDP {
		return nil
	}
	count := map[frontendKey]int{}
	for _, p := range []*port{before, now} {
		for _, f := range p.Frontends {
			count[keyOf(p.Protocol, f)]++
		}
	}
	remaining, lost := now.destinations(), false
	for e := range before.destinations() {
		lost = lost || !remaining[e]
	}
	for f, n := range count {
		if n == 1 || lost {
			frontends = append(frontends, f)
		}
	}
	return frontends
}

func orEmpty(p *port) *port {
	if p == nil {
		return &port{}
	}
	return p
}

// destinations are the Endpoints to which connections may continue.
func (p *port) destinations() map[netip.AddrPort]bool {
	all := p.listed()
	for _, e := range p.others {
		all[e] = true
	}
	return all
}

// run works until ctx ends.
func (c *cleaner) run(ctx context.Context) {
	task := retry.NewTask("Ending UDP connections of removed Endpoints", 0, retry.Backoff{Min: time.Second, Max: time.Minute})
	c.signal() // something may be left of a run that has panicked
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		if delay := task.Done(c.clean(ctx)); delay > 0 {
			if retry.Sleep(ctx, delay) != nil {
				return
			}
			c.signal()
		}
	}
}

// clean compares the connections once. Failures stay pending.
func (c *cleaner) clean(ctx context.Context) error {
	c.mu.Lock()
	pending, all := c.pending, c.all
	c.pending, c.all = map[frontendKey]bool{}, false
	c.mu.Unlock()
	if len(pending) == 0 && !all {
		return nil
	}
	done := false
	defer func() {
		if !done { // an error, or a panic
			c.putBack(pending, all)
		}
	}()
	// Until then, packets can make connections to the removed Endpoints.
	if err := c.datapath.WaitRevalidation(ctx); err != nil {
		return fmt.Errorf("wait for the datapath: %w", err)
	}
	look := c.newComparison(pending, all)
	var wrong []*conntrack.Connection
	err := c.connections.List(look.zones(), func(conn *conntrack.Connection) bool {
		if look.isWrong(conn) {
			wrong = append(wrong, conn)
		}
		return true
	})
	if err != nil {
		return err
	}
	if err := c.end(ctx, wrong); err != nil {
		return err
	}
	done = true
	if len(wrong) > 0 {
		klog.V(2).InfoS("Ended UDP connections to Endpoints that no longer serve", "connections", len(wrong))
	}
	return nil
}

// end ends the connections in conntrack and then in the cache: an entry learned after that comes from a packet that
// passed conntrack before. So the cache forgets them a second time, once no such packet is left in vswitchd. If the
// cache could not forget a connection, the next call tries again; conntrack no longer lists it.
func (c *cleaner) end(ctx context.Context, wrong []*conntrack.Connection) error {
	var errs []error
	for _, conn := range wrong {
		if err := c.connections.Delete(conn); err != nil {
			errs = append(errs, err)
		} else if c.cache != nil {
			c.ended = append(c.ended, conn)
		}
	}
	return errors.Join(append(errs, c.forgetEnded(ctx))...)
}

func (c *cleaner) forgetEnded(ctx context.Context) error {
	if len(c.ended) == 0 {
		return nil
	}
	if err := c.forget(c.ended); err != nil {
		return err
	}
	if err := c.datapath.WaitRevalidation(ctx); err != nil {
		return fmt.Errorf("wait for the datapath: %w", err)
	}
	if err := c.forget(c.ended); err != nil {
		return err
	}
	c.ended = nil
	return nil
}

// forget continues after an error: each connection counts.
func (c *cleaner) forget(connections []*conntrack.Connection) error {
	var errs []error
	for _, conn := range connections {
		client, dialed, server := conn.Ends()
		errs = append(errs, c.cache.EvictConnection(conn.Original.Protocol, client, dialed, server))
	}
	return errors.Join(errs...)
}

func (c *cleaner) putBack(pending map[frontendKey]bool, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.pending, pending)
	c.all = c.all || all
}
