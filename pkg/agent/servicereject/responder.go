// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	// queued is the number of packets that wait for the agent. With the longest packets they take 8 MiB.
	queued = 128
	// sendTimeout bounds the wait for the switch; the client sends again anyway.
	sendTimeout = 5 * time.Second
)

// Switch is the part of pkg/ovs/openflow.Switch that a Responder needs.
type Switch interface {
	PacketIns(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error)
	PacketOut(ctx context.Context, p of.PacketOut) error
}

// Responder answers packets that the pipeline sends to the agent because their Service has no Endpoint.
type Responder struct {
	sw         Switch
	tunnelPort uint32
	limiter    *share.Limiter[uint32]
}

// NewResponder returns a Responder that does nothing before Run. Packets from the tunnel get no answer: their senders' Nodes handle
// Services, so they are no packets to a Service by intention.
func NewResponder(sw Switch, tunnelPort uint32) *Responder {
	return &Responder{sw: sw, tunnelPort: tunnelPort, limiter: share.New[uint32](clock.RealClock{})}
}

// Run works until ctx ends. It waits for the switch, also when the switch restarts. It fails if the switch was closed.
func (r *Responder) Run(ctx context.Context) error {
	packets, err := r.sw.PacketIns(ctx, openflow.ServiceRejectController, queued, openflow.SendingPort)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("receive packets to Services without Endpoints: %w", err)
	}
	defer packets.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-packets.Ready():
			if !ok {
				return errors.New("receive packets to Services without Endpoints: the connection to the switch was closed")
			}
			r.handle(ctx, packets.Next())
		}
	}
}

// handle answers one packet, or drops it. By default it logs nothing that a Pod can cause, except the first packet
// above its limit.
func (r *Responder) handle(ctx context.Context, p *of.PacketIn) {
	port := p.InPort()
	if !bytes.Equal(p.UserData, []byte{openflow.ServiceRejectCategory}) || port == 0 || port == r.tunnelPort {
		klog.V(4).InfoS("Received a packet that does not open a connection of this Node to a Service without Endpoints", "ofPort", port, "userData", p.UserData)
		return
	}
	if ok, first := r.limiter.Allow(port); !ok {
		if first {
			klog.InfoS("More connections to Services without Endpoints than get an answer: the others time out", "ofPort", port, "answersPerSecond", share.PerSecond)
		}
		return
	}
	reply, err := Reply(p.Data)
	if err != nil {
		klog.V(4).InfoS("Received a packet to a Service without Endpoints that gets no answer", "ofPort", port, "reason", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := r.sw.PacketOut(ctx, of.PacketOut{Actions: []of.Action{of.Output{Port: port}}, Data: reply}); err != nil {
		klog.V(2).InfoS("Failed to reject a connection to a Service without Endpoints", "ofPort", port, "err", err)
	}
}
