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

// Resolver asks for the addresses of a name. A name without addresses is not an error. With an error, the result has what was answered nevertheless.
type Resolver interface {
	Lookup(ctx context.Context, name string) (Found, error)
}

// Found contains the addresses of a name, all that it has of some IP versions, with their TTLs.
type Found struct {
	Addresses map[netip.Addr]time.Duration
	Of        Versions
}

// result is the end of a query.
type result struct {
	name  string
	found Found
	err   error
}

// work asks for names until ctx ends.
func (c *Controller) work(ctx context.Context, names <-chan string, results chan<- result) {
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-names:
			query, cancel := context.WithTimeout(ctx, queryTimeout)
			found, err := c.config.Asks.Lookup(query, name)
			cancel()
			select {
			case results <- result{name, found, err}:
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
	l.cache.asked(answer{r.name, r.found.Of.IPv4, r.found.Of.IPv6, r.found.Addresses}, now)
	l.unsaved = true
	l.follow()
	l.mu.Unlock()
	if r.err != nil {
		klog.V(2).InfoS("Failed to ask for the addresses of a name in policies", "name", r.name, "err", r.err)
	}
	l.ask()
}
