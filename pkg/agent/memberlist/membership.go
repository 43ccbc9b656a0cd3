// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis"
	gossipkey "github.com/antrea-oncache/antrea/pkg/apis/gossip"
)

// parallelJoins bounds the number of Nodes that are joined at once: one that does not answer takes a second.
const parallelJoins = 8

// membership is the life of one gossip. Only joins use it from other goroutines.
type membership struct {
	cluster *Cluster
	gossip  gossip
	key     []byte

	joins sync.WaitGroup
	// mu protects what follows.
	mu sync.Mutex
	// tried has the time at which a Node was last joined, by its address. busy are the attempts that are not over.
	tried map[netip.Addr]time.Time
	busy  chan struct{}
	// otherKeyed are the addresses of Nodes that had another key at the last attempt.
	otherKeyed sets.Set[netip.Addr]
	// settled is set when this Node has another one's members, or has found itself alone.
	settled bool
	started time.Time
}

// sync brings gossip and snapshot up to date. An error means that the members are not known.
func (m *membership) sync(ctx context.Context) error {
	c := m.cluster
	if err := m.useKey(); err != nil {
		c.publish(nil, err)
		return err
	}
	alive := m.gossip.alive()
	m.joinOthers(ctx, alive)
	if !m.isSettled() {
		c.publish(nil, errors.New("this Node has not joined the others yet"))
		return nil
	}
	c.publish(alive, nil)
	return nil
}

// useKey lets the gossip begin, or gives it another key. A key that is not there any more, or is invalid, leaves it as it is: antrea-controller
// writes a missing one again.
func (m *membership) useKey() error {
	c := m.cluster
	key, err := c.secretKey()
	switch {
	case err != nil && m.gossip == nil:
		return fmt.Errorf("this Node does not take addresses of ExternalIPPools: %w", err)
	case err != nil:
		klog.V(2).InfoS("The gossip key stays as it was", "reason", err)
		return nil
	case m.gossip != nil && bytes.Equal(key, m.key):
		return nil
	case m.gossip != nil:
		if err := m.gossip.setKey(key); err != nil {
			return fmt.Errorf("take the new gossip key: %w", err)
		}
		klog.InfoS("The gossip key has changed")
		m.key = key
		m.mu.Lock()
		clear(m.tried)
		m.mu.Unlock()
		return nil
	}
	// Peers know the address in the Node's object, which need not be Addr: as in Antrea, the gossip listens on all of one IP version.
	listen := netip.IPv4Unspecified()
	if c.Addr.Is6() {
		listen = netip.IPv6Unspecified()
	}
	started, err := c.start(gossipConfig{
		name: c.NodeName, listen: listen, addr: c.Addr, port: c.Port, verifyIncoming: c.VerifyIncoming, verifyOutgoing: c.VerifyOutgoing, key: key, changed: c.poke,
	})
	if err != nil {
		return fmt.Errorf("this Node does not take addresses of ExternalIPPools: %w", err)
	}
	m.gossip, m.key, m.started = started, key, time.Now()
	m.tried, m.busy, m.settled, m.otherKeyed = map[netip.Addr]time.Time{}, make(chan struct{}, parallelJoins), false, sets.New[netip.Addr]()
	time.AfterFunc(loneliness, c.poke)
	return nil
}

// secretKey returns the key that the Secret has.
func (c *Cluster) secretKey() ([]byte, error) {
	name := fmt.Sprintf("Secret %s/%s", apis.DefaultNamespace, gossipkey.Secret)
	for _, object := range c.secrets.GetStore().List() {
		if secret, ok := object.(*corev1.Secret); ok {
			key, err := gossipkey.Key(secret.Data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return key, nil
		}
	}
	return nil, fmt.Errorf("there is no %s, which antrea-controller makes", name)
}

// joinOthers joins the Nodes that are not alive, each one again after rejoinInterval.
func (m *membership) joinOthers(ctx context.Context, alive []string) {
	c := m.cluster
	c.mu.Lock()
	due := map[netip.Addr]bool{}
	for name, addr := range c.addrs {
		if addr.IsValid() && name != c.NodeName && !slices.Contains(alive, name) {
			due[addr] = true
		}
	}
	c.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for addr := range m.tried {
		if !due[addr] {
			delete(m.tried, addr)
		}
	}
	for addr := range m.otherKeyed {
		if !due[addr] {
			m.otherKeyed.Delete(addr)
		}
	}
	now := time.Now()
	for addr := range due {
		if at, ok := m.tried[addr]; ok && now.Sub(at) < rejoinInterval {
			continue
		}
		select {
		case m.busy <- struct{}{}:
		default:
			return // the end of an attempt wakes the Cluster
		}
		m.tried[addr] = now
		gossip, busy := m.gossip, m.busy
		m.joins.Go(func() {
			err := gossip.join(addr)
			<-busy
			m.joined(addr, err)
			if err != nil && ctx.Err() == nil {
				klog.V(2).InfoS("A Node cannot be joined", "address", addr, "reason", err)
			}
			c.poke()
		})
	}
	if len(due) == 0 {
		m.settled = true
	}
}

// joined notes the result of an attempt.
func (m *membership) joined(addr netip.Addr, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(err, errOtherKey) {
		m.otherKeyed.Insert(addr)
		return
	}
	m.otherKeyed.Delete(addr)
	if err == nil {
		m.settled = true
	}
}

// otherKeys returns an error if Nodes have other keys than this one.
func (m *membership) otherKeys() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.otherKeyed) == 0 {
		return nil
	}
	addrs := slices.SortedFunc(slices.Values(m.otherKeyed.UnsortedList()), netip.Addr.Compare)
	text := addrs[0].String()
	if len(addrs) > 1 {
		text = fmt.Sprintf("%s and of %d more Nodes", text, len(addrs)-1)
	}
	return fmt.Errorf("the agent of %s has another gossip key than this one, or none: it should have the key in Secret %s/%s. Both may take the same addresses",
		text, apis.DefaultNamespace, gossipkey.Secret)
}

// isSettled reports whether this Node should act on the members that it sees.
func (m *membership) isSettled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = m.settled || time.Since(m.started) >= loneliness
	return m.settled
}

func (m *membership) end() {
	if m.gossip != nil {
		m.gossip.end()
		m.joins.Wait()
	}
}
