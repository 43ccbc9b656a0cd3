// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"net/netip"
	"time"

	"k8s.io/klog/v2"
)

const (
	// workers is the number of names that are asked for at once.
	workers      = 4
	queryTimeout = 10 * time.Second
)

// Resolver asks for the addresses of a name, and returns them with their TTLs. A name without addresses is not an error.
type Resolver interface {
	Lookup(ctx context.Context, name string) (map[netip.Addr]time.Duration, error)
}

// result is the end of a query.
type result struct {
	name      string
	addresses map[netip.Addr]time.Duration
	err       error
}

// work asks for names until ctx ends.
func (c *Controller) work(ctx context.Context, names <-chan string, results chan<- result) {
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-names:
			query, cancel := context.WithTimeout(ctx, queryTimeout)
			addresses, err := c.config.Asks.Lookup(query, name)
			cancel()
			select {
			case results <- result{name, addresses, err}:
			case <-ctx.Done():
			}
		}
	}
}

// ask gives the workers names that are due.
func (l *loop) ask() {
	if l.free == 0 || l.config.Asks == nil {
		return
	}
	l.mu.Lock()
	due := l.cache.takeDue(l.free, l.config.Clock.Now())
	l.mu.Unlock()
	for _, name := range due {
		l.free--
		l.asking <- name
	}
}

// enter enters the end of a query.
func (l *loop) enter(r result) {
	l.free++
	l.mu.Lock()
	now := l.config.Clock.Now()
	if r.err == nil {
		l.cache.asked(answer{name: r.name, addresses: r.addresses}, now)
		l.unsaved = true
	} else {
		l.cache.failed(r.name, now)
	}
	l.follow()
	l.mu.Unlock()
	if r.err != nil {
		klog.V(2).InfoS("Failed to ask for the addresses of a name in policies", "name", r.name, "err", r.err)
	}
	l.ask()
}
