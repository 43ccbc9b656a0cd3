// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/native/cilium"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
)

// openPeer adds the state with Cilium: two Nodes as in state bare, each with a Pod that Cilium attaches.
func (s *setup) openPeer(ctx context.Context) error {
	pair, err := nodepair.New(nodepair.Options{Bare: true})
	if err != nil {
		return fmt.Errorf("state %s: %w", result.Cilium, err)
	}
	s.pairs[result.Cilium] = pair
	for _, n := range pair.Nodes {
		if n.Pod, err = nodepair.NewNamespace(); err != nil {
			return err
		}
	}
	if err := errors.Join(s.tune(pair), s.link(result.Cilium, pair)); err != nil {
		return fmt.Errorf("state %s: %w", result.Cilium, err)
	}
	link := s.links[result.Cilium]
	o := cilium.Options{Programs: s.bed.Peer, Dir: filepath.Join(s.bed.dir, "cilium"), Progress: s.bed.Progress}
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return err
	}
	for i, side := range []bed.Space{link.Client, link.Server} {
		n := pair.Nodes[i]
		o.Nodes[i] = cilium.NodeOptions{
			Host: n.Host, Pod: n.Pod, Device: nodepair.Uplink, Transport: n.Transport, PodNetwork: n.PodNetwork, Group: side.(*space).group,
		}
	}
	if s.peer, err = cilium.Start(ctx, o); err != nil {
		return err
	}
	link.Address = s.peer.PodIP(1)
	s.links[result.Cilium] = link
	return nil
}

// largestPacket is more payload than a packet between Pods has, segments that the kernel has joined included.
const largestPacket = 1 << 16

// witnessed makes workloads compare their traffic in the state with Cilium with the packets that Cilium's programs at
// the tunnel devices have received: at least one per transaction on each Node, or as many as the bytes need on the
// server's.
func (s *setup) witnessed(all []workload.Workload) []workload.Workload {
	if s.peer == nil {
		return all
	}
	for i, w := range all {
		all[i].Measure = func(ctx context.Context, on workload.Target, length time.Duration) (workload.Outcome, error) {
			if on.State != result.Cilium {
				return w.Measure(ctx, on, length)
			}
			before, err := s.received()
			if err != nil {
				return workload.Outcome{}, err
			}
			o, err := w.Measure(ctx, on, length)
			if err != nil {
				return o, err
			}
			after, err := s.received()
			if err != nil {
				return o, err
			}
			err = enough(o, after[0]-before[0], after[1]-before[1])
			if err != nil {
				s.unseen = fmt.Errorf("%s: %w", w.Name, err)
			}
			return o, err
		}
	}
	return all
}

// received are the packets that Cilium's programs have received on the client's and the server's Node.
func (s *setup) received() (packets [2]uint64, err error) {
	for i := range packets {
		if packets[i], err = s.peer.Received(i); err != nil {
			return packets, err
		}
	}
	return packets, nil
}

// enough returns an error if fewer packets were received than the work needs.
func enough(o workload.Outcome, client, server uint64) error {
	needClient, needServer := o.Transactions, o.Transactions
	if o.Transactions == 0 {
		needClient, needServer = 1, o.Bytes/largestPacket
	}
	if float64(client) < needClient || float64(server) < needServer {
		return fmt.Errorf("the datapath of Cilium is not used: its programs have received %d packets on the client's Node and %d on the server's, want at least %.0f and %.0f",
			client, server, needClient, needServer)
	}
	return nil
}

// describePeer describes the state with Cilium; like is the network of the other states.
func (s *setup) describePeer(like result.Network) result.Network {
	like.Tunnel, like.MapBytes, like.MaxFlows = cilium.Tunnel, 0, 0
	like.SlowPath = "Cilium " + s.bed.Peer.Version + ": " + cilium.Description
	return like
}
