// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

// Sysctls that make the kernel count, and note times, for connections that begin from then on (nf_conntrack-sysctl.rst of the kernel).
// The values are paths below /proc/sys.
const (
	AccountingSysctl = "net/netfilter/nf_conntrack_acct"
	TimestampSysctl  = "net/netfilter/nf_conntrack_timestamp"
)

// Counter counts one direction in conntrack: packets as the kernel handles them (several segments that it has merged
// are one), and their bytes from the IP header on.
type Counter struct{ Packets, Bytes uint64 }

// Accounting holds the kernel's counters of a connection. Without AccountingSysctl the counters are 0, without
// TimestampSysctl the times are zero.
type Accounting struct {
	// Counters count the original and the reply direction.
	Counters [2]Counter
	// Started is the time at which the connection was entered, Stopped the time at which it was removed.
	Started, Stopped time.Time
}

// ID tells the entry from a later one with the same addresses, if the kernel has not placed it at the same address in memory.
func (c *Connection) ID() uint32 {
	if len(c.id) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(c.id)
}

func parseCounter(value []byte) (c Counter, err error) {
	err = eachAttribute(value, func(typ uint16, value []byte) (err error) {
		switch typ {
		case nl.CTA_COUNTERS_PACKETS:
			c.Packets, err = number[uint64](value, 8)
		case nl.CTA_COUNTERS_BYTES:
			c.Bytes, err = number[uint64](value, 8)
		}
		return err
	})
	return c, err
}

func parseTimestamps(value []byte) (started, stopped time.Time, err error) {
	err = eachAttribute(value, func(typ uint16, value []byte) error {
		nanoseconds, err := number[uint64](value, 8)
		switch typ {
		case nl.CTA_TIMESTAMP_START:
			started = time.Unix(0, int64(nanoseconds))
		case nl.CTA_TIMESTAMP_STOP:
			stopped = time.Unix(0, int64(nanoseconds))
		}
		return err
	})
	return started, stopped, err
}

func eachAttribute(nested []byte, yield func(typ uint16, value []byte) error) error {
	attributes, err := nlattr.Parse(nested)
	if err != nil {
		return err
	}
	for _, a := range attributes {
		if err := yield(a.Attr.Type&typeMask, a.Value); err != nil {
			return err
		}
	}
	return nil
}

const (
	// destroyGroup is NFNLGRP_CONNTRACK_DESTROY.
	destroyGroup = 3
	// destroyBuffer limits what the kernel keeps for the reader: several ten thousand reports.
	destroyBuffer = 16 << 20
)

// Ends reports connections of some zones that are removed, with their last counters. The kernel reports only
// connections that began while there was a listener (nf_conntrack_events is 2 by default).
type Ends struct {
	file  *os.File
	zones map[uint16]bool
}

// WatchEnds begins to listen in the calling thread's network namespace.
func WatchEnds(zones []uint16) (*Ends, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("open a netfilter netlink socket for ends of connections: %w", err)
	}
	e := &Ends{file: os.NewFile(uintptr(fd), "conntrack ends"), zones: map[uint16]bool{}}
	for _, zone := range zones {
		e.zones[zone] = true
	}
	// Without the right to a larger buffer, the default one has to do.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, destroyBuffer)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (destroyGroup - 1)}); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for ends of connections: %w", err), e.file.Close())
	}
	return e, nil
}

// ErrEndsLost says that the kernel had to drop reports. Those that come later are complete.
var ErrEndsLost = errors.New("reports of ended connections were lost: the reader was too slow")

// Next waits for reports and hands them to yield. It returns os.ErrClosed after Close.
func (e *Ends) Next(yield func(*Connection)) error {
	buffer := make([]byte, 64<<10)
	n, err := e.file.Read(buffer)
	if errors.Is(err, unix.ENOBUFS) {
		return ErrEndsLost
	}
	if err != nil {
		return fmt.Errorf("read ends of connections: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(buffer[:n])
	if err != nil {
		return fmt.Errorf("read ends of connections: %w", err)
	}
	for _, m := range messages {
		c, err := parse(m.Data, e.zones)
		if err != nil {
			return fmt.Errorf("read the end of a connection: %w", err)
		}
		if c != nil {
			yield(c)
		}
	}
	return nil
}

// Close ends a Next.
func (e *Ends) Close() error { return e.file.Close() }
