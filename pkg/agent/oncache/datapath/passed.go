// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Attend promises that the agent maintains conntrack for that long. Once the time is over, no lease is renewed and nothing
// is learned until the next promise.
func (d *Datapath) Attend(promise time.Duration) error {
	now, err := d.now()
	if err != nil {
		return err
	}
	atomic.StoreUint64(&d.control.Elements[0].Until, now.jiffies+uint64(promise/d.jiffy))
	return nil
}

// Connection is a TCP connection with a segment that conntrack has just seen. It has the addresses of what the local Pod
// sends, whichever direction the segment had.
type Connection struct {
	Source, Destination netip.AddrPort
}

// Cached reports whether the cache has an entry of what the local Pod sends in the connection.
func (d *Datapath) Cached(c Connection) (bool, error) {
	f, err := d.entry(moment{}, flowMapOf(DirectionEgress, c.Source, c.Destination), ends{c.Source, c.Destination, unix.IPPROTO_TCP}, (*ebpf.Map).Lookup)
	return f != nil, err
}

// PassedReader reads the reports of Egress-Init and Ingress-Init: one for each segment of a cached flow that has passed
// conntrack. There should be one reader at a time.
type PassedReader = Reader[Connection]

// NewPassedReader starts with the first unread report.
func (d *Datapath) NewPassedReader() (*PassedReader, error) {
	return newReader(d.objects.Passed, parsePassed)
}

func parsePassed(sample []byte) (c Connection, err error) {
	var event object.BpfOncPassed
	if _, err := binary.Decode(sample, binary.NativeEndian, &event); err != nil {
		return c, fmt.Errorf("event of %d bytes: %w", len(sample), err)
	}
	e := ends6(event.Flow)
	if e.protocol != unix.IPPROTO_TCP {
		return c, fmt.Errorf("event of protocol %d; want TCP", e.protocol)
	}
	return Connection{unmap(e.source), unmap(e.destination)}, nil
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
