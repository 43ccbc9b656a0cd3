// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Opening is the verdict of Open vSwitch about new TCP connections of a client to a port of a server. The one that is not the local Pod is a Pod
// of the remote Node. Validity is as in an entry of a flow: OtherProved says that the server answers.
type Opening struct {
	// Validity has the client's port 0, and no packets.
	Validity Flow
	// Covered is the number of connections for which the opening was there when they began.
	Covered uint64
}

// Openings calls yield for every opening until it returns false. It may miss openings that are added or removed during the walk.
func (d *Datapath) Openings(yield func(Opening) bool) error {
	now, err := d.now()
	if err != nil {
		return err
	}
	_, err = each(d.objects.Openings, func(k object.BpfOncFlow6, v object.BpfOncOpening) bool {
		return yield(Opening{d.opening(now, &k, &v), v.Packets})
	})
	return err
}

func (d *Datapath) opening(now moment, k *object.BpfOncFlow6, v *object.BpfOncOpening) Flow {
	f := d.flow(now, ends{
		netip.AddrPortFrom(object.Addr6(k.Saddr).Unmap(), 0), netip.AddrPortFrom(object.Addr6(k.Daddr).Unmap(), object.Port(k.Dport)), k.Proto,
	}, v.V, object.BpfOncSeen{})
	f.Direction, f.Seen, f.Created, f.Age = DirectionEgress, Seen{}, v.Created, time.Duration(now.monotonic-v.Created)
	if k.Pad[0] != 0 {
		f.Direction = DirectionIngress
	}
	return f
}
