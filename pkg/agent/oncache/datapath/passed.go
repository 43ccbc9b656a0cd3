// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Attend promises that the agent maintains conntrack for this time. Once it has passed, no lease is renewed and nothing is learned
// until the next promise.
func (d *Datapath) Attend(promise time.Duration) error {
	now, err := d.now()
	if err != nil {
		return err
	}
	atomic.StoreUint64(&d.control.Elements[0].Until, now.jiffies+uint64(promise/d.jiffy))
	return nil
}

// Connection is a TCP connection with a segment that conntrack has just seen. Its addresses are as the local Pod sends them, for a
// segment of either direction.
type Connection struct {
	Source, Destination netip.AddrPort
}

// Cached returns the entry of the connection's direction that the local Pod sends; nil if the cache has none.
func (d *Datapath) Cached(c Connection) (*Flow, error) {
	return d.entry(moment{}, flowMapOf(DirectionEgress, c.Source, c.Destination), ends{c.Source, c.Destination, unix.IPPROTO_TCP}, (*ebpf.Map).Lookup)
}

// Passed is a report: a segment of the connection has passed conntrack; or, with Over, the cache has no more entry of the direction
// that the local Pod sends, and earlier reports are void.
type Passed struct {
	Connection
	Over bool
}

// PassedReader reads the reports of Egress-Init and Ingress-Init, one for each segment of a cached flow that has passed conntrack, and
// of Egress and Ingress, when they end such a flow soon after that. There should be one reader at a time.
type PassedReader = Reader[Passed]

// NewPassedReader starts with the first unread report.
func (d *Datapath) NewPassedReader() (*PassedReader, error) {
	return newReader(d.objects.Passed, parsePassed)
}

// parsePassed also reads reports of former programs, which end behind the flow.
func parsePassed(sample []byte) (p Passed, err error) {
	var event object.BpfOncPassed
	if err := decode(sample, &event, unsafe.Sizeof(event.Flow)); err != nil {
		return p, fmt.Errorf("event: %w", err)
	}
	e := ends6(event.Flow)
	if e.protocol != unix.IPPROTO_TCP {
		return p, fmt.Errorf("event of protocol %d; want TCP", e.protocol)
	}
	return Passed{Connection{unmap(e.source), unmap(e.destination)}, event.Over != 0}, nil
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
