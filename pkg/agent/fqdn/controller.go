// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

const (
	// A selector is kept, and answers to a Pod are held, for these times after the last use.
	selectorPatience = time.Minute
	podPatience      = 2 * time.Second
)

// Config contains the surroundings of a Controller.
type Config struct {
	Switch Switch
	Flows  Flows
	// Asks is nil if the agent asks for no names.
	Asks Resolver
	// MinTTL is the least time for which an address is kept.
	MinTTL time.Duration
	// MTU is the MTU of Pods. Larger answers reach them in fragments; 0: none do.
	MTU int
	// File saves the addresses for the next agent; empty: nothing is saved.
	File  string
	Clock clock.WithTicker
}

// Flows makes the switch hold answers, and sends parts of large ones (openflow.DNSClient).
type Flows interface {
	HoldDNS(ports map[string]uint32) error
	SendDNSFragment(ctx context.Context, from, to uint32, frame []byte) error
}

// Controller implements Names. Events change its cache under mu; what follows from them is done by Run.
type Controller struct {
	config   Config
	realizer Realizer
	// awakened is for Run: the cache or the gate has changed.
	awakened chan struct{}

	mu    sync.Mutex
	cache *cache
	gate  gate
	// uses are the policies' uses by name, users the number of policies that use a selector, touched when a selector was last used.
	uses    map[string]Use
	users   map[Selector]int
	touched map[Selector]time.Time
	dropped map[string]uint64
	// unsaved is set when the file must be written, stale when the gate may have something to request.
	unsaved, stale bool

	// holding serializes changes of the interception. held contains the Pods whose answers the switch holds; leaving is the time at
	// which all of them were last needed.
	holding sync.Mutex
	held    map[string]uint32
	leaving time.Time
}

// New makes a Controller, which has the addresses that the file of the former agent contains.
func New(c Config) *Controller {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	f := &Controller{config: c, awakened: make(chan struct{}, 1), cache: newCache(c.MinTTL), gate: gate{}, uses: map[string]Use{}, users: map[Selector]int{},
		touched: map[Selector]time.Time{}, dropped: map[string]uint64{}, held: map[string]uint32{}}
	f.load()
	return f
}

// SetRealizer names the controller of policies. Call it before Run.
func (c *Controller) SetRealizer(r Realizer) { c.realizer = r }

func (c *Controller) wake() {
	select {
	case c.awakened <- struct{}{}:
	default:
	}
}

// Addresses implements Names.
func (c *Controller) Addresses(s Selector) policy.AddressSet {
	s = Normalize(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.know(s)
	if known := c.cache.selectors[s]; known != nil {
		return known.set
	}
	return policy.AddressSet{}
}

// know makes the selector known. The caller holds mu.
func (c *Controller) know(s Selector) {
	now := c.config.Clock.Now()
	c.touched[s] = now
	if c.cache.selectors[s] == nil {
		c.cache.add(s, now)
		c.follow()
		// No rule has been made with other addresses.
		v := c.gate.of(s)
		v.requested, v.realized = v.latest, v.latest
		c.wake()
	}
}

// follow tells the gate of changes of addresses, and Run. The caller holds mu.
func (c *Controller) follow() {
	for _, s := range c.cache.takeChanged() {
		c.gate.change(s)
		c.unsaved, c.stale = true, true
	}
}

// Declare implements Names.
func (c *Controller) Declare(uses map[string]Use) error {
	c.mu.Lock()
	for name, use := range uses {
		c.replace(name, use)
	}
	c.mu.Unlock()
	return c.hold(false)
}

// replace changes the use of a policy. The caller holds mu.
func (c *Controller) replace(name string, use Use) {
	for s := range selectorsOf(c.uses[name]) {
		if c.users[s]--; c.users[s] == 0 {
			delete(c.users, s)
		}
	}
	delete(c.uses, name)
	for s := range selectorsOf(use) {
		c.users[s]++
		c.know(s)
	}
	if len(use.Selectors) > 0 {
		c.uses[name] = use
	}
}

func selectorsOf(use Use) map[Selector]bool {
	all := map[Selector]bool{}
	for _, s := range use.Selectors {
		all[Normalize(s)] = true
	}
	return all
}

// needed returns the interfaces of the Pods that the policies apply rules with names to.
func (c *Controller) needed() map[string]uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ports := map[string]uint32{}
	for _, use := range c.uses {
		for _, pod := range use.Pods {
			if pod.OFPort != 0 {
				ports[pod.InterfaceName] = pod.OFPort
			}
		}
	}
	return ports
}

// hold makes the switch hold the answers to all Pods that need it. Others leave if release is set: a rule may have them a little longer.
func (c *Controller) hold(release bool) error {
	c.holding.Lock()
	defer c.holding.Unlock()
	ports, now := c.needed(), c.config.Clock.Now()
	left := false
	for name, port := range c.held {
		if _, needed := ports[name]; !needed {
			left = true
			if !release || now.Sub(c.leaving) < podPatience {
				ports[name] = port
			}
		}
	}
	if !left || !release {
		c.leaving = now
	}
	if maps.Equal(ports, c.held) {
		return nil
	}
	if err := c.config.Flows.HoldDNS(ports); err != nil {
		return fmt.Errorf("hold the answers of DNS to Pods: %w", err)
	}
	c.held = ports
	return nil
}

// forgetUnused removes selectors that no policy has used for a minute.
func (c *Controller) forgetUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.config.Clock.Now()
	for s, at := range c.touched {
		if c.users[s] > 0 {
			c.touched[s] = now
		} else if now.Sub(at) >= selectorPatience {
			delete(c.touched, s)
			delete(c.gate, s)
			c.cache.remove(s)
			c.unsaved = true
		}
	}
}

// Entries returns the addresses of the names that the selector stands for, of all names if it is empty.
func (c *Controller) Entries(s Selector) []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var entries []Entry
	for _, e := range c.cache.entries() {
		if s == "" || matches(Normalize(s), e.Name) {
			entries = append(entries, e)
		}
	}
	return entries
}
