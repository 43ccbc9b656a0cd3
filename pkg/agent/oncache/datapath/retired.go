// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"net/netip"
	"unsafe"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Retired contains the counts of an entry when it was removed or replaced.
type Retired struct {
	// Source and Destination are the addresses of the connection's packets as the local Pod sends them, in entries of either direction.
	Source, Destination netip.AddrPort
	Protocol            uint8
	Direction           Direction
	// Packets, Bytes and Created are as in Flow.
	Packets, Bytes, Created uint64
}

// RetiredReader reads the counts of entries that programs have removed or replaced. There should be one reader at a time; without one,
// the programs report until the buffer is full.
type RetiredReader = Reader[Retired]

// NewRetiredReader starts with the first unread report, which may be old.
func (d *Datapath) NewRetiredReader() (*RetiredReader, error) {
	return newReader(d.objects.Retired, parseRetired)
}

func parseRetired(sample []byte) (r Retired, err error) {
	var event object.BpfOncRetired
	if err := decode(sample, &event, unsafe.Sizeof(event)); err != nil {
		return r, fmt.Errorf("report of an entry: %w", err)
	}
	e := ends6(event.Flow)
	r = Retired{
		Source: unmap(e.source), Destination: unmap(e.destination), Protocol: e.protocol, Direction: DirectionIngress,
		Packets: event.Packets, Bytes: event.Bytes, Created: event.Created,
	}
	if event.Egress != 0 {
		r.Direction = DirectionEgress
	}
	return r, nil
}

// OnRemoved makes the agent's own removals of entries also call report. Call it before entries are removed, or while none are.
func (d *Datapath) OnRemoved(report func(Retired)) { d.removed.Store(&report) }

// reportRemoved reports an entry that the agent has removed.
func (d *Datapath) reportRemoved(f *Flow) {
	report := d.removed.Load()
	if report == nil || f.Packets == 0 {
		return
	}
	source, destination := f.Sent()
	(*report)(Retired{source, destination, f.Protocol, f.Direction, f.Packets, f.Bytes, f.Created})
}
