// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// A Node whose agent does not answer counts as dead after two probeIntervals and suspicionMult of them, 2 s; after 2.5 s if this Node has missed other
	// answers shortly before (slowProbes). A Node that is only slow has suspicionMult of them, 1.5 s, to answer the suspicion, of which all tell it: what
	// shortens that makes two owners of an address likely, and short intervals do not. Of six or more Nodes of which several end at once, it may take
	// suspicionMax times that.
	probeInterval = 250 * time.Millisecond
	probeTimeout  = 125 * time.Millisecond
	slowProbes    = 3
	suspicionMult = 6
	suspicionMax  = 3
	// reclaim is the time after which a dead Node may come back with another address, as in Antrea.
	reclaim = 10 * time.Millisecond
	// retransmitMult is the number of copies of a message that a Node sends in a cluster of up to nine Nodes. The library says that a message has left just
	// before it sends the last copy, and an agent that ends then closes the socket: with 2, the default, the only copy for a living Node was lost if the
	// other copy went to a dead Node.
	retransmitMult = 4
	// leaveTimeout bounds the time for which an agent that ends tells others.
	leaveTimeout = time.Second
)

// errOtherKey is why a Node that answers is not joined.
var errOtherKey = errors.New("its agent has another gossip key, or none")

// gossip is the membership protocol.
type gossip interface {
	// alive returns the names of the Nodes that are not dead, this one among them.
	alive() []string
	// join asks a Node's agent for its members, and becomes one of them. The error is errOtherKey if the agent answers with another key.
	join(addr netip.Addr) error
	// setKey makes a key the only one.
	setKey(key []byte) error
	// end tells the others that this Node leaves, and ends.
	end()
}

// gossipConfig has what a gossip needs. It listens at the address listen, and others reach it at addr. changed is called when members may have changed; it must not block or use the gossip.
type gossipConfig struct {
	name                           string
	listen, addr                   netip.Addr
	port                           int
	verifyIncoming, verifyOutgoing bool
	key                            []byte
	changed                        func()
}

// swim is hashicorp's memberlist. Antrea's agents have the same messages. Its times are shorter, and concern this Node only.
type swim struct {
	list *memberlist.Memberlist
	keys *memberlist.Keyring
	port int
}

// newSWIM returns a gossip of this Node alone.
func newSWIM(c gossipConfig) (gossip, error) {
	keys, err := memberlist.NewKeyring(nil, c.key)
	if err != nil {
		return nil, fmt.Errorf("the gossip key: %w", err)
	}
	config := memberlist.DefaultLocalConfig()
	config.Name = c.name
	config.BindAddr, config.AdvertiseAddr = c.listen.String(), c.addr.String()
	config.BindPort, config.AdvertisePort = c.port, c.port
	config.ProbeInterval, config.ProbeTimeout = probeInterval, probeTimeout
	config.SuspicionMult, config.SuspicionMaxTimeoutMult = suspicionMult, suspicionMax
	config.AwarenessMaxMultiplier = slowProbes
	config.RetransmitMult = retransmitMult
	config.DeadNodeReclaimTime = reclaim
	config.Keyring = keys
	config.GossipVerifyIncoming, config.GossipVerifyOutgoing = c.verifyIncoming, c.verifyOutgoing
	config.Events = notify(c.changed)
	// Anyone who can reach the port can cause log lines.
	config.LogOutput = io.Discard
	list, err := memberlist.Create(config)
	if err != nil {
		return nil, fmt.Errorf("listen on TCP and UDP port %d (clusterPort): %w", c.port, err)
	}
	return &swim{list: list, keys: keys, port: c.port}, nil
}

// notify implements memberlist.EventDelegate. It is called with the list locked.
type notify func()

func (n notify) NotifyJoin(*memberlist.Node)   { n() }
func (n notify) NotifyLeave(*memberlist.Node)  { n() }
func (n notify) NotifyUpdate(*memberlist.Node) { n() }

func (s *swim) alive() (names []string) {
	for _, member := range s.list.Members() {
		names = append(names, member.Name)
	}
	return names
}

func (s *swim) join(addr netip.Addr) error {
	_, err := s.list.Join([]string{net.JoinHostPort(addr.String(), strconv.Itoa(s.port))})
	// The library has no other sign of it.
	if err != nil && (strings.Contains(err.Error(), "could decrypt") || strings.Contains(err.Error(), "not encrypted")) {
		return fmt.Errorf("%w: %w", errOtherKey, err)
	}
	return err
}

func (s *swim) setKey(key []byte) error {
	if err := s.keys.AddKey(key); err != nil {
		return err
	}
	if err := s.keys.UseKey(key); err != nil {
		return err
	}
	for _, other := range s.keys.GetKeys() {
		if bytes.Equal(other, key) {
			continue
		}
		if err := s.keys.RemoveKey(other); err != nil {
			return err
		}
	}
	return nil
}

func (s *swim) end() {
	_ = s.list.Leave(leaveTimeout)
	_ = s.list.Shutdown()
}
