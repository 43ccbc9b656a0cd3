// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Attend promises that the agent looks after conntrack for that long. When the time is over no lease is renewed and nothing is
// learned any more, until the next promise.
func (d *Datapath) Attend(promise time.Duration) error {
	now, err := d.now()
	if err != nil {
		return err
	}
	atomic.StoreUint64(&d.control.Elements[0].Until, now.jiffies+uint64(promise/d.jiffy))
	return nil
}

// Connection is a TCP connection of which conntrack has just seen a segment, as one of its directions has the addresses.
type Connection struct {
	Source, Destination netip.AddrPort
}

// PassedReader reads what Egress-Init and Ingress-Init tell: each segment of a flow in the cache that has passed conntrack. There
// should be one reader at a time.
type PassedReader struct {
	reader *ringbuf.Reader
	record ringbuf.Record
}

// NewPassedReader begins with what has not been read yet.
func (d *Datapath) NewPassedReader() (*PassedReader, error) {
	reader, err := ringbuf.NewReader(d.objects.Passed)
	if err != nil {
		return nil, fmt.Errorf("read the ring buffer %v: %w", d.objects.Passed, err)
	}
	return &PassedReader{reader: reader}, nil
}

// Wait returns when there is something to read, which it hands to yield, or with os.ErrDeadlineExceeded at the deadline.
func (r *PassedReader) Wait(deadline time.Time, yield func(Connection)) error {
	r.reader.SetDeadline(deadline)
	return r.next(yield)
}

// Drain hands everything to yield that is there, and does not wait.
func (r *PassedReader) Drain(yield func(Connection)) error {
	r.reader.SetDeadline(time.Unix(1, 0))
	for {
		err := r.next(yield)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *PassedReader) next(yield func(Connection)) error {
	if err := r.reader.ReadInto(&r.record); err != nil {
		return err
	}
	c, err := parsePassed(r.record.RawSample)
	if err != nil {
		return err
	}
	yield(c)
	return nil
}

// Close ends a Wait.
func (r *PassedReader) Close() error { return r.reader.Close() }

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
