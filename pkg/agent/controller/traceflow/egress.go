// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Egress is the Egress of a Pod.
type Egress struct {
	Name string
	Addr netip.Addr
	// Node has the address; empty if that is unknown.
	Node string
}

// egress is the observation of a packet that gets the source of an Egress; nil of other packets. The switch says where it gets it, and the objects
// have the names: just after a change, of the Egress as it is now.
func (o *observer) egress(f *finding) *v1beta1.Observation {
	r := &f.report
	var egress Egress
	known := false
	if r.FromPod && o.egressOf != nil {
		egress, known = o.egressOf(f.packet.Src)
	}
	observation := &v1beta1.Observation{Component: v1beta1.ComponentEgress}
	switch {
	case r.ToTunnel && known && egress.Addr == r.TunnelDst:
		observation.Action, observation.EgressNode = v1beta1.ActionForwardedToEgressNode, egress.Node
	case r.ToGateway && r.Marked:
		observation.Action = v1beta1.ActionMarkedForSNAT
		if known {
			observation.EgressNode = o.node
		} else if r.FromTunnel && r.TunnelDst.IsValid() {
			egress.Addr = r.TunnelDst
		}
	default:
		return nil
	}
	if observation.Egress = egress.Name; egress.Addr.IsValid() {
		observation.EgressIP = egress.Addr.String()
	}
	return observation
}
