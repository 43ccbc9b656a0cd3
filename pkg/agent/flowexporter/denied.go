// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"time"

	"github.com/vmware/go-ipfix/pkg/registry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	policyrules "github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// queuedDenials is the number of denied packets that wait for the agent.
const queuedDenials = 256

// Denied is the source of packets that policies deny. openflow.Client reads them.
type Denied struct {
	PacketIns         func(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error)
	ParsePolicyPacket func(p *of.PacketIn) (openflow.PolicyPacket, error)
}

// watchDenied counts denied packets until ctx ends. Each sender has a share, so a flood of one leaves out nothing of others.
func (e *Exporter) watchDenied(ctx context.Context) {
	packets, err := e.Denied.PacketIns(ctx, openflow.PolicyLogController, queuedDenials, openflow.ReportedPod)
	if err != nil {
		if ctx.Err() == nil {
			klog.ErrorS(err, "Connections that policies deny will not be in flow records")
		}
		return
	}
	defer packets.Close()
	limiter := share.New[uint64](clock.RealClock{})
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-packets.Ready():
			if !ok {
				return
			}
			_ = recovery.Call("flowexporter", recovery.Part("flow records of denied connections"), func() error { e.deny(packets.Next(), limiter); return nil })
		}
	}
}

func (e *Exporter) deny(in *of.PacketIn, limiter *share.Limiter[uint64]) {
	p, err := e.Denied.ParsePolicyPacket(in)
	if err != nil || !p.Has(openflow.OperationStore) {
		return
	}
	packet, err := ippacket.Parse(p.Frame)
	if err != nil {
		return
	}
	if ok, first := limiter.Allow(openflow.ReportedPod(in)); !ok {
		if first {
			klog.InfoS("Policies deny more packets of one sender than get into flow records", "ofPort", p.InPort, "packetsPerSecond", share.PerSecond)
		}
		return
	}
	denial := flows.Denial{
		Sent:    conntrack.Tuple{Protocol: packet.Protocol, Source: packet.Src, Destination: packet.Dst},
		Ingress: p.Direction == policyrules.Ingress, Rule: p.FlowID, Action: registry.NetworkPolicyRuleActionDrop,
	}
	denial.Sent.SourcePort, denial.Sent.DestinationPort, _ = packet.Ports()
	if p.Action == policyrules.Reject {
		denial.Action = registry.NetworkPolicyRuleActionReject
	}
	if p.Rule != nil {
		denial.Name = p.Rule.Name
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.denials.Add(denial, len(packet.IP), time.Now())
}

// deniedRecords returns the records of denied connections that are due. The caller holds e.mu.
func (e *Exporter) deniedRecords(now time.Time) []*flows.Record {
	if e.Denied == nil || e.denials.Len() == 0 {
		return nil
	}
	describe := e.Describer()
	return e.denials.Due(now, func(d flows.Denial) flows.Info {
		info, _ := describe(&conntrack.Connection{Original: d.Sent, Reply: reversed(d.Sent)})
		rule := e.Rule(d.Rule)
		rule.Action, rule.Rule = d.Action, d.Name
		if d.Ingress {
			info.Ingress = rule
		} else {
			info.Egress = rule
		}
		return info
	})
}

func reversed(t conntrack.Tuple) conntrack.Tuple {
	t.Source, t.Destination, t.SourcePort, t.DestinationPort = t.Destination, t.Source, t.DestinationPort, t.SourcePort
	return t
}
