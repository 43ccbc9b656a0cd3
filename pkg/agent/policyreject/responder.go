// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policyreject

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/servicereject"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	// queued is the number of packets that wait for the agent. With the longest packets they take 16 MiB.
	queued = 256
	// sendTimeout bounds the wait for the switch; the client sends again anyway.
	sendTimeout = 5 * time.Second

	boundaryName = "policyreject"
)

// Switch is the part of pkg/ovs/openflow.Switch that a Responder needs.
type Switch interface {
	PacketIns(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error)
}

// Pipeline reads packets that policies have decided about, and sends answers; openflow.Client implements it.
type Pipeline interface {
	ParsePolicyPacket(p *of.PacketIn) (openflow.PolicyPacket, error)
	SendPolicyReject(ctx context.Context, path openflow.RejectPath, frame []byte) error
}

// payer identifies the share of answers that a packet uses: of a local Pod the port, of another Node's Pod also the address, which is genuine.
// Packets from the host, where anyone can invent addresses, have one share.
type payer struct {
	port uint32
	addr netip.Addr
}

// Responder answers packets that rules reject.
type Responder struct {
	sw       Switch
	pipeline Pipeline
	node     Node
	limiter  *share.Limiter[payer]
}

// NewResponder returns a Responder that does nothing before Run.
func NewResponder(sw Switch, pipeline Pipeline, node Node) *Responder {
	return &Responder{sw: sw, pipeline: pipeline, node: node, limiter: share.New[payer](clock.RealClock{})}
}

// Run works until ctx ends. It waits for the switch, also when the switch restarts. It fails if the switch was closed.
func (r *Responder) Run(ctx context.Context) error {
	packets, err := r.sw.PacketIns(ctx, openflow.PolicyLogController, queued, openflow.ReportedPod)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("receive packets that policies reject: %w", err)
	}
	defer packets.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-packets.Ready():
			if !ok {
				return errors.New("receive packets that policies reject: the connection to the switch was closed")
			}
			_ = recovery.Call(boundaryName, recovery.Part("answers to rejected packets"), func() error { r.handle(ctx, packets.Next()); return nil })
		}
	}
}

// handle answers one packet, or drops it. By default it logs nothing that a Pod can cause, except the first packet above its limit.
func (r *Responder) handle(ctx context.Context, in *of.PacketIn) {
	p, err := r.pipeline.ParsePolicyPacket(in)
	if err != nil {
		klog.V(4).InfoS("Received a packet without a decision of policies", "err", err)
		return
	}
	if !p.Has(openflow.OperationReject) || p.Action != policy.Reject || p.Generated {
		return
	}
	if err := r.answer(ctx, &p); err != nil {
		klog.V(4).InfoS("A rejected packet gets no answer", "table", p.Table, "ofPort", p.InPort, "reason", err)
	}
}

func (r *Responder) answer(ctx context.Context, p *openflow.PolicyPacket) error {
	frame, err := servicereject.Prohibited(p.Frame)
	if err != nil {
		return err
	}
	packet, err := ippacket.Parse(p.Frame)
	if err != nil {
		return err
	}
	if ok, first := r.limiter.Allow(r.payer(p, packet)); !ok {
		if first {
			klog.InfoS("Policies reject more packets of one sender than get an answer: the others time out", "ofPort", p.InPort, "source", packet.Src, "answersPerSecond", share.PerSecond)
		}
		return errors.New("the sender has its share of answers")
	}
	w, err := r.node.wayOf(p, packet)
	if err != nil {
		return err
	}
	copy(frame[0:6], w.dst)
	copy(frame[6:12], w.src)
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return r.pipeline.SendPolicyReject(ctx, w.RejectPath, frame)
}

func (r *Responder) payer(p *openflow.PolicyPacket, packet *ippacket.Packet) payer {
	if p.InPort == r.node.TunnelPort {
		return payer{p.InPort, packet.Src}
	}
	return payer{port: p.InPort}
}
