// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// maxAnswer is the size of the largest answers, from their IP header on, that reach a Pod in fragments: each of these is a message to the switch.
const maxAnswer = 8192

// exceedsMTU reports whether a held frame is larger than the Pod's interface carries: conntrack has put it together of fragments, and the
// kernel would drop it when the switch sends it, because a packet that has been to the agent is not divided again.
func (l *loop) exceedsMTU(frame []byte) bool {
	return l.config.MTU > 0 && len(frame) > ippacket.EthernetSize+l.config.MTU
}

// fragment sends a held packet to the Pod in fragments, and does not resume it. They pass none of the flows behind the interception, which let
// all packets of the connection pass and do not change them.
func (l *loop) fragment(ctx context.Context, p *of.PacketIn) {
	asker := p.Reg(1)
	if len(p.Data) > ippacket.EthernetSize+maxAnswer {
		l.drop(droppedDamaged, asker, fmt.Errorf("answer in fragments of %d bytes in sum: want at most %d", len(p.Data)-ippacket.EthernetSize, maxAnswer))
		return
	}
	frames, err := ippacket.Fragments(p.Data, l.config.MTU, rand.Uint32())
	if err != nil {
		l.drop(droppedDamaged, asker, err)
		return
	}
	for _, frame := range frames {
		if err := l.config.Flows.SendDNSFragment(ctx, p.InPort(), asker, frame); err != nil {
			klog.V(2).InfoS("Failed to let a fragment of an answer of DNS pass", "ofPort", asker, "err", err)
			return
		}
	}
}
